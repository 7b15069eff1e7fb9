/* SPDX-License-Identifier: BSD-2-Clause */
/* outcomes.h: what becomes of sampled objects. */
#ifndef GCPROF_OUTCOMES_H
#define GCPROF_OUTCOMES_H

#include "heap.h"

/* A sample was taken of a new object. The thread itself. */
void outcomes_remember(struct gc_thread *thread, void *object, uint64_t sample);

/* The thread goes, its young objects stay. With the heap's lock. */
void outcomes_orphan(struct gc_thread *thread);

/* Reports young ones, before dead objects are freed. */
void outcomes_minor(struct gc_heap *heap, gc_survivor survivor);

/* Reports those that died, going through so many old ones from number *next on; true if there are
 * more. */
bool outcomes_old(struct gc_heap *heap, gc_survivor survivor, size_t *next, size_t items);

/* No consumer is attached any more, or the process is the child of a fork: forgets all. */
void outcomes_forget(struct gc_heap *heap);

void outcomes_free(struct gc_sampled_table *table);

#endif
