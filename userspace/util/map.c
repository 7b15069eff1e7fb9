/* SPDX-License-Identifier: BSD-2-Clause */
/* map.c: a hash map with open addressing and linear probing; entries lie in one growing array. */
/*
 * Slots hold the upper half of an entry's hash and its index, so that a probe rarely touches a
 * wrong entry. Removal shifts the following slots back (no tombstones) and moves the last entry
 * into the hole.
 */
#include "map.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

struct slot {
	uint32_t tag;
	uint32_t index; /* index of the entry, plus 1; 0: empty */
};

struct map {
	size_t key_size; /* 0: string keys */
	size_t stride;   /* bytes of an entry: value, then key */
	char *entries;
	size_t count;
	size_t entry_capacity;
	struct slot *slots;
	size_t n_slots; /* a power of two */
	uint64_t seed;
};

/* String keys are stored separately; the entry holds this. */
struct string_key {
	char *data;
	size_t size;
};

enum { FIRST_SLOTS = 16 };

/* Keys come from untrusted programs, which must not be able to choose collisions. */
uint64_t map_seed(void)
{
	static uint64_t seed;

	/* Without entropy, fall back to a randomized address of this program. */
	if (!seed && getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != sizeof(seed))
		seed = (uint64_t)(uintptr_t)&seed;
	return seed;
}

struct map *map_create(size_t key_size)
{
	struct map *map = calloc(1, sizeof(*map));

	if (!map)
		return NULL;
	map->key_size = key_size;
	map->stride = sizeof(uint64_t) + (key_size ? key_size : sizeof(struct string_key));
	map->stride = (map->stride + 7) & ~(size_t)7;
	map->n_slots = FIRST_SLOTS;
	map->seed = map_seed();
	map->slots = calloc(map->n_slots, sizeof(*map->slots));
	if (!map->slots) {
		free(map);
		return NULL;
	}
	return map;
}

static uint64_t *entry_value(const struct map *map, size_t index)
{
	return (uint64_t *)(map->entries + index * map->stride);
}

static void *entry_key(const struct map *map, size_t index)
{
	return map->entries + index * map->stride + sizeof(uint64_t);
}

void map_free(struct map *map)
{
	if (!map)
		return;
	for (size_t i = 0; !map->key_size && i < map->count; i++)
		free(((struct string_key *)entry_key(map, i))->data);
	free(map->entries);
	free(map->slots);
	free(map);
}

