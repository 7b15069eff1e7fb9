/* SPDX-License-Identifier: BSD-2-Clause */
/* barrier.h: the remembered sets: old objects that may refer to young ones. */
#ifndef GCPROF_BARRIER_H
#define GCPROF_BARRIER_H

#include "heap.h"

/* Calls `visit` for every remembered object of every thread. */
void barrier_visit(struct gc_heap *heap, gc_visit_object visit, void *context);

/* Empties the remembered sets after a minor collection, when no object is young. */
void barrier_reset(struct gc_heap *heap);

/* Takes over what the thread remembered and made gray, when it detaches or a fork has cut it off.
 * With the heap's lock. */
void barrier_adopt(struct gc_heap *heap, struct gc_thread *thread);

/* Passes the objects that mutators made gray to marking. */
void barrier_gather(struct gc_heap *heap);

#endif
