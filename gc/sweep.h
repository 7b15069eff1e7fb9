/* SPDX-License-Identifier: BSD-2-Clause */
/* sweep.h: frees unmarked objects, and sets the next threshold. */
#ifndef GCPROF_SWEEP_H
#define GCPROF_SWEEP_H

#include "heap.h"

/* Starts sweeping: white objects are dead. */
void sweep_begin(struct gc_heap *heap);

/* Sweeps up to `arenas` arenas and about as many bytes of large objects; true when all is swept. */
bool sweep_some(struct gc_heap *heap, size_t arenas);

#endif
