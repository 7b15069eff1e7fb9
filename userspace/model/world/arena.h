/* SPDX-License-Identifier: BSD-2-Clause */
/* arena.h: memory that is freed all at once, and growing arrays. */
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
 * Makes room for item `count` in an array: *data has *capacity items of `item_size` bytes. New
 * items are zeroed. 0 or -ENOMEM.
 */
int array_reserve(void *data, size_t *capacity, size_t count, size_t item_size);

/*
 * The same for tables of what a profile has millions of, of up to 8 GiB; free them by big_free().
 * Big ones grow in place and in huge pages: most of the time with millions of stacks is the first
 * touch of an item, when neither the item nor its page's address is in the CPU's caches.
 */
int big_reserve(void *data, size_t *capacity, size_t count, size_t item_size);
void big_free(void *data, size_t capacity, size_t item_size);

/*
 * Items with dense ids that a profile assigns from 1. An id far beyond those defined so far is
 * refused, so that a few hostile bytes cannot cost gigabytes. All zero except item_size is an
 * empty table.
 */
struct dense {
	char *items;
	size_t item_size;
	size_t capacity;
	uint64_t limit;   /* lower ids have an entry */
	uint64_t defined; /* items that dense_define() created */
};

/* The existing or new (zeroed) item with `id`; NULL: refused, or no memory (errno is ENOMEM). */
void *dense_define(struct dense *dense, uint64_t id);
void dense_free(struct dense *dense);

/* NULL for 0 and for ids never defined; an id in a gap returns a zeroed item. */
static inline void *dense_get(const struct dense *dense, uint64_t id)
{
	return id && id < dense->limit ? dense->items + id * dense->item_size : NULL;
}

#endif
