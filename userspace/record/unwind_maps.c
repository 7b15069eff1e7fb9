// SPDX-License-Identifier: BSD-2-Clause
/* unwind_maps.c: puts unwind rows and tables of mappings into the kernel's maps. */
/*
 * Rows of several files lie one behind the other in chunks of 256 KiB, each a
 * map of its own that is made when the last one is full, but for the first: the
 * kernel waits some milliseconds when a map is put into another one. A chunk is given back when
 * none of its pages is in use any more.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "unwind_maps.h"
#include "../util/map.h"

#define CHUNK_BYTES (UNWIND_CHUNK_ROWS * sizeof(unwind_row))
#define NO_CHUNK    UINT32_MAX
#define ATTEMPTS    8 /* the kernel keeps only a few big entries ready for each CPU */

struct chunk {
	uint32_t pages; /* that have rows in it */
	bool there;
};

struct unwind_maps {
	struct unwind_fds fds;
	struct map *rule_numbers; /* struct unwind_rule to its number */
	uint32_t n_rules;
	struct unwind_page pages[UNWIND_PAGES_MAX]; /* as the kernel has them */
	bool taken[UNWIND_PAGES_MAX];
	struct chunk chunks[UNWIND_CHUNKS_MAX];
	size_t n_chunks;
	uint32_t current;   /* chunk that is being filled, or NO_CHUNK */
	uint32_t used;      /* rows in it */
	unwind_row *memory; /* of it */
};

int unwind_maps_create(const struct unwind_fds *fds, struct unwind_maps **out)
{
	struct unwind_maps *maps = calloc(1, sizeof(*maps));

	if (!maps)
		return -ENOMEM;
	maps->fds = *fds;
	maps->current = NO_CHUNK;
	maps->n_rules = 1;
	maps->rule_numbers = map_create(sizeof(struct unwind_rule));
	if (!maps->rule_numbers) {
		free(maps);
		return -ENOMEM;
	}
	*out = maps;
	return 0;
}

void unwind_maps_free(struct unwind_maps *maps)
{
	if (!maps)
		return;
	if (maps->memory)
		munmap(maps->memory, CHUNK_BYTES);
	map_free(maps->rule_numbers);
	free(maps);
}

/* --- rules ------------------------------------------------------------------------- */

/* The kernel's number of a rule, 0 when there are too many. */
static uint32_t rule_number(struct unwind_maps *maps, const struct unwind_rule *rule)
{
	uint64_t *slot;

	if (!rule->cfa)
		return 0;
	slot = map_put(maps->rule_numbers, rule, NULL);
	if (!slot)
		return 0;
	if (!*slot && maps->n_rules < UNWIND_RULES_MAX &&
	    !bpf_map_update_elem(maps->fds.rules, &maps->n_rules, rule, BPF_ANY))
		*slot = maps->n_rules++;
	return (uint32_t)*slot;
}

/* The kernel's numbers of all rules of a file. */
static uint32_t *rule_numbers(struct unwind_maps *maps, const struct unwind_file *file)
{
	uint32_t *numbers = calloc(file->n_rules, sizeof(*numbers));

	for (size_t i = 0; numbers && i < file->n_rules; i++)
		numbers[i] = rule_number(maps, &file->rules[i]);
	return numbers;
}

/* --- chunks ------------------------------------------------------------------------ */

static void chunk_close(struct unwind_maps *maps)
{
	if (maps->memory)
		munmap(maps->memory, CHUNK_BYTES);
	maps->memory = NULL;
	maps->current = NO_CHUNK;
}

static void chunk_drop(struct unwind_maps *maps, uint32_t index)
{
	if (index == maps->current)
		chunk_close(maps);
	if (index)
		bpf_map_delete_elem(maps->fds.chunks, &index);
	maps->chunks[index].there = false;
	maps->n_chunks--;
}

static int chunk_map(int fd, void **memory)
{
	*memory = mmap(NULL, CHUNK_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return *memory == MAP_FAILED ? -errno : 0;
}

static int chunk_create(struct unwind_maps *maps, uint32_t index, void **memory)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "unwind_chunk", sizeof(uint32_t), CHUNK_BYTES,
				1, &options);
	int err;

	if (fd < 0)
		return fd;
	err = chunk_map(fd, memory);
	if (!err) {
		err = bpf_map_update_elem(maps->fds.chunks, &index, &fd, BPF_ANY);
		if (err)
			munmap(*memory, CHUNK_BYTES);
	}
	close(fd);
	return err;
}

