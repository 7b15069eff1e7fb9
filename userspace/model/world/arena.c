/* SPDX-License-Identifier: BSD-2-Clause */
/* arena.c: memory that is freed all at once, and growing arrays. */
#include "arena.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define TABLE_BYTES_MAX ((size_t)8 << 30)
#define SMALL_BYTES     ((size_t)8 << 20) /* smaller ones come from malloc() */
#define STEP_BYTES      ((size_t)2 << 20)

enum { BLOCK_SIZE = 64 * 1024, DENSE_GAP = 65536, BIG_BYTES = 4 << 20 };

struct block {
	struct block *next;
	size_t used, size;
	_Alignas(8) char data[];
};

struct arena {
	struct block *blocks;
};

int arena_create(struct arena **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : -ENOMEM;
}

void arena_free(struct arena *arena)
{
	if (!arena)
		return;
	for (struct block *block = arena->blocks, *next; block; block = next) {
		next = block->next;
		free(block);
	}
	free(arena);
}

void *arena_alloc(struct arena *arena, size_t size)
{
	struct block *block = arena->blocks;
	size_t room;
	void *data;

	if (size > SIZE_MAX / 2)
		return NULL;
	size = (size + 7) & ~(size_t)7;
	if (!block || block->size - block->used < size) {
		room = size > BLOCK_SIZE ? size : BLOCK_SIZE;
		block = calloc(1, sizeof(*block) + room);
		if (!block)
			return NULL;
		block->size = room;
		block->next = arena->blocks;
		arena->blocks = block;
	}
	data = block->data + block->used;
	block->used += size;
	return data;
}

/* The kernel moves big arrays without copying, so they can grow in small steps. */
static size_t grown(size_t capacity, size_t item_size)
{
	return capacity > BIG_BYTES / item_size ? capacity + capacity / 32 : capacity * 2;
}

int array_reserve(void *data, size_t *capacity, size_t count, size_t item_size)
{
	size_t wanted = *capacity ? *capacity : 16;
	char *old, *bigger;

	if (count < *capacity)
		return 0;
	while (wanted <= count) {
		if (wanted > SIZE_MAX / 4 / item_size)
			return -ENOMEM;
		wanted = grown(wanted, item_size);
	}
	/* `data` points to a pointer of any type. */
	memcpy(&old, data, sizeof(old));
	bigger = realloc(old, wanted * item_size);
	if (!bigger)
		return -ENOMEM;
	memset(bigger + *capacity * item_size, 0, (wanted - *capacity) * item_size);
	memcpy(data, &bigger, sizeof(bigger));
	*capacity = wanted;
	return 0;
}

static bool is_big(size_t capacity, size_t item_size)
{
	return capacity > SMALL_BYTES / item_size;
}

/* Room for `bytes`, where a table can grow; NULL: no memory. */
static char *reserve_addresses(size_t bytes)
{
	char *begin = mmap(NULL, TABLE_BYTES_MAX, PROT_NONE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (begin == MAP_FAILED)
		return NULL;
	if (mprotect(begin, bytes, PROT_READ | PROT_WRITE)) {
		munmap(begin, TABLE_BYTES_MAX);
		return NULL;
	}
	madvise(begin, TABLE_BYTES_MAX, MADV_HUGEPAGE);
	return begin;
}

int big_reserve(void *data, size_t *capacity, size_t count, size_t item_size)
{
	bool big = is_big(*capacity, item_size);
	size_t bytes;
	char *old, *begin;

	if (count < *capacity)
		return 0;
	/* array_reserve() makes at most twice the room. */
	if (!big && count < SMALL_BYTES / 2 / item_size)
		return array_reserve(data, capacity, count, item_size);
	if (count >= (TABLE_BYTES_MAX - SMALL_BYTES - STEP_BYTES) / item_size)
		return -ENOMEM;
	bytes = SMALL_BYTES + (count * item_size / STEP_BYTES + 1) * STEP_BYTES;
	memcpy(&old, data, sizeof(old));
	begin = big ? old : reserve_addresses(bytes);
	if (!begin || (big && mprotect(begin, bytes, PROT_READ | PROT_WRITE)))
		return -ENOMEM;
	if (!big && old)
		memcpy(begin, old, *capacity * item_size);
	if (!big)
		free(old);
	memcpy(data, &begin, sizeof(begin));
	*capacity = bytes / item_size;
	return 0;
}

void big_free(void *data, size_t capacity, size_t item_size)
{
	if (is_big(capacity, item_size))
		munmap(data, TABLE_BYTES_MAX);
	else
		free(data);
}

void *dense_define(struct dense *dense, uint64_t id)
{
	errno = EBADMSG;
	if (!id || id > dense->defined + DENSE_GAP)
		return NULL;
	if (big_reserve(&dense->items, &dense->capacity, id, dense->item_size) < 0) {
		errno = ENOMEM;
		return NULL;
	}
	if (id >= dense->limit)
		dense->limit = id + 1;
	dense->defined++;
	return dense->items + id * dense->item_size;
}

void dense_free(struct dense *dense)
{
	big_free(dense->items, dense->capacity, dense->item_size);
	dense->items = NULL;
	dense->capacity = dense->limit = dense->defined = 0;
}
