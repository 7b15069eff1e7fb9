/* SPDX-License-Identifier: BSD-2-Clause */
/* minor.h: the minor collection: promotes what is reachable in the nursery. */
#ifndef GCPROF_MINOR_H
#define GCPROF_MINOR_H

#include "heap.h"

/* Copies all reachable young objects. */
void minor_trace(struct gc_heap *heap);

/* Then handles weak references, finalizers and outcomes, and empties the nursery. */
void minor_finish(struct gc_heap *heap);

#endif
