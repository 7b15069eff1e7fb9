/* SPDX-License-Identifier: BSD-2-Clause */
/* fibers.h: the fibers (goroutines, for example) that ran. */
#ifndef GCPROF_FIBERS_H
#define GCPROF_FIBERS_H

#include <stddef.h>
#include <stdint.h>

#include "../../util/buffer.h"

struct map;
struct world;
struct record;

#define FIBER_STACKS 7

/* Stacks of a fiber, one for each outermost frame. Not all of these are where it began. */
struct fiber_stacks {
	uint32_t count, stacks[FIBER_STACKS], outermost[FIBER_STACKS];
};

struct fibers {
	struct map *numbers;  /* {process, fiber id} -> index plus 1; NULL: none */
	struct buffer stacks; /* a struct fiber_stacks each */
};

void fibers_free(struct fibers *fibers);

/* Adds a selected event. 0 or -ENOMEM. */
int fibers_record(struct fibers *fibers, const struct world *world, const struct record *record);

/* Number of fibers, and the stacks of one. */
size_t fibers_count(const struct fibers *fibers);
const struct fiber_stacks *fibers_get(const struct fibers *fibers, size_t index);

#endif
