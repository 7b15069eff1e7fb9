/* SPDX-License-Identifier: BSD-2-Clause */
/* wakers.h: which threads ended the waits of others for a futex: who held locks. */
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
	struct map *index; /* thread -> number of its item, from 1 on */
};

int wakers_init(struct wakers *wakers);
void wakers_free(struct wakers *wakers);

/* A wait that is selected. -ENOMEM. */
int wakers_record(struct wakers *wakers, const struct world *world,
		  const struct record_wait *record);

/* Rows into the model, who kept others longest first. -ENOMEM. */
int wakers_finish(const struct wakers *wakers, struct world *world);

#endif
