/* SPDX-License-Identifier: BSD-2-Clause */
/* finalize.h: functions that the program wants called when an object has died. */
#ifndef GCPROF_FINALIZE_H
#define GCPROF_FINALIZE_H

#include "heap.h"

/* Visits the objects of a list. */
void finalize_visit(struct gc_finalizer *list, gc_visit visit, void *context);

/* The end of a minor collection. Runs light finalizers of what died. */
void finalize_finish_minor(struct gc_heap *heap, gc_survivor survivor);

/* After marking, with nothing gray: goes through ordered finalizers, up to so many (which it counts
 * down) or the first whose object is dead. That is raised, and gray. False: none is left. */
bool finalize_next_ordered(struct gc_heap *heap, size_t *items);

/* With nothing gray again: what was raised becomes ready, if anything was. Until then the program
 * must not get it: what it refers to may be white. */
void finalize_make_ready(struct gc_heap *heap);

/* Runs the light finalizers of dead old objects, going through so many; true if there are more. */
bool finalize_light(struct gc_heap *heap, gc_survivor survivor, size_t items);

/* The marks are about to be forgotten. */
void finalize_abandon(struct gc_heap *heap);

/* There are ready ones. Any thread. */
bool finalize_is_due(const struct gc_heap *heap);

/* Runs them, the first that became ready first. A thread, outside of collections. */
void finalize_run(struct gc_thread *thread);

/* The heap is closed, its objects are still there: light ones run, ordered ones do not. */
void finalize_free(struct gc_heap *heap);

#endif
