/* SPDX-License-Identifier: BSD-2-Clause */
/* major.h: the major collection: its phases and its pace. */
#ifndef GCPROF_MAJOR_H
#define GCPROF_MAJOR_H

#include "heap.h"

void major_init(struct gc_heap *heap);

/* Whether a major collection is in progress or should begin. */
bool major_is_wanted(const struct gc_heap *heap);

/* After a minor collection: whether the next step can wait for a later stop of its own. */
bool major_step_can_wait(struct gc_heap *heap);

/* Runs one step. `after_minor`: immediately after a minor collection, in the same stop. */
void major_step(struct gc_heap *heap, bool after_minor);

/* Runs a complete major collection, after a minor one. */
void major_full(struct gc_heap *heap);

/* Hints, read without the lock. */
static inline bool major_has_work(const struct gc_heap *heap)
{
	return __atomic_load_n(&heap->major.next_step, __ATOMIC_RELAXED) != SIZE_MAX;
}

static inline bool major_step_is_due(const struct gc_heap *heap)
{
	return nursery_taken(&heap->nursery) >=
	       __atomic_load_n(&heap->major.next_step, __ATOMIC_RELAXED);
}

#endif
