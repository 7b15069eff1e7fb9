/* SPDX-License-Identifier: BSD-2-Clause */
/* roots.h: the roots of tracing. */
#ifndef GCPROF_ROOTS_H
#define GCPROF_ROOTS_H

#include "heap.h"

/* Visits all slots of the threads' frames, global roots, pins, and objects to be finalized. */
void roots_visit(struct gc_heap *heap, gc_visit visit, void *context);

#endif
