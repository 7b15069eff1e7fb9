/* SPDX-License-Identifier: BSD-2-Clause */
/* pairs.h: ephemerons waiting for their keys to be marked, in a table indexed by key. */
#ifndef GCPROF_PAIRS_H
#define GCPROF_PAIRS_H

#include "heap.h"

/* Makes room in the table for a new pair. With the heap's lock. */
void pairs_make_room(struct gc_heap *heap);

/* Call it when marking begins. */
void pairs_begin(struct gc_heap *heap);

/* When nothing is gray: whether pairs are left to visit; visits up to `items`, once each. */
bool pairs_to_walk(const struct gc_heap *heap);
void pairs_walk(struct gc_heap *heap, size_t items);

/* Visits a pair with a value, both old now, that was young when the walk passed it. */
void pairs_attend(struct gc_heap *heap, struct gc_weak *pair);

/* The key was marked: makes gray the values of at most `most` pairs that waited for it. Returns
 * their number. */
unsigned pairs_resolve(struct gc_heap *heap, void *key, unsigned most);

/* Removes a waiting pair after marking: its key is dead or the pair was destroyed. */
void pairs_forget(struct gc_heap *heap, struct gc_weak *pair);

/* Call it before the marks are discarded. */
void pairs_abandon(struct gc_heap *heap);

/* For the checker: true if the table finds the pair by its key. */
bool pairs_finds(const struct gc_heap *heap, const struct gc_weak *pair);

void pairs_free(struct gc_heap *heap);

#endif
