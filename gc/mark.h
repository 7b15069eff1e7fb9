/* SPDX-License-Identifier: BSD-2-Clause */
/* mark.h: marks what is reachable in the old generation, all at once or in steps. */
#ifndef GCPROF_MARK_H
#define GCPROF_MARK_H

#include "heap.h"

/* Makes objects gray that roots refer to. The nursery is empty, the marks are clear. */
void mark_begin(struct gc_heap *heap);

/* Traces gray objects at a cost of about `budget`; true when nothing is gray. */
bool mark_some(struct gc_heap *heap, uint64_t budget);

/* The same; subtracts the cost from *budget. */
bool mark_spend(struct gc_heap *heap, uint64_t *budget);

/* Discards the marks so far. */
void mark_abandon(struct gc_heap *heap);

#endif
