/* SPDX-License-Identifier: BSD-2-Clause */
/* fibers.h: which threads of their own runtimes have run, goroutines for example. */
#ifndef GCPROF_FIBERS_H
#define GCPROF_FIBERS_H

#include <stddef.h>
#include <stdint.h>

#include "../../util/buffer.h"

struct map;
struct world;
struct record;

#define FIBER_STACKS 7

/* Stacks of a fiber, one for each outermost frame: not all of these are what it began with. */
struct fiber_stacks {
	uint32_t count, stacks[FIBER_STACKS], outermost[FIBER_STACKS];
};

struct fibers {
	struct map *numbers;  /* by process and id, from 1 on; NULL: there were none */
	struct buffer stacks; /* struct fiber_stacks of each */
};

void fibers_free(struct fibers *fibers);

/* An event that is selected. 0 or -ENOMEM. */
int fibers_record(struct fibers *fibers, const struct world *world, const struct record *record);

/* How many there were, and the stacks of one of them. */
size_t fibers_count(const struct fibers *fibers);
const struct fiber_stacks *fibers_get(const struct fibers *fibers, size_t index);

#endif
