/* SPDX-License-Identifier: BSD-2-Clause */
/* arena.h: memory that is given back all at once, and arrays that grow. */
#ifndef GCPROF_ARENA_H
#define GCPROF_ARENA_H

#include <stddef.h>
#include <stdint.h>

struct arena;

int arena_create(struct arena **out);
void arena_free(struct arena *arena); /* NULL is allowed */

/* Zeroed and aligned to 8 bytes; NULL: no memory. Lives as long as the arena. */
void *arena_alloc(struct arena *arena, size_t size);

/*
 * Makes room for item number `count` in an array: *data has place for *capacity
 * items of `item_size` bytes. New places are zero. 0 or -ENOMEM.
 */
int array_reserve(void *data, size_t *capacity, size_t count, size_t item_size);

/*
 * Items with ids that a profile hands out one after the other from 1. An id far
 * beyond those defined so far is refused: a few hostile bytes must not cost
 * gigabytes. All zero but for item_size is an empty table.
 */
struct dense {
	char *items;
	size_t item_size;
	size_t capacity;
	uint64_t limit;   /* ids below have a place */
	uint64_t defined; /* calls of dense_define() that made one */
};

/* The zeroed or existing item under `id`; NULL: refused, or no memory (then errno is ENOMEM). */
void *dense_define(struct dense *dense, uint64_t id);
void dense_free(struct dense *dense);

/* NULL for 0 and for ids never defined; an id in a gap gives a zeroed item. */
static inline void *dense_get(const struct dense *dense, uint64_t id)
{
	return id && id < dense->limit ? dense->items + id * dense->item_size : NULL;
}

#endif
