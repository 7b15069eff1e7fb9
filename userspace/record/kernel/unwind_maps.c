// SPDX-License-Identifier: BSD-2-Clause
/* unwind_maps.c: writes unwind rows and mapping tables into the kernel's maps. */
/*
 * Rows of several files lie one after the other in chunks of 256 KiB. Except for the first, each
 * chunk is a map of its own, created when the last one is full: adding a map to another one takes
 * some milliseconds. A chunk is released when none of its pages is in use.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "unwind_maps.h"
#include "../../../bpf/config.h"
#include "../../util/map.h"
#include "../../util/quota.h"

#define CHUNK_BYTES (UNWIND_CHUNK_ROWS * sizeof(unwind_row))
#define NO_CHUNK    UINT32_MAX

#define CHUNKS_AT_ONCE 16

#define ATTEMPTS 8 /* per CPU the kernel prepares only a few large entries */

struct chunk {
	uint32_t pages;     /* with rows in it */
	bool there;         /* it exists in the kernel */
	unwind_row *memory; /* NULL: full, or missing */
};

/* A rule in the kernel's map; each exists once, while any file uses it. */
struct rule {
	struct unwind_rule rule;
	uint32_t holders; /* files that use it */
};

/* The rules of a file. */
struct held {
	uint32_t *numbers; /* owned array of their numbers */
	size_t count;
};

struct unwind_maps {
	struct unwind_fds fds;
	struct map *numbers;                        /* struct unwind_rule to its number */
	uint32_t n_rules;                           /* numbers in use */
	uint32_t last_rule;                         /* number assigned last */
	struct rule rules[UNWIND_RULES_MAX];        /* indexed by number */
	struct held held[UNWIND_PAGES_MAX];         /* indexed by the first page of the file */
	struct unwind_page pages[UNWIND_PAGES_MAX]; /* as in the kernel */
	bool taken[UNWIND_PAGES_MAX];
	struct chunk chunks[UNWIND_CHUNKS_MAX];
	size_t n_chunks;
	uint32_t current; /* chunk being filled, or NO_CHUNK */
	uint32_t used;    /* rows used in it */
	struct hotspot_layout hotspot[HOTSPOT_FILES_MAX];
	uint32_t n_hotspot;
	struct quota layouts; /* whose files they are */
};

