/* SPDX-License-Identifier: BSD-2-Clause */
/* nursery.h: where new objects go: its size, and what is counted of it. */
#ifndef GCPROF_NURSERY_H
#define GCPROF_NURSERY_H

#include "heap.h"
#include "options.h"

int nursery_init(struct gc_heap *heap);
void nursery_free(struct gc_heap *heap);

/* Everything in it was promoted or is dead. */
void nursery_empty(struct gc_heap *heap);

/* Gives back what was not used since the last major collection, a little each time. */
void nursery_trim(struct gc_heap *heap);

/* Counts what was allocated since the last time. The thread itself, or in a stop. */
void nursery_account(struct gc_thread *thread);

/* There is a new weak reference or finalizer, or a new value. With the heap's lock. */
void nursery_watch(struct gc_heap *heap);

#endif
