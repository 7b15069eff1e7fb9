/* SPDX-License-Identifier: BSD-2-Clause */
/* pairs.h: ephemerons whose keys are not marked yet: they wait, and are found by their keys. */
#ifndef GCPROF_PAIRS_H
#define GCPROF_PAIRS_H

#include "heap.h"

/* There is a new pair. Under the heap's lock. */
void pairs_make_room(struct gc_heap *heap);

/* Marking begins. */
void pairs_begin(struct gc_heap *heap);

/* Goes through so many pairs, once each, when nothing is gray. */
bool pairs_to_walk(const struct gc_heap *heap);
void pairs_walk(struct gc_heap *heap, size_t items);

/* A pair with a value, both old, that was young when it had its turn. */
void pairs_attend(struct gc_heap *heap, struct gc_weak *pair);

/* The key was marked: makes gray the values of so many pairs at most that waited for it; returns
 * how many there were. */
unsigned pairs_resolve(struct gc_heap *heap, void *key, unsigned most);

/* Marking is over, and the key dead or the pair destroyed. */
void pairs_forget(struct gc_heap *heap, struct gc_weak *pair);

/* The marks are about to be forgotten. */
void pairs_abandon(struct gc_heap *heap);

/* For the checker: true if the pair is found by its key. */
bool pairs_finds(const struct gc_heap *heap, const struct gc_weak *pair);

void pairs_free(struct gc_heap *heap);

#endif
