/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* walk_rows.h: looks up the unwind rule of an instruction in the maps that the recorder fills. */
#ifndef GCPROF_WALK_ROWS_H
#define GCPROF_WALK_ROWS_H

#include "kernel.h"
#include "process_table.h"
#include "hotspot.h"
#include "interpreters.h"
#include "unwind_rows.h"

/* The table of a process. The kernel side adds entries on a fork, see process.bpf.c. */
PROCESS_TABLE(unwind_of, struct unwind_of);

/* The interpreters of a process, likewise. */
PROCESS_TABLE(interpreters, struct interpreters);

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, UNWIND_TABLES_MAX);
	__type(key, uint32_t);
	__type(value, struct unwind_table);
} unwind_tables SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, UNWIND_PAGES_MAX);
	__type(key, uint32_t);
	__type(value, struct unwind_page);
} unwind_pages SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, UNWIND_RULES_MAX);
	__type(key, uint32_t);
	__type(value, struct unwind_rule);
} unwind_rules SEC(".maps");

struct unwind_chunk {
	unwind_row rows[UNWIND_CHUNK_ROWS];
};

/* The recorder writes through a memory mapping, created on demand. */
struct unwind_chunk_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(uint32_t));
	__uint(value_size, sizeof(struct unwind_chunk));
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, UNWIND_CHUNKS_MAX);
	__type(key, uint32_t);
	__array(values, struct unwind_chunk_map);
} unwind_chunks SEC(".maps");

/*
 * Chunk 0 always exists: adding a map to this one takes the recorder some milliseconds, in which
 * the program would have no rows.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct unwind_chunk);
} unwind_first_chunk SEC(".maps");

/* Java virtual machine libraries, by the number in struct unwind_table, less one. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, HOTSPOT_FILES_MAX);
	__type(key, uint32_t);
	__type(value, struct hotspot_layout);
} hotspot_files SEC(".maps");

/* Data read from processes, by table: tables are immutable, and code heaps do not move. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, uint32_t);
	__type(value, struct hotspot_space);
} hotspot_spaces SEC(".maps");

/*
 * Cache of rules, since samples hit the same few instructions repeatedly. Entries stay valid:
 * tables are immutable, their numbers are never reused, and their rows stay as long as the table.
 */
#define WALK_RULES_SHIFT 9

struct walk_found {
	uint64_t ip;
	uint32_t table;
	uint32_t reserved;
	struct unwind_rule rule;
};

struct walk_rules {
	struct unwind_mapping
		mapping; /* of the last instruction: the next is often in the same one */
	uint32_t table;  /* number of this walk's first table */
	uint32_t bare;   /* 1: the walk found code of a file that no rule covers */
	struct walk_found found[1 << WALK_RULES_SHIFT]; /* by hash of the instruction */
};

/* On the stack, which is short, and the verifier tracks each value in it. Other state is in
 * walk_rules. */
struct walk_rows {
	const struct unwind_table *table; /* NULL: no rows for this process */
	struct walk_rules *rules;
};

/* Finds the rows of the current thread's process, if they belong to its current program. */
static __always_inline void walk_rows_begin(struct walk_rows *rows, struct walk_rules *rules,
					    uint64_t image)
{
	uint32_t process = bpf_get_current_pid_tgid() >> 32, id;
	struct unwind_of *of = bpf_map_lookup_elem(&unwind_of, &process);

	rows->table = NULL;
	rows->rules = rules;
	if (!rules)
		return;
	rules->mapping.start = rules->mapping.end = 0;
	rules->bare = 0;
	if (!of || of->since < image)
		return;
	id = of->table;
	rules->table = id;
	rows->table = bpf_map_lookup_elem(&unwind_tables, &id);
}

/* Global, for the same reason as walk_rows_number(). */
__noinline uint32_t walk_rows_mapping_number(const struct unwind_table *table, uint64_t ip)
{
	return table ? unwind_find_mapping(table, ip) : UNWIND_MAPPINGS;
}

static __always_inline int walk_rows_mapping(const struct walk_rows *rows, uint64_t ip)
{
	const struct unwind_table *table = rows->table;
	struct unwind_mapping *mapping;
	uint32_t id, at;

	if (!table || !rows->rules)
		return 0;
	mapping = &rows->rules->mapping;
	if (ip >= mapping->start && ip < mapping->end)
		return 1;
	id = rows->rules->table;
	UNROLL
	for (int part = 1; part < UNWIND_PARTS; part++) {
		if (!table || ip < table->end)
			break;
		id++;
		table = bpf_map_lookup_elem(&unwind_tables, &id);
	}
	at = table ? walk_rows_mapping_number(table, ip) : UNWIND_MAPPINGS;
	if (!table || at >= UNWIND_MAPPINGS)
		return 0;
	*mapping = table->mappings[at];
	return ip >= mapping->start && ip < mapping->end;
}

/*
 * The number of the rule for byte `low` of a page, 0: none. Global: the verifier checks the search
 * once and not for each way out of it.
 */
__noinline uint32_t walk_rows_number(uint32_t index, uint32_t low)
{
	struct unwind_page *page = bpf_map_lookup_elem(&unwind_pages, &index);
	struct unwind_chunk *chunk;
	uint32_t key, zero = 0;
	void *map;

	if (!page || !page->count)
		return 0;
	key = page->chunk;
	if (key) {
		map = bpf_map_lookup_elem(&unwind_chunks, &key);
		chunk = map ? bpf_map_lookup_elem(map, &zero) : NULL;
	} else {
		chunk = bpf_map_lookup_elem(&unwind_first_chunk, &zero);
	}
	return chunk ? unwind_search(chunk->rows, page->first, page->count, low) : 0;
}

static __always_inline int walk_rows_find(struct walk_rows *rows, uint64_t ip,
					  struct unwind_rule *out)
{
	const struct unwind_mapping *mapping;
	struct unwind_rule *rule;
	uint64_t place;
	uint32_t key;

	if (!rows->rules || !walk_rows_mapping(rows, ip))
		return 0;
	mapping = &rows->rules->mapping;
	place = ip - mapping->base;
	if (place >> UNWIND_PAGE_SHIFT >= mapping->count)
		return 0;
	key = walk_rows_number(mapping->first + (uint32_t)(place >> UNWIND_PAGE_SHIFT),
			       place & 0xffff);
	rule = key ? bpf_map_lookup_elem(&unwind_rules, &key) : NULL;
	if (!rule) {
		rows->rules->bare = 1;
		return 0;
	}
	*out = *rule;
	return 1;
}

static __always_inline int walk_rule(struct walk_rows *rows, uint64_t ip, struct unwind_rule *out)
{
	uint64_t hash = (ip * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - WALK_RULES_SHIFT);
	struct walk_found *found;

	if (!rows->table || !rows->rules)
		return 0;
	found = &rows->rules->found[hash];
	if (found->ip == ip && found->table == rows->rules->table) {
		*out = found->rule;
		return 1;
	}
	if (!walk_rows_find(rows, ip, out))
		return 0;
	found->ip = ip;
	found->table = rows->rules->table;
	found->rule = *out;
	return 1;
}

#endif