int unwind_maps_create(const struct unwind_fds *fds, struct unwind_maps **out)
{
	struct unwind_maps *maps = calloc(1, sizeof(*maps));

	if (!maps)
		return -ENOMEM;
	maps->fds = *fds;
	maps->current = NO_CHUNK;
	maps->layouts.most = HOTSPOT_FILES_MAX;
	maps->numbers = map_create(sizeof(struct unwind_rule));
	if (!maps->numbers) {
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
	for (uint32_t i = 0; i < UNWIND_CHUNKS_MAX; i++) {
		if (maps->chunks[i].memory)
			munmap(maps->chunks[i].memory, CHUNK_BYTES);
	}
	for (uint32_t i = 0; i < UNWIND_PAGES_MAX; i++)
		free(maps->held[i].numbers);
	quota_free(&maps->layouts);
	map_free(maps->numbers);
	free(maps);
}

/* --- rules ------------------------------------------------------------------------- */

/* Number of rules that still fit. */
static uint32_t rule_room(const struct unwind_maps *maps)
{
	return UNWIND_RULES_MAX - 1 - maps->n_rules;
}

/* An unused number, which exists. 0 is the empty rule's. */
static uint32_t find_unused(const struct unwind_maps *maps)
{
	uint32_t number = maps->last_rule;

	do
		number = (number + 1) % UNWIND_RULES_MAX;
	while (!number || maps->rules[number].holders);
	return number;
}

/*
 * Assigns a number to the rule. Numbers are reused: the kernel side caches rules by content, not by
 * number, so reuse cannot mislead it.
 */
static uint32_t add_rule(struct unwind_maps *maps, const struct unwind_rule *rule)
{
	uint64_t *slot;
	uint32_t number;

	if (!rule_room(maps))
		return 0;
	number = find_unused(maps);
	slot = map_put(maps->numbers, rule, NULL);
	if (!slot)
		return 0;
	if (bpf_map_update_elem(maps->fds.rules, &number, rule, BPF_ANY)) {
		map_remove(maps->numbers, rule);
		return 0;
	}
	*slot = number;
	maps->rules[number].rule = *rule;
	maps->last_rule = number;
	maps->n_rules++;
	return number;
}

/* The number of a rule, held until it is released. 0 for the empty rule, and if there are too many
 * or no memory; nothing is held then. */
static uint32_t hold_rule(struct unwind_maps *maps, const struct unwind_rule *rule)
{
	const uint64_t *slot;
	uint32_t number;

	if (!rule->cfa)
		return 0;
	slot = map_get(maps->numbers, rule);
	number = slot ? (uint32_t)*slot : add_rule(maps, rule);
	if (number)
		maps->rules[number].holders++;
	return number;
}

/* Releases a number; no row may refer to it any more. */
static void release_rule(struct unwind_maps *maps, uint32_t number)
{
	struct rule *rule = &maps->rules[number];

	if (!number || --rule->holders)
		return;
	map_remove(maps->numbers, &rule->rule);
	maps->n_rules--;
}

/* The numbers of all rules of a file, which holds them from now on. */
static uint32_t *hold_rules(struct unwind_maps *maps, const struct unwind_file *file)
{
	uint32_t *numbers = calloc(file->n_rules, sizeof(*numbers));

	for (size_t i = 0; numbers && i < file->n_rules; i++)
		numbers[i] = hold_rule(maps, &file->rules[i]);
	return numbers;
}

static void release_rules(struct unwind_maps *maps, struct held *held)
{
	for (size_t i = 0; i < held->count; i++)
		release_rule(maps, held->numbers[i]);
	free(held->numbers);
	*held = (struct held){0};
}

bool unwind_maps_crowded(const struct unwind_maps *maps, const struct unwind_file *file)
{
	return rule_room(maps) < file->n_rules;
}

/* The free part of a resource. */
static double part(size_t free, size_t all)
{
	return (double)free / (double)all;
}

double unwind_maps_room(const struct unwind_maps *maps)
{
	double room = part(rule_room(maps), UNWIND_RULES_MAX);
	size_t pages = 0, chunks = 0;

	for (size_t i = 0; i < UNWIND_PAGES_MAX; i++)
		pages += !maps->taken[i];
	for (size_t i = 0; i < UNWIND_CHUNKS_MAX; i++)
		chunks += !maps->chunks[i].pages;
	room = fmin(room, part(pages, UNWIND_PAGES_MAX));
	return fmin(room, part(chunks, UNWIND_CHUNKS_MAX));
}

/* --- chunks ------------------------------------------------------------------------ */

static void chunk_close(struct unwind_maps *maps)
{
	if (maps->current != NO_CHUNK) {
		munmap(maps->chunks[maps->current].memory, CHUNK_BYTES);
		maps->chunks[maps->current].memory = NULL;
	}
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

/* Creates and maps the map of a chunk. Returns its descriptor. */
static int chunk_create(struct chunk *chunk)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "unwind_chunk", sizeof(uint32_t), CHUNK_BYTES,
				1, &options);
	int err;

	if (fd < 0)
		return fd;
	chunk->memory = mmap(NULL, CHUNK_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (chunk->memory != MAP_FAILED)
		return fd;
	err = -errno;
	chunk->memory = NULL;
	close(fd);
	return err;
}

/* Adds maps to the map of chunks, all together if the kernel supports it. */
static int chunks_put(const struct unwind_maps *maps, const uint32_t *indexes, const int *fds,
		      uint32_t count)
{
	uint32_t done = count;
	int err = 0;

	if (!bpf_map_update_batch(maps->fds.chunks, indexes, fds, &done, NULL))
		return 0;
	for (uint32_t i = 0; !err && i < count; i++)
		err = bpf_map_update_elem(maps->fds.chunks, &indexes[i], &fds[i], BPF_ANY);
	return err;
}

/* Creates up to `count` chunks at once, because the kernel waits each time. */
static int chunks_create(struct unwind_maps *maps, uint32_t count)
{
	uint32_t indexes[CHUNKS_AT_ONCE], n = 0;
	int fds[CHUNKS_AT_ONCE], err = 0;

	for (uint32_t i = 1; !err && i < UNWIND_CHUNKS_MAX && n < count; i++) {
		if (maps->chunks[i].there)
			continue;
		fds[n] = chunk_create(&maps->chunks[i]);
		err = fds[n] < 0 ? fds[n] : 0;
		indexes[n] = i;
		n += !err;
	}
	if (!err && n)
		err = chunks_put(maps, indexes, fds, n);
	for (uint32_t i = 0; i < n; i++) {
		struct chunk *chunk = &maps->chunks[indexes[i]];

		close(fds[i]);
		chunk->there = !err;
		maps->n_chunks += !err;
		if (err)
			munmap(chunk->memory, CHUNK_BYTES);
		if (err)
			chunk->memory = NULL;
	}
	return err ? err : n ? 0 : -ENOSPC;
}

/* Chunk 0 always exists. */
static int first_chunk(struct unwind_maps *maps)
{
	struct chunk *chunk = &maps->chunks[0];

	chunk->memory = mmap(NULL, CHUNK_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
			     maps->fds.first_chunk, 0);
	if (chunk->memory == MAP_FAILED) {
		chunk->memory = NULL;
		return -errno;
	}
	chunk->there = true;
	maps->n_chunks++;
	return 0;
}

/* A chunk that was not written to yet, or NO_CHUNK. */
static uint32_t find_fresh(const struct unwind_maps *maps)
{
	for (uint32_t i = 0; i < UNWIND_CHUNKS_MAX; i++) {
		if (maps->chunks[i].memory && i != maps->current)
			return i;
	}
	return NO_CHUNK;
}

/* Switches to another chunk; `rows` more are to come. */
static int chunk_open(struct unwind_maps *maps, size_t rows)
{
	size_t count = 1 + rows / UNWIND_CHUNK_ROWS;
	uint32_t index = find_fresh(maps);
	int err = 0;

	if (index == NO_CHUNK) {
		err = maps->chunks[0].there
			      ? chunks_create(maps, count < CHUNKS_AT_ONCE ? (uint32_t)count
									   : CHUNKS_AT_ONCE)
			      : first_chunk(maps);
		index = find_fresh(maps);
	}
	if (err)
		return err;
	chunk_close(maps);
	maps->current = index;
	maps->used = 0;
	return 0;
}

size_t unwind_maps_bytes(const struct unwind_maps *maps)
{
	return maps->n_chunks * CHUNK_BYTES;
}

/* --- pages ------------------------------------------------------------------------- */

/* Takes consecutive unused pages. */
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

/* Copies the rows of a page into a chunk that has room for them. */
static int page_add(struct unwind_maps *maps, const struct unwind_file *file, size_t page,
		    const uint32_t *numbers, uint32_t to)
{
	const unwind_row *rows = file->rows + file->starts[page];
	uint32_t count = file->pages[page].count;
	unwind_row *memory;
	int err = 0;

	if (maps->current == NO_CHUNK || UNWIND_CHUNK_ROWS - maps->used < count)
		err = chunk_open(maps, file->n_rows - file->starts[page]);
	if (err)
		return err;
	memory = maps->chunks[maps->current].memory;
	for (uint32_t i = 0; i < count; i++)
		memory[maps->used + i] = (rows[i] & 0xffff) | numbers[rows[i] >> 16] << 16;
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
	numbers = hold_rules(maps, file);
	if (!numbers)
		err = -ENOMEM;
	else
		maps->held[*first] = (struct held){numbers, file->n_rules};
	for (size_t page = 0; !err && page < file->n_pages; page++)
		err = page_add(maps, file, page, numbers, *first + (uint32_t)page);
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
	if (count)
		release_rules(maps, &maps->held[first]);
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

bool unwind_maps_has_process(int fd, uint32_t process)
{
	struct process_state state;

	return !bpf_map_lookup_elem(fd, &process, &state);
}

int unwind_maps_put_interpreters(int fd, uint32_t pid, const struct interpreters *found)
{
	return bpf_map_update_elem(fd, &pid, found, BPF_ANY);
}

uint32_t unwind_maps_hotspot(struct unwind_maps *maps, const struct hotspot_layout *layout,
			     uint32_t user)
{
	uint32_t at = 0;

	if (!layout->value[HOTSPOT_HEAPS])
		return 0;
	while (at < maps->n_hotspot && memcmp(&maps->hotspot[at], layout, sizeof(*layout)))
		at++;
	if (at < maps->n_hotspot)
		return at + 1;
	if (!quota_take(&maps->layouts, user, 1) ||
	    bpf_map_update_elem(maps->fds.hotspot_files, &at, layout, BPF_ANY))
		return 0;
	maps->hotspot[at] = *layout;
	return ++maps->n_hotspot;
}