/* Both halves of a product depend on all bits of the factor. */
static uint64_t mix(uint64_t h)
{
	unsigned __int128 product = (unsigned __int128)h * UINT64_C(0xd6e8feb86659fd93);

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint64_t map_hash(uint64_t seed, const void *data, size_t size)
{
	const char *bytes = data;
	uint64_t hash = seed ^ size, word;

	for (; size >= sizeof(word); bytes += sizeof(word), size -= sizeof(word)) {
		memcpy(&word, bytes, sizeof(word));
		hash = mix(hash ^ word);
	}
	if (size) {
		word = 0;
		memcpy(&word, bytes, size);
		hash = mix(hash ^ word);
	}
	return mix(hash + UINT64_C(0x9e3779b97f4a7c15));
}

static bool same_key(const struct map *map, size_t index, const void *key, size_t size)
{
	const struct string_key *string = entry_key(map, index);

	/* Common sizes are handled without a call. */
	switch (map->key_size) {
	case MAP_STRING_KEYS:
		break;
	case sizeof(uint64_t):
		return memcmp(string, key, sizeof(uint64_t)) == 0;
	case 2 * sizeof(uint64_t):
		return memcmp(string, key, 2 * sizeof(uint64_t)) == 0;
	default:
		return memcmp(string, key, size) == 0;
	}
	return string->size == size && (!size || memcmp(string->data, key, size) == 0);
}

/* The slot of the key, or the empty slot for it. */
static size_t find_slot(const struct map *map, uint64_t hash, const void *key, size_t size)
{
	size_t mask = map->n_slots - 1;
	uint32_t tag = (uint32_t)(hash >> 32);

	for (size_t i = hash & mask;; i = (i + 1) & mask) {
		const struct slot *slot = &map->slots[i];

		if (!slot->index || (slot->tag == tag && same_key(map, slot->index - 1, key, size)))
			return i;
	}
}

static uint64_t entry_hash(const struct map *map, size_t index)
{
	const struct string_key *string = entry_key(map, index);

	if (map->key_size)
		return map_hash(map->seed, entry_key(map, index), map->key_size);
	return map_hash(map->seed, string->data, string->size);
}

static bool grow_slots(struct map *map)
{
	size_t n_slots = map->n_slots * 2, mask = n_slots - 1;
	struct slot *slots = calloc(n_slots, sizeof(*slots));

	if (!slots)
		return false;
	for (size_t i = 0; i < map->count; i++) {
		uint64_t hash = entry_hash(map, i);
		size_t at = hash & mask;

		while (slots[at].index)
			at = (at + 1) & mask;
		slots[at] = (struct slot){(uint32_t)(hash >> 32), (uint32_t)i + 1};
	}
	free(map->slots);
	map->slots = slots;
	map->n_slots = n_slots;
	return true;
}

static bool grow_entries(struct map *map)
{
	size_t capacity = map->entry_capacity ? map->entry_capacity * 2 : FIRST_SLOTS;
	char *entries;

	if (map->count < map->entry_capacity)
		return true;
	if (capacity >= UINT32_MAX)
		return false;
	entries = realloc(map->entries, capacity * map->stride);
	if (!entries)
		return false;
	map->entries = entries;
	map->entry_capacity = capacity;
	return true;
}

static bool set_key(struct map *map, size_t index, const void *key, size_t size)
{
	struct string_key *string = entry_key(map, index);

	if (map->key_size) {
		memcpy(entry_key(map, index), key, size);
		return true;
	}
	string->size = size;
	string->data = malloc(size ? size : 1);
	if (string->data && size)
		memcpy(string->data, key, size);
	return string->data != NULL;
}

static uint64_t *get(const struct map *map, const void *key, size_t size)
{
	size_t at = find_slot(map, map_hash(map->seed, key, size), key, size);

	return map->slots[at].index ? entry_value(map, map->slots[at].index - 1) : NULL;
}

static uint64_t *put(struct map *map, const void *key, size_t size, bool *added)
{
	uint64_t hash = map_hash(map->seed, key, size);
	size_t at = find_slot(map, hash, key, size);

	if (added)
		*added = false;
	if (map->slots[at].index)
		return entry_value(map, map->slots[at].index - 1);
	if (map->count + 1 > map->n_slots / 4 * 3) {
		if (!grow_slots(map))
			return NULL;
		at = find_slot(map, hash, key, size);
	}
	if (!grow_entries(map) || !set_key(map, map->count, key, size))
		return NULL;
	*entry_value(map, map->count) = 0;
	map->slots[at] = (struct slot){(uint32_t)(hash >> 32), (uint32_t)++map->count};
	if (added)
		*added = true;
	return entry_value(map, map->count - 1);
}

uint64_t *map_get(const struct map *map, const void *key)
{
	return get(map, key, map->key_size);
}

uint64_t *map_put(struct map *map, const void *key, bool *added)
{
	return put(map, key, map->key_size, added);
}

uint64_t *map_get_string(const struct map *map, const char *key, size_t size)
{
	return get(map, key, size);
}

uint64_t *map_put_string(struct map *map, const char *key, size_t size, bool *added)
{
	return put(map, key, size, added);
}

/* Empties a slot and moves displaced entries back. */
static void clear_slot(struct map *map, size_t hole)
{
	size_t mask = map->n_slots - 1;

	for (size_t i = (hole + 1) & mask; map->slots[i].index; i = (i + 1) & mask) {
		size_t home = entry_hash(map, map->slots[i].index - 1) & mask;

		if (((i - home) & mask) >= ((i - hole) & mask)) {
			map->slots[hole] = map->slots[i];
			hole = i;
		}
	}
	map->slots[hole] = (struct slot){0, 0};
}

bool map_note(struct map *map, const void *key, size_t most)
{
	bool added = false;

	if (map_count(map) >= most && !map_get(map, key))
		map_clear(map);
	map_put(map, key, &added);
	return added;
}

bool map_remove(struct map *map, const void *key)
{
	size_t at = find_slot(map, map_hash(map->seed, key, map->key_size), key, map->key_size);
	size_t index, last = map->count - 1;

	if (!map->slots[at].index)
		return false;
	index = map->slots[at].index - 1;
	clear_slot(map, at);
	if (index != last) {
		at = find_slot(map, entry_hash(map, last), entry_key(map, last), map->key_size);
		map->slots[at].index = (uint32_t)index + 1;
		memcpy(entry_value(map, index), entry_value(map, last), map->stride);
	}
	map->count--;
	return true;
}

void map_filter(struct map *map, map_keep *keep, void *context)
{
	/* Backwards, so that the entry moved into a hole has already been visited. */
	for (size_t i = map->count; i-- > 0;)
		if (!keep(context, entry_key(map, i), entry_value(map, i)))
			map_remove(map, entry_key(map, i));
}

static bool keep_none(void *context, const void *key, uint64_t *value)
{
	(void)context;
	(void)key;
	(void)value;
	return false;
}

void map_clear(struct map *map)
{
	map_filter(map, keep_none, NULL);
}

size_t map_count(const struct map *map)
{
	return map->count;
}

bool map_next(const struct map *map, size_t *cursor, const void **key, uint64_t **value)
{
	if (*cursor >= map->count)
		return false;
	*key = entry_key(map, *cursor);
	*value = entry_value(map, *cursor);
	++*cursor;
	return true;
}

void map_free_all(struct map *map, void (*release)(void *value))
{
	for (size_t i = 0; map && i < map->count; i++) {
		uint64_t value = *entry_value(map, i);

		if (value)
			release((void *)(uintptr_t)value);
	}
	map_free(map);
}
