/* SPDX-License-Identifier: BSD-2-Clause */
/* nursery.h: the nursery: its size and its accounting. */
#ifndef GCPROF_NURSERY_H
#define GCPROF_NURSERY_H

#include "heap.h"
#include "options.h"

int nursery_init(struct gc_heap *heap);
void nursery_free(struct gc_heap *heap);

/* Empties it after every object in it was promoted or is dead. */
void nursery_empty(struct gc_heap *heap);

/* Returns memory unused since the last major collection to the system, a little each time. */
void nursery_trim(struct gc_heap *heap);

/* Accounts what the thread allocated since the last call. The thread itself, or in a stop. */
void nursery_account(struct gc_thread *thread);

/* Counts a new weak reference, finalizer or ephemeron value. With the heap's lock. */
void nursery_watch(struct gc_heap *heap);

#endif
