/* SPDX-License-Identifier: BSD-2-Clause */
/* finalize.h: functions that the program registers for the death of an object. */
#ifndef GCPROF_FINALIZE_H
#define GCPROF_FINALIZE_H

#include "heap.h"

/* Visits the objects of `list`. */
void finalize_visit(struct gc_finalizer *list, gc_visit visit, void *context);

/* Ends a minor collection: runs the light finalizers of dead objects. */
void finalize_finish_minor(struct gc_heap *heap, gc_survivor survivor);

/* After marking, with nothing gray: scans ordered finalizers, at most *items (which it decrements),
 * up to the first with a dead object. That object is raised and becomes gray. False: none is left.
 */
bool finalize_next_ordered(struct gc_heap *heap, size_t *items);

/* With nothing gray again: makes the raised finalizer ready, if there is one. Until then the
 * program must not see the object, because it may refer to white ones. */
void finalize_make_ready(struct gc_heap *heap);

/* Scans up to `items` light finalizers and runs those of dead old objects; true if there are more.
 */
bool finalize_light(struct gc_heap *heap, gc_survivor survivor, size_t items);

/* Call it before the marks are discarded. */
void finalize_abandon(struct gc_heap *heap);

/* Whether any finalizer is ready. Any thread. */
bool finalize_is_due(const struct gc_heap *heap);

/* Runs ready finalizers in the order in which they became ready. A thread, outside collections. */
void finalize_run(struct gc_thread *thread);

/* Runs light finalizers when the heap is destroyed, while its objects exist; drops ordered ones. */
void finalize_free(struct gc_heap *heap);

#endif
