/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* pauses.h: the collections in progress in a process, and its collection time so far. */
/*
 * A collection is identified by its heap; any thread may report its end. An end may be lost, or
 * come from a location that is not attached. A collection therefore also ends
 *
 * - when another one of its heap begins,
 * - when the thread that began it allocates or exits,
 * - when COLLECTING_MAX others began after it and no entry is free.
 *
 * An end without a begin, as after attaching in mid-collection, is ignored. Several threads may
 * call this at once. Uses no maps, so that tests can compile it.
 */
#ifndef GCPROF_PAUSES_H
#define GCPROF_PAUSES_H

#include "config.h"

#define PAUSES_DEPTH_BITS 6
#define PAUSES_DEPTH      ((1 << PAUSES_DEPTH_BITS) - 1)
#define PAUSES_APART_NS   1000000000 /* upper bound for the skew between CPU clocks */

/*
 * One more (1) or less (-1) is in progress from `time` on. Collections of several heaps may
 * overlap; their time counts once, from the first begin to the last end. Collection time is the sum
 * of those ends minus the sum of those begins, so the order of two threads does not matter.
 */
static __always_inline void pauses_change(struct process_state *state, int64_t step, uint64_t time)
{
	uint64_t depth = __sync_fetch_and_add(&state->pauses, step) & PAUSES_DEPTH;

	if (step > 0 && depth == 0)
		__sync_fetch_and_add(&state->pauses, -(time << PAUSES_DEPTH_BITS));
	if (step < 0 && depth == 1)
		__sync_fetch_and_add(&state->pauses, time << PAUSES_DEPTH_BITS);
}

/*
 * Collection time up to `now`, including collections in progress. Between the two steps of a change
 * the sum lacks a time stamp, which is far larger than any collection time.
 */
static __always_inline uint64_t pauses_time(uint64_t pauses, uint64_t now)
{
	int64_t time = (int64_t)pauses >> PAUSES_DEPTH_BITS;

	if (pauses & PAUSES_DEPTH)
		time += (int64_t)now;
	if (time >= (int64_t)now)
		time -= (int64_t)now;
	else if (time < -PAUSES_APART_NS)
		time += (int64_t)now;
	return time > 0 ? (uint64_t)time : 0;
}

/* Ends the collection of `heap` in this entry, if it is still there. */
static __always_inline void pauses_release(struct process_state *state, uint32_t slot,
					   uint64_t heap, uint64_t now)
{
	if (heap && __sync_val_compare_and_swap(&state->open[slot].heap, heap, 0) == heap)
		pauses_change(state, -1, now);
}

static __always_inline int pauses_claim(struct process_state *state, uint32_t slot,
					const struct collection *begun)
{
	struct collection *open = &state->open[slot];

	if (__sync_val_compare_and_swap(&open->heap, 0, begun->heap))
		return 0;
	open->thread = begun->thread;
	open->late = begun->late;
	open->faults = begun->faults;
	return 1;
}

/* Ends the collections of `heap`. Stores how the collection began; heap 0: there was none. */
static __always_inline void pauses_end(struct process_state *state, uint64_t heap, uint64_t now,
				       struct collection *out)
{
	*out = (struct collection){0};
	UNROLL
	for (uint32_t i = 0; i < COLLECTING_MAX; i++) {
		if (state->open[i].heap != heap)
			continue;
		*out = state->open[i];
		pauses_release(state, i, heap, now);
	}
}

/* Ends the collections that this thread began; 0: those of all threads. */
static __always_inline void pauses_leave(struct process_state *state, uint32_t thread, uint64_t now)
{
	UNROLL
	for (uint32_t i = 0; i < COLLECTING_MAX; i++)
		if (!thread || state->open[i].thread == thread)
			pauses_release(state, i, state->open[i].heap, now);
}

/* A collection of a heap, which is not 0, began. */
static __always_inline void pauses_begin(struct process_state *state,
					 const struct collection *begun, uint64_t began)
{
	struct collection lost;
	uint32_t slot;

	/* Before the others end: this leaves no gap, and no end precedes its begin. */
	pauses_change(state, 1, began);
	pauses_end(state, begun->heap, began, &lost);
	UNROLL
	for (uint32_t i = 0; i < COLLECTING_MAX; i++)
		if (pauses_claim(state, i, begun))
			return;
	slot = __sync_fetch_and_add(&state->turn, 1) % COLLECTING_MAX;
	pauses_release(state, slot, state->open[slot].heap, began);
	if (!pauses_claim(state, slot, begun))
		pauses_change(state, -1, began);
}

/* Did this thread begin a collection in progress? */
static __always_inline int pauses_are_of(const struct process_state *state, uint32_t thread)
{
	int found = 0;

	UNROLL
	for (uint32_t i = 0; i < COLLECTING_MAX; i++)
		found |= state->open[i].heap && state->open[i].thread == thread;
	return found;
}

#endif
