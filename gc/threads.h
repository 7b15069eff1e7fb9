/* SPDX-License-Identifier: BSD-2-Clause */
/* threads.h: mutator threads, and stopping all of them for a collection. */
#ifndef GCPROF_THREADS_H
#define GCPROF_THREADS_H

#include "heap.h"

void threads_init_lock(struct gc_heap *heap);

#define COLLECT_ALWAYS UINT64_MAX

/* Makes the thread the collector and leaves the lock held; false, without it, if there was another
 * collection since number `seen`, so that none is needed. */
bool threads_begin_collecting(struct gc_thread *self, uint64_t seen);

/* Returns when no other thread touches the heap. With the lock, as the collector. */
void threads_stop(struct gc_thread *self);

/* Lets the others go on; releases the lock. */
void threads_end_collecting(struct gc_thread *self);

/* Does no other thread touch the heap now? With the lock, or as the collector. */
bool threads_are_stopped(const struct gc_heap *heap, const struct gc_thread *self);

/* Waits until no stop is wanted. The thread itself. */
void threads_park(struct gc_thread *self);

/* In the child of a fork only the calling thread is left; the others' objects stay. */
void threads_forked(struct gc_heap *heap);

#endif
