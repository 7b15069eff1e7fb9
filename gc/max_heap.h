/* SPDX-License-Identifier: BSD-2-Clause */
/* max_heap.h: enforces a heap's maximum, and handles refused memory. */
#ifndef GCPROF_MAX_HEAP_H
#define GCPROF_MAX_HEAP_H

#include "heap.h"

/* Whether the heap may grow by a large object of `size` bytes or, with 0, by a nursery. Makes full
 * collections if necessary, then asks the program. May move objects. */
bool max_heap_allows(struct gc_thread *thread, size_t size);

/* The system refused memory for a large object of `size` bytes. True: try again. Ends the program
 * if it has no out-of-memory function. */
bool max_heap_refused(struct gc_thread *thread, size_t size, bool collected);

#endif
