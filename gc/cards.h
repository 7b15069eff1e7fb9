/* SPDX-License-Identifier: BSD-2-Clause */
/* cards.h: the parts of large old arrays that were written to since the last minor collection. */
#ifndef GCPROF_CARDS_H
#define GCPROF_CARDS_H

#include "heap.h"

/* Dirties the cards of the `size` bytes at `start`, after a store. Any thread. */
void cards_mark(struct gc_header *array, const void *start, size_t size);

bool cards_is_dirty(const struct gc_header *array, const void *slot);

/* Visits all references on dirty cards. */
void cards_visit(struct gc_heap *heap, struct gc_header *array, gc_visit visit, void *context);

void cards_clean(struct gc_header *array);

/* Number of cards, of a byte each, for an array of `size` bytes. */
static inline size_t cards_count(size_t size)
{
	return (size + (1 << CARD_SHIFT) - 1) >> CARD_SHIFT;
}

#endif
