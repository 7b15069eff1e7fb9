/* SPDX-License-Identifier: BSD-2-Clause */
/* cards.h: which parts of a large old array were written to since the last minor collection. */
#ifndef GCPROF_CARDS_H
#define GCPROF_CARDS_H

#include "heap.h"

/* Something was stored into the `size` bytes at `start`. Any thread. */
void cards_mark(struct gc_header *array, const void *start, size_t size);

bool cards_is_dirty(const struct gc_header *array, const void *slot);

/* Visits all references that may be new. */
void cards_visit(struct gc_heap *heap, struct gc_header *array, gc_visit visit, void *context);

void cards_clean(struct gc_header *array);

/* Bytes of cards for an array of `size` bytes. */
static inline size_t cards_count(size_t size)
{
	return (size + (1 << CARD_SHIFT) - 1) >> CARD_SHIFT;
}

#endif
