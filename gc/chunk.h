/* SPDX-License-Identifier: BSD-2-Clause */
/* chunk.h: memory outside the nursery: chunks, their pages, and mark bits. */
/*
 * Every object outside the nursery is in a chunk: memory aligned to 512 KiB that
 * begins with a struct gc_chunk, found by clearing the low bits of the object's
 * address. A chunk is an arena (61 pages of 8 KiB, each of one size class or part
 * of a span) or contains one large object, which may be longer than 512 KiB but
 * begins on its first page. Both have their mark bits, one for each 8 bytes at
 * which an object may begin, in the same place. So marking needs neither the
 * object nor a table to tell them apart.
 */
#ifndef GCPROF_CHUNK_H
#define GCPROF_CHUNK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "os.h"

#define CHUNK_SIZE  ((size_t)512 << 10)
#define PAGE_SIZE   ((size_t)8 << 10)
#define CHUNK_PAGES 64
#define SMALL_MAX   ((size_t)4096) /* larger objects use whole pages */
#define SPAN_PAGES  32             /* pages of the largest span */

enum gc_chunk_kind { CHUNK_ARENA = 1, CHUNK_LARGE = 2 };
enum gc_page_kind { PAGE_FREE = 0, PAGE_SMALL, PAGE_SPAN, PAGE_SPAN_BODY, PAGE_META };
enum gc_large_age { LARGE_OLD = 0, LARGE_YOUNG = 1, LARGE_YOUNG_VISITED = 2 };

struct gc_page {
	struct gc_page *next; /* in the list of pages with free cells of its class */
	uint16_t live;        /* cells in use at the last sweep */
	uint8_t kind;         /* enum gc_page_kind */
	uint8_t class;        /* small pages: index into old.cell_size */
	uint8_t pages;        /* spans: number of pages */
	uint8_t epoch;        /* old.epoch when it was last swept or taken */
};

struct gc_chunk {
	uint32_t kind;         /* enum gc_chunk_kind */
	uint32_t index;        /* arenas: index into old.arenas */
	struct gc_chunk *next; /* large: next of the same age */
	size_t mapped;         /* large: size of the whole mapping */
	size_t size;           /* large: size of the object */
	uint32_t age;          /* large: enum gc_large_age */
	uint32_t released;     /* arenas: returned to the system, reads as zero */
	unsigned char *cards;  /* large arrays of references: one per CARD_SHIFT part, or NULL */
	uint64_t reserved[2];
	uint64_t marks[CHUNK_SIZE / 8 / 64]; /* set by the current marking */
	uint64_t used[CHUNK_SIZE / 8 / 64];  /* arenas: the marks of the last sweep */
	struct gc_page pages[CHUNK_PAGES];
};

#define META_PAGES   ((sizeof(struct gc_chunk) + PAGE_SIZE - 1) / PAGE_SIZE)
#define LARGE_OFFSET OS_PAGE /* offset of a large object in its chunk */
#define CARD_SHIFT   9       /* a card covers 512 bytes */

static inline struct gc_chunk *chunk_of(const void *object)
{
	return (struct gc_chunk *)((uintptr_t)object & ~(uintptr_t)(CHUNK_SIZE - 1));
}

/* True for a large object: nothing else begins at that offset. Reads no memory. */
static inline bool chunk_is_large(const void *object)
{
	return ((uintptr_t)object & (CHUNK_SIZE - 1)) == LARGE_OFFSET;
}

static inline size_t chunk_bit(const void *object)
{
	return ((uintptr_t)object & (CHUNK_SIZE - 1)) >> 3;
}

static inline bool chunk_is_marked(const void *object)
{
	size_t bit = chunk_bit(object);

	return chunk_of(object)->marks[bit / 64] >> (bit % 64) & 1;
}

/* Marks the object; true if it was unmarked. */
static inline bool chunk_mark(const void *object)
{
	size_t bit = chunk_bit(object);
	uint64_t *word = &chunk_of(object)->marks[bit / 64];
	uint64_t mask = UINT64_C(1) << (bit % 64);

	if (*word & mask)
		return false;
	*word |= mask;
	return true;
}

/* The same for mutators, concurrently, while no thread collects. */
static inline bool chunk_mark_shared(const void *object)
{
	size_t bit = chunk_bit(object);
	uint64_t *word = &chunk_of(object)->marks[bit / 64];
	uint64_t mask = UINT64_C(1) << (bit % 64);

	if (__atomic_load_n(word, __ATOMIC_RELAXED) & mask)
		return false;
	return !(__atomic_fetch_or(word, mask, __ATOMIC_RELAXED) & mask);
}

static inline bool chunk_is_marked_shared(const void *object)
{
	size_t bit = chunk_bit(object);

	return __atomic_load_n(&chunk_of(object)->marks[bit / 64], __ATOMIC_RELAXED) >> (bit % 64) &
	       1;
}

#endif
