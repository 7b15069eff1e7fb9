/* SPDX-License-Identifier: BSD-2-Clause */
/* weak.h: weak references and ephemerons. */
#ifndef GCPROF_WEAK_H
#define GCPROF_WEAK_H

#include "heap.h"

/* One round of a minor collection: visits young values of surviving keys; true if there were any.
 */
bool weak_visit_young(struct gc_heap *heap, gc_survivor survivor, gc_visit visit, void *context);

/* Ends a minor collection: clears dead references and updates moved ones. */
void weak_finish_minor(struct gc_heap *heap, gc_survivor survivor);

/* After marking: clears pairs with dead keys and frees destroyed ones, for up to `items` from index
 * *next on; true if there are more. */
bool weak_clear(struct gc_heap *heap, gc_survivor survivor, size_t *next, size_t items);

/* Calls `visit` for every pair with a value. */
void weak_each(struct gc_heap *heap, void (*visit)(void *context, void *key, void **value),
	       void *context);

void weak_free(struct gc_heap *heap);

#endif