/* A new chunk to fill. */
static int chunk_open(struct unwind_maps *maps)
{
	uint32_t index = 0;
	void *memory;
	int err;

	chunk_close(maps);
	while (index < UNWIND_CHUNKS_MAX && maps->chunks[index].there)
		index++;
	if (index == UNWIND_CHUNKS_MAX)
		return -ENOSPC;
	err = index ? chunk_create(maps, index, &memory)
		    : chunk_map(maps->fds.first_chunk, &memory);
	if (err)
		return err;
	maps->chunks[index] = (struct chunk){.there = true};
	maps->n_chunks++;
	maps->current = index;
	maps->memory = memory;
	maps->used = 0;
	return 0;
}

size_t unwind_maps_bytes(const struct unwind_maps *maps)
{
	return maps->n_chunks * CHUNK_BYTES;
}

/* --- pages ------------------------------------------------------------------------- */

/* Pages in a row that nobody has. */
static int pages_take(struct unwind_maps *maps, size_t count, uint32_t *first)
{
	size_t found = 0;

	for (uint32_t page = 0; page < UNWIND_PAGES_MAX; page++) {
		found = maps->taken[page] ? 0 : found + 1;
		if (found < count)
			continue;
		*first = page + 1 - (uint32_t)count;
		memset(maps->taken + *first, true, count);
		return 0;
	}
	return -ENOSPC;
}

/* Copies the rows of one page into a chunk that has room for all of them. */
static int page_add(struct unwind_maps *maps, const struct unwind_file *file, size_t page,
		    const uint32_t *numbers, uint32_t to)
{
	const unwind_row *rows = file->rows + file->starts[page];
	uint32_t count = file->pages[page].count;
	int err = 0;

	if (maps->current == NO_CHUNK || UNWIND_CHUNK_ROWS - maps->used < count)
		err = chunk_open(maps);
	if (err)
		return err;
	for (uint32_t i = 0; i < count; i++)
		maps->memory[maps->used + i] = (rows[i] & 0xffff) | numbers[rows[i] >> 16] << 16;
	maps->pages[to] = (struct unwind_page){
		.chunk = maps->current,
		.first = (uint16_t)maps->used,
		.count = (uint16_t)count,
	};
	maps->used += count;
	maps->chunks[maps->current].pages++;
	return bpf_map_update_elem(maps->fds.pages, &to, &maps->pages[to], BPF_ANY);
}

int unwind_maps_add(struct unwind_maps *maps, const struct unwind_file *file, uint32_t *first)
{
	uint32_t *numbers;
	int err = pages_take(maps, file->n_pages, first);

	if (err)
		return err;
	numbers = rule_numbers(maps, file);
	if (!numbers)
		err = -ENOMEM;
	for (size_t page = 0; !err && page < file->n_pages; page++)
		err = page_add(maps, file, page, numbers, *first + (uint32_t)page);
	free(numbers);
	if (err)
		unwind_maps_remove(maps, *first, file->n_pages);
	return err;
}

void unwind_maps_remove(struct unwind_maps *maps, uint32_t first, size_t count)
{
	static const struct unwind_page none;

	for (uint32_t page = first; page < first + count; page++) {
		uint32_t chunk = maps->pages[page].chunk;

		maps->taken[page] = false;
		if (!maps->pages[page].count)
			continue;
		maps->pages[page] = none;
		bpf_map_update_elem(maps->fds.pages, &page, &none, BPF_ANY);
		if (--maps->chunks[chunk].pages == 0)
			chunk_drop(maps, chunk);
	}
}

/* --- tables ------------------------------------------------------------------------ */

int unwind_maps_put_table(struct unwind_maps *maps, uint32_t id, const struct unwind_table *table)
{
	int err = -ENOMEM;

	for (int attempt = 0; err == -ENOMEM && attempt < ATTEMPTS; attempt++) {
		if (attempt)
			sched_yield();
		err = bpf_map_update_elem(maps->fds.tables, &id, table, BPF_ANY);
	}
	return err;
}

int unwind_maps_put_process(struct unwind_maps *maps, uint32_t pid, const struct unwind_of *of)
{
	return bpf_map_update_elem(maps->fds.of, &pid, of, BPF_ANY);
}

void unwind_maps_drop_table(struct unwind_maps *maps, uint32_t id)
{
	bpf_map_delete_elem(maps->fds.tables, &id);
}

void unwind_maps_drop_process(struct unwind_maps *maps, uint32_t pid)
{
	bpf_map_delete_elem(maps->fds.of, &pid);
}
