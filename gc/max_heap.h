/* SPDX-License-Identifier: BSD-2-Clause */
/* max_heap.h: a heap's maximum, and what to do when there is no more. */
#ifndef GCPROF_MAX_HEAP_H
#define GCPROF_MAX_HEAP_H

#include "heap.h"

/* Whether the heap may grow by a large object of `size` bytes, or, with 0, by a nursery. Collects
 * as much as it takes, then asks the program. May move objects. */
bool max_heap_allows(struct gc_thread *thread, size_t size);

/* The system has no memory for a large object of `size` bytes. True: try again. Ends a program that
 * has no function to be asked. */
bool max_heap_refused(struct gc_thread *thread, size_t size, bool collected);

#endif
