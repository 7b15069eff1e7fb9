/* SPDX-License-Identifier: BSD-2-Clause */
/* cards.c: the parts of large old arrays that were written to since the last minor collection. */
/*
 * A minor collection must not trace a table of a million references as a whole
 * when only a few were stored. Such an array is followed by one byte, a card, for
 * each 512 bytes of it. The barrier sets the card to dirty (1), the minor
 * collection to clean (0).
 */
#include "cards.h"
#include "trace.h"

static size_t card_of(const struct gc_header *array, const void *place)
{
	return (size_t)((const char *)place - (const char *)array) >> CARD_SHIFT;
}

void cards_mark(struct gc_header *array, const void *start, size_t size)
{
	const struct gc_chunk *chunk = chunk_of(array);
	size_t from = card_of(array, start);
	size_t to = card_of(array, (const char *)start + size - 1);

	GC_ASSERT(from <= to && to < cards_count(chunk->size),
		  "a reference was stored outside the object that was named");
	for (size_t i = from; i <= to; i++)
		__atomic_store_n(&chunk->cards[i], 1, __ATOMIC_RELAXED);
}

bool cards_is_dirty(const struct gc_header *array, const void *slot)
{
	return chunk_of(array)->cards[card_of(array, slot)];
}

/* Visits all references of items that overlap the card, and of the fixed part if it does. */
static void visit_card(const struct gc_type_info *type, struct gc_header *array, size_t card,
		       gc_visit visit, void *context)
{
	size_t low = card << CARD_SHIFT, high = (card + 1) << CARD_SHIFT;
	uint64_t length = type_length(type, array), from = 0, to = 0;

	if (low < type->size)
		trace_fixed(type, array, visit, context);
	if (low > type->size)
		from = (low - type->size) / type->item_size;
	if (high > type->size)
		to = (high - type->size + type->item_size - 1) / type->item_size;
	trace_items(type, array, from, to < length ? to : length, visit, context);
}

void cards_visit(struct gc_heap *heap, struct gc_header *array, gc_visit visit, void *context)
{
	const struct gc_type_info *type = type_of(heap, array);
	const struct gc_chunk *chunk = chunk_of(array);
	size_t n = cards_count(chunk->size);

	for (size_t i = 0; i < n; i++) {
		uint64_t eight;

		/* Skips eight clean cards at a time, aligned to 8. */
		memcpy(&eight, &chunk->cards[i & ~(size_t)7], sizeof(eight));
		if (!eight)
			i |= 7;
		else if (chunk->cards[i])
			visit_card(type, array, i, visit, context);
	}
}

void cards_clean(struct gc_header *array)
{
	const struct gc_chunk *chunk = chunk_of(array);

	memset(chunk->cards, 0, cards_count(chunk->size));
}
