/* SPDX-License-Identifier: BSD-2-Clause */
/* sweep.h: gives back what marking did not reach, and sets the next threshold. */
#ifndef GCPROF_SWEEP_H
#define GCPROF_SWEEP_H

#include "heap.h"

/* What is white now is dead. */
void sweep_begin(struct gc_heap *heap);

/* Sweeps so many arenas and about as many bytes of large objects; true when all is swept. */
bool sweep_some(struct gc_heap *heap, size_t arenas);

#endif
