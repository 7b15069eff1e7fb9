/* SPDX-License-Identifier: BSD-2-Clause */
/* bag.c: words, and how often each was put in: found at once, however many there are. */
/*
 * The words lie in a row, so that a loop over all of them need not visit free
 * places, and does so in the same order wherever they lie in memory. Their
 * places in that row are found by hash; places that collide follow each other.
 */
#include "internal.h"

enum { FIRST_CAPACITY = 256 };

static size_t slot_of(const struct gc_bag *bag, const void *word)
{
	uint64_t hash = (uintptr_t)word * UINT64_C(0x9e3779b97f4a7c15);

	return (size_t)(hash >> 32) & (bag->n_places - 1);
}

static size_t next(const struct gc_bag *bag, size_t slot)
{
	return (slot + 1) & (bag->n_places - 1);
}

/* The slot that has the word's place, or the free one where it would be. There is one. */
static size_t find(const struct gc_bag *bag, const void *word)
{
	size_t slot = slot_of(bag, word);

	while (bag->places[slot] && bag->words[bag->places[slot] - 1].word != word)
		slot = next(bag, slot);
	return slot;
}

static void grow(struct gc_bag *bag)
{
	size_t capacity = bag->capacity ? 2 * bag->capacity : FIRST_CAPACITY;
	size_t size = sizeof(*bag->words), n = 2 * capacity;
	struct gc_bag_word *words = os_grow(bag->words, bag->capacity * size, capacity * size);
	uint32_t *places = os_map(n * sizeof(*places));

	if (!words || !places)
		os_out_of_memory(capacity * size, "pins or global roots");
	os_unmap(bag->places, bag->n_places * sizeof(*places));
	bag->words = words;
	bag->capacity = capacity;
	bag->places = places;
	bag->n_places = n;
	for (size_t i = 0; i < bag->count; i++)
		places[find(bag, words[i].word)] = (uint32_t)(i + 1);
}

void bag_add(struct gc_bag *bag, void *word)
{
	size_t slot;

	if (bag->count == bag->capacity)
		grow(bag);
	slot = find(bag, word);
	if (!bag->places[slot]) {
		bag->words[bag->count++] = (struct gc_bag_word){word, 0};
		bag->places[slot] = (uint32_t)bag->count;
	}
	bag->words[bag->places[slot] - 1].times++;
}

/* Frees a slot: what follows without a gap moves there, unless it would come to lie before where
 * its search begins. */
static void free_slot(struct gc_bag *bag, size_t free)
{
	for (size_t slot = next(bag, free); bag->places[slot]; slot = next(bag, slot)) {
		size_t begin = slot_of(bag, bag->words[bag->places[slot] - 1].word);
		size_t mask = bag->n_places - 1;

		if (((slot - begin) & mask) < ((slot - free) & mask))
			continue;
		bag->places[free] = bag->places[slot];
		free = slot;
	}
	bag->places[free] = 0;
}

void bag_remove(struct gc_bag *bag, void *word)
{
	size_t slot, at;

	if (!bag->count)
		return;
	slot = find(bag, word);
	if (!bag->places[slot])
		return;
	at = bag->places[slot] - 1;
	if (--bag->words[at].times)
		return;
	free_slot(bag, slot);
	if (at != --bag->count) {
		/* The last one takes its place in the row. */
		slot = find(bag, bag->words[bag->count].word);
		bag->words[at] = bag->words[bag->count];
		bag->places[slot] = (uint32_t)(at + 1);
	}
}

void bag_free(struct gc_bag *bag)
{
	os_unmap(bag->words, bag->capacity * sizeof(*bag->words));
	os_unmap(bag->places, bag->n_places * sizeof(*bag->places));
	*bag = (struct gc_bag){0};
}
