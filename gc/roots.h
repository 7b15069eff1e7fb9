/* SPDX-License-Identifier: BSD-2-Clause */
/* roots.h: where tracing begins. */
#ifndef GCPROF_ROOTS_H
#define GCPROF_ROOTS_H

#include "heap.h"

/* Visits every slot of every thread's frames, global roots, pins, and what is to be finalized. */
void roots_visit(struct gc_heap *heap, gc_visit visit, void *context);

#endif
