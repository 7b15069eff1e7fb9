/* SPDX-License-Identifier: BSD-2-Clause */
/* map.h: a hash map from keys of one fixed size, or from strings, to 64-bit values. */
#ifndef GCPROF_MAP_H
#define GCPROF_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map;

#define MAP_STRING_KEYS 0 /* a value of key_size: keys are byte strings of any length */

/* Seed for hashes of untrusted data; constant during the life of the process. */
uint64_t map_seed(void);

/* A hash of bytes; that of others cannot be foreseen if the seed is not known. */
uint64_t map_hash(uint64_t seed, const void *data, size_t size);

/* Keys are compared as bytes, so their structs must have no padding. NULL: no memory. */
struct map *map_create(size_t key_size);
void map_free(struct map *map); /* NULL is allowed */

/* The same for a map whose values are pointers: first passes each non-zero value to `release`. */
void map_free_all(struct map *map, void (*release)(void *value));

/* The value stored under `key`, or NULL. Valid until the next map_put. */
uint64_t *map_get(const struct map *map, const void *key);

/* The value under `key`, which is 0 if it is new (*added, which may be NULL). NULL: no memory. */
uint64_t *map_put(struct map *map, const void *key, bool *added);

/* The same for maps made with MAP_STRING_KEYS; the key is copied. */
uint64_t *map_get_string(const struct map *map, const char *key, size_t size);
uint64_t *map_put_string(struct map *map, const char *key, size_t size, bool *added);

/* Adds `key`, to report it once; true if it was not there. Before a map would hold more than `most`
 * keys, all are removed. No memory: false. */
bool map_note(struct map *map, const void *key, size_t most);

/* Removes `key`; true if it was there. Not for string keys. */
bool map_remove(struct map *map, const void *key);

/* Removes all entries for which `keep` returns false; it may change values. Not for string keys. */
typedef bool map_keep(void *context, const void *key, uint64_t *value);
void map_filter(struct map *map, map_keep *keep, void *context);

/* Removes all entries. */
void map_clear(struct map *map);

size_t map_count(const struct map *map);

/* Iterates over all entries in arbitrary order: start with *cursor = 0; false at the end. The map
 * must not change meanwhile. */
bool map_next(const struct map *map, size_t *cursor, const void **key, uint64_t **value);

#endif
