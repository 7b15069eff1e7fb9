/* SPDX-License-Identifier: BSD-2-Clause */
/* minor.h: the minor collection: promotes what is reachable in the nursery. */
#ifndef GCPROF_MINOR_H
#define GCPROF_MINOR_H

#include "heap.h"

/* Finds and copies all that is reachable and young. */
void minor_trace(struct gc_heap *heap);

/* Then: weak references, finalizers, outcomes; the nursery is empty. */
void minor_finish(struct gc_heap *heap);

#endif
