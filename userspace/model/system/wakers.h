/* SPDX-License-Identifier: BSD-2-Clause */
/* wakers.h: threads that ended other threads' waits for a futex, as lock holders do. */
#ifndef GCPROF_WAKERS_H
#define GCPROF_WAKERS_H

#include <stddef.h>

#include "../../profile/record.h"

struct map;
struct world;
struct waker;

struct wakers {
	struct waker *items;
	size_t count, capacity;
	struct map *index; /* thread -> index of its item plus 1 */
};

int wakers_init(struct wakers *wakers);
void wakers_free(struct wakers *wakers);

/* Adds a selected wait. 0 or -ENOMEM. */
int wakers_record(struct wakers *wakers, const struct world *world,
		  const struct record_wait *record);

/* Fills the model's rows, longest total wait first. 0 or -ENOMEM. */
int wakers_finish(const struct wakers *wakers, struct world *world);

#endif
