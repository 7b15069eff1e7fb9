/* SPDX-License-Identifier: BSD-2-Clause */
/* threads.h: mutator threads, and stopping all of them for a collection. */
#ifndef GCPROF_THREADS_H
#define GCPROF_THREADS_H

#include "heap.h"

void threads_init_lock(struct gc_heap *heap);

#define COLLECT_ALWAYS UINT64_MAX

/* Makes the thread the collector, and returns with the lock held. False, without the lock, if a
 * collection has ended since number `seen`, so that none is needed. */
bool threads_begin_collecting(struct gc_thread *self, uint64_t seen);

/* Stops the world: returns when no other thread touches the heap. As the collector, with the lock.
 */
void threads_stop(struct gc_thread *self);

/* Restarts the world and releases the lock. */
void threads_end_collecting(struct gc_thread *self);

/* Whether no other thread touches the heap. With the lock, or as the collector. */
bool threads_are_stopped(const struct gc_heap *heap, const struct gc_thread *self);

/* Waits until no stop is requested. The thread itself. */
void threads_park(struct gc_thread *self);

/* In the child of a fork: removes all threads but the calling one; their objects stay. */
void threads_forked(struct gc_heap *heap);

#endif
