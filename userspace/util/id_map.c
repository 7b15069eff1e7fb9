/* SPDX-License-Identifier: BSD-2-Clause */
/* id_map.c: a map from {space, id} to a number, for mostly consecutive ids. */
/*
 * Ids are stored in pages of 16 consecutive ones. A hash map finds the page, but only the first
 * time: recently used pages are in a small table, so that walking ids in order needs no hashing and
 * stays in the cache. Scattered ids work as well, at the price of a page each.
 */
#include "id_map.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "map.h"

enum { PAGE_BITS = 4, PAGE_IDS = 1 << PAGE_BITS, RECENT = 64, FIRST_PAGES = 64 };

struct page_key {
	uint64_t space, page;
};

struct page {
	struct page_key key;
	uint32_t numbers[PAGE_IDS];
	uint32_t next_free;
	bool used;
};

struct id_map {
	struct map *index;  /* struct page_key -> index in pages */
	struct page *pages; /* page 0 means none */
	uint32_t count, capacity;
	uint32_t free;           /* first unused page, 0: none */
	uint32_t recent[RECENT]; /* pages by the low bits of their key */
};

struct id_map *id_map_create(void)
{
	struct id_map *map = calloc(1, sizeof(*map));

	if (!map)
		return NULL;
	map->count = 1;
	map->capacity = FIRST_PAGES;
	map->index = map_create(sizeof(struct page_key));
	map->pages = calloc(FIRST_PAGES, sizeof(*map->pages));
	if (!map->index || !map->pages) {
		id_map_free(map);
		return NULL;
	}
	return map;
}

void id_map_free(struct id_map *map)
{
	if (!map)
		return;
	map_free(map->index);
	free(map->pages);
	free(map);
}

/* The entry for a page in the table of recently used pages. */
static uint32_t *recent_of(struct id_map *map, const struct page_key *key)
{
	return &map->recent[(key->page + key->space * 7) % RECENT];
}

static bool is_page(const struct page *page, const struct page_key *key)
{
	return page->used && page->key.page == key->page && page->key.space == key->space;
}

/* The page of this key; NULL: none. */
static struct page *find_page(struct id_map *map, const struct page_key *key)
{
	uint32_t *recent = recent_of(map, key);
	const uint64_t *number;

	if (is_page(&map->pages[*recent], key))
		return &map->pages[*recent];
	number = map_get(map->index, key);
	if (!number)
		return NULL;
	*recent = (uint32_t)*number;
	return &map->pages[*recent];
}

/* The number of an unused page; 0: no memory. */
static uint32_t take_page(struct id_map *map)
{
	uint32_t number = map->free;
	struct page *pages;

	if (number) {
		map->free = map->pages[number].next_free;
		return number;
	}
	if (map->count == map->capacity) {
		if (map->capacity > UINT32_MAX / 2)
			return 0;
		pages = reallocarray(map->pages, map->capacity * 2, sizeof(*pages));
		if (!pages)
			return 0;
		map->pages = pages;
		map->capacity *= 2;
	}
	return map->count++;
}

static struct page *make_page(struct id_map *map, const struct page_key *key)
{
	uint64_t *place = map_put(map->index, key, NULL);
	uint32_t number = place ? take_page(map) : 0;

	if (!number) {
		if (place)
			map_remove(map->index, key);
		return NULL;
	}
	*place = number;
	map->pages[number] = (struct page){.key = *key, .used = true};
	*recent_of(map, key) = number;
	return &map->pages[number];
}

uint32_t id_map_get(struct id_map *map, uint64_t space, uint64_t id)
{
	struct page_key key = {space, id >> PAGE_BITS};
	const struct page *page = find_page(map, &key);

	return page ? page->numbers[id % PAGE_IDS] : 0;
}

uint32_t *id_map_put(struct id_map *map, uint64_t space, uint64_t id)
{
	struct page_key key = {space, id >> PAGE_BITS};
	struct page *page = find_page(map, &key);

	if (!page)
		page = make_page(map, &key);
	return page ? &page->numbers[id % PAGE_IDS] : NULL;
}

static bool is_empty(const struct page *page)
{
	static const uint32_t nothing[PAGE_IDS];

	return memcmp(page->numbers, nothing, sizeof(nothing)) == 0;
}

void id_map_remove(struct id_map *map, uint64_t space, uint64_t id)
{
	struct page_key key = {space, id >> PAGE_BITS};
	struct page *page = find_page(map, &key);

	if (!page)
		return;
	page->numbers[id % PAGE_IDS] = 0;
	if (!is_empty(page))
		return;
	map_remove(map->index, &key);
	page->used = false;
	page->next_free = map->free;
	map->free = (uint32_t)(page - map->pages);
}
