/* SPDX-License-Identifier: BSD-2-Clause */
/* barrier.h: the remembered sets: old objects that may refer to young ones. */
#ifndef GCPROF_BARRIER_H
#define GCPROF_BARRIER_H

#include "heap.h"

/* Calls visit for every remembered object of every thread. */
void barrier_visit(struct gc_heap *heap, gc_visit_object visit, void *context);

/* After a minor collection no object is young: nothing need be remembered. */
void barrier_reset(struct gc_heap *heap);

/* The thread is going, or a fork has cut it off: what it remembered and made gray stays. With the
 * heap's lock. */
void barrier_adopt(struct gc_heap *heap, struct gc_thread *thread);

/* What mutators made gray becomes known to the marking. */
void barrier_gather(struct gc_heap *heap);

#endif
