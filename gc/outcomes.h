/* SPDX-License-Identifier: BSD-2-Clause */
/* outcomes.h: tracks sampled objects and reports their outcomes. */
#ifndef GCPROF_OUTCOMES_H
#define GCPROF_OUTCOMES_H

#include "heap.h"

/* Tracks a new object that was sampled. The thread itself. */
void outcomes_remember(struct gc_thread *thread, void *object, uint64_t sample);

/* Takes over the young samples of a detaching thread. With the heap's lock. */
void outcomes_orphan(struct gc_thread *thread);

/* Reports the outcomes of young objects, before dead ones are freed. */
void outcomes_minor(struct gc_heap *heap, gc_survivor survivor);

/* Scans up to `items` old samples from index *next on and reports dead ones; true if there are
 * more. */
bool outcomes_old(struct gc_heap *heap, gc_survivor survivor, size_t *next, size_t items);

/* Drops all samples: no consumer is attached, or the process is the child of a fork. */
void outcomes_forget(struct gc_heap *heap);

void outcomes_free(struct gc_sampled_table *table);

#endif
