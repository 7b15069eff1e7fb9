/* SPDX-License-Identifier: BSD-2-Clause */
/* places.h: where threads are that wait outside of system calls, until they are back. */
#ifndef GCPROF_PLACES_H
#define GCPROF_PLACES_H

#include <stdbool.h>
#include <stdint.h>

struct places;

/* The last place of a thread. */
struct place {
	uint64_t time; /* when it left its CPU there */
	uint64_t stack;
	uint32_t quality;
};

int places_create(struct places **out);
void places_free(struct places *places); /* NULL is allowed */

/* Takes the place of whatever the thread had; -ENOMEM. */
int places_set(struct places *places, uint64_t thread, const struct place *place);

/* False if the thread's last place is not that of this time: its record was lost. */
bool places_get(const struct places *places, uint64_t thread, uint64_t time, struct place *out);

#endif
