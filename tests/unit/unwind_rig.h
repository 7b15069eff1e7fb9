/* SPDX-License-Identifier: BSD-2-Clause */
/* unwind_rig.h: for tests of unwind tables: the kernel's maps, and what its side finds in them. */
#ifndef GCPROF_UNWIND_RIG_H
#define GCPROF_UNWIND_RIG_H

#include <bpf/bpf.h>
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "test.h"
#include "record/kernel/unwind_maps.h"
#include "record/world/files.h"
#include "record/world/processes.h"

#define RIG_CHUNK_BYTES (UNWIND_CHUNK_ROWS * sizeof(unwind_row))

struct rig {
	struct unwind_fds fds;
	struct unwind_maps *maps;
};

static inline int rig_map(enum bpf_map_type type, const char *name, uint32_t size, uint32_t entries,
			  uint32_t flags, int inner)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = flags,
		    .inner_map_fd = (uint32_t)inner);
	int fd = bpf_map_create(type, name, sizeof(uint32_t), size, entries, &options);

	if (fd == -EPERM)
		test_skip("the kernel's maps need root");
	CHECK(fd >= 0);
	return fd;
}

/* Maps as bpf/walk_rows.h has them. */
static inline void rig_open(struct rig *rig)
{
	struct unwind_fds *fds = &rig->fds;

	fds->processes = -1;

	fds->of = rig_map(BPF_MAP_TYPE_HASH, "of", sizeof(struct unwind_of), 1024,
			  BPF_F_NO_PREALLOC, 0);
	fds->tables = rig_map(BPF_MAP_TYPE_HASH, "tables", sizeof(struct unwind_table), 1024,
			      BPF_F_NO_PREALLOC, 0);
	fds->pages = rig_map(BPF_MAP_TYPE_ARRAY, "pages", sizeof(struct unwind_page),
			     UNWIND_PAGES_MAX, 0, 0);
	fds->rules = rig_map(BPF_MAP_TYPE_ARRAY, "rules", sizeof(struct unwind_rule),
			     UNWIND_RULES_MAX, 0, 0);
	fds->first_chunk =
		rig_map(BPF_MAP_TYPE_ARRAY, "first", RIG_CHUNK_BYTES, 1, BPF_F_MMAPABLE, 0);
	fds->chunks = rig_map(BPF_MAP_TYPE_ARRAY_OF_MAPS, "chunks", sizeof(uint32_t),
			      UNWIND_CHUNKS_MAX, 0, fds->first_chunk);
	CHECK_EQ(unwind_maps_create(fds, &rig->maps), 0);
}

static inline void rig_close(struct rig *rig)
{
	unwind_maps_free(rig->maps);
	close(rig->fds.of);
	close(rig->fds.tables);
	close(rig->fds.pages);
	close(rig->fds.rules);
	close(rig->fds.chunks);
	close(rig->fds.first_chunk);
}

/* How many entries a hash map has. */
static inline unsigned rig_count(int fd)
{
	uint32_t key = 0, next;
	unsigned count = 0;

	for (int err = bpf_map_get_next_key(fd, NULL, &next); !err; count++) {
		key = next;
		err = bpf_map_get_next_key(fd, &key, &next);
	}
	return count;
}

/* Has the kernel a chunk with this number? */
static inline bool rig_has_chunk(const struct rig *rig, uint32_t chunk)
{
	uint32_t id;

	return !bpf_map_lookup_elem(rig->fds.chunks, &chunk, &id);
}

/* The number of the rule for a byte of a page, 0: none. */
static inline uint32_t rig_number(const struct rig *rig, uint32_t index, uint32_t low)
{
	int fd = rig->fds.first_chunk;
	struct unwind_page page;
	uint32_t id, number;
	unwind_row *rows;

	CHECK_EQ(bpf_map_lookup_elem(rig->fds.pages, &index, &page), 0);
	if (!page.count)
		return 0;
	if (page.chunk) {
		CHECK_EQ(bpf_map_lookup_elem(rig->fds.chunks, &page.chunk, &id), 0);
		fd = bpf_map_get_fd_by_id(id);
	}
	rows = mmap(NULL, RIG_CHUNK_BYTES, PROT_READ, MAP_SHARED, fd, 0);
	CHECK(rows != MAP_FAILED);
	number = unwind_search(rows, page.first, page.count, low);
	munmap(rows, RIG_CHUNK_BYTES);
	if (page.chunk)
		close(fd);
	return number;
}

/* The rule for a place that is so far behind the begin of the first page. */
static inline struct unwind_rule rig_rule_at(const struct rig *rig, uint32_t first, uint64_t place)
{
	struct unwind_rule rule = {0};
	uint32_t number = rig_number(rig, first + (uint32_t)(place >> UNWIND_PAGE_SHIFT),
				     (uint32_t)place & 0xffff);

	CHECK(number < UNWIND_RULES_MAX);
	if (number)
		CHECK_EQ(bpf_map_lookup_elem(rig->fds.rules, &number, &rule), 0);
	return rule;
}

/* Which table a process has, the first if there are several; 0: it has none. */
static inline uint32_t rig_table(const struct rig *rig, uint32_t pid, struct unwind_table *table)
{
	struct unwind_of of;

	if (bpf_map_lookup_elem(rig->fds.of, &pid, &of) ||
	    bpf_map_lookup_elem(rig->fds.tables, &of.table, table))
		return 0;
	return of.table;
}

/* The rule that a process has for an instruction. */
static inline struct unwind_rule rig_rule(const struct rig *rig, uint32_t pid, uint64_t ip)
{
	static struct unwind_table table;
	struct unwind_rule none = {0};
	const struct unwind_mapping *mapping;
	uint32_t part = rig_table(rig, pid, &table);
	uint64_t place;

	while (part && ip >= table.end) {
		part++;
		CHECK_EQ(bpf_map_lookup_elem(rig->fds.tables, &part, &table), 0);
	}
	if (!part || !table.count)
		return none;
	mapping = &table.mappings[unwind_find_mapping(&table, ip)];
	if (ip < mapping->start || ip >= mapping->end)
		return none;
	place = ip - mapping->base;
	if (place >> UNWIND_PAGE_SHIFT >= mapping->count)
		return none;
	return rig_rule_at(rig, mapping->first, place);
}

static inline bool rig_same(struct unwind_rule left, struct unwind_rule right)
{
	return !memcmp(&left, &right, sizeof(left));
}

/* What files and processes there are. */
struct rig_known {
	struct opener *opener;
	struct files *files;
	struct processes *processes;
};

static inline void rig_know(struct rig_known *known)
{
	CHECK_EQ(opener_create(false, &known->opener), 0);
	CHECK_EQ(files_create(known->opener, &known->files), 0);
	CHECK_EQ(processes_create(NULL, &known->processes), 0);
}

static inline void rig_forget(struct rig_known *known)
{
	processes_free(known->processes);
	files_free(known->files);
	opener_free(known->opener);
}

#endif
