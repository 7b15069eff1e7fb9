/* SPDX-License-Identifier: BSD-2-Clause */
/* check.h: walks the whole heap and verifies the named invariants, in builds with GC_CHECK=1. */
#ifndef GCPROF_CHECK_H
#define GCPROF_CHECK_H

#include "heap.h"

enum check_when { CHECK_BEFORE, CHECK_MINOR_DONE, CHECK_STEP_DONE, CHECK_MARKED, CHECK_FULL_DONE };

/* Ends the program with a message if an invariant is broken. */
void check_heap(struct gc_heap *heap, enum check_when when);

/* The same, but not at every collection of a large heap. */
void check_if_due(struct gc_heap *heap, enum check_when when);

#endif
