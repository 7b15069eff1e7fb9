/* SPDX-License-Identifier: BSD-2-Clause */
/* lock_holders.h: what threads that hold locks do while others wait for these. */
/*
 * The thread that ends a wait for a lock held it. Its timer samples and its own waits in that time
 * say what for. It may have waited for the lock itself: only what came after that counts. Not
 * thread-safe.
 */
#ifndef GCPROF_LOCK_HOLDERS_H
#define GCPROF_LOCK_HOLDERS_H

#include <stddef.h>
#include <stdint.h>

#include "../event.h"

struct map;
struct spot_walk;
struct world;
struct doings;
struct held_stacks;

/* What holders did while threads waited for a lock in one function. */
struct lock_held {
	uint32_t lock, function; /* 1 + indexes of world->functions.rows; 0: none */
	uint32_t callee;         /* the same: in which the function waits */
	uint32_t call; /* 1 + the number of the call that the holder waited in; 0: on a CPU */
	double ns;
};

#define HELD_WITHOUT_CPU UINT32_MAX /* as a call: ready to run */

struct lock_holders {
	struct doings *threads; /* of each thread that ended a wait, what it did last */
	struct map *thread_index;
	size_t n_threads, threads_capacity;
	struct held_stacks *stacks; /* number 0 is none */
	struct map *stack_index;
	size_t n_stacks, stacks_capacity;
	struct lock_held *items; /* set by lock_holders_finish() */
	size_t count;
};

int lock_holders_init(struct lock_holders *holders);
void lock_holders_free(struct lock_holders *holders);

/* Adds a timer sample or a wait, in the order of time. `cost`: of its stack. 0 or -ENOMEM. */
int lock_holders_record(struct lock_holders *holders, const struct event *event, uint32_t cost);

/* Sums by functions. Needs these. 0 or -ENOMEM. */
int lock_holders_finish(struct lock_holders *holders, const struct world *world,
			struct spot_walk *walk);

#endif
