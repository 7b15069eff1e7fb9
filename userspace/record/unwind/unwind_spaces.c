// SPDX-License-Identifier: BSD-2-Clause
/* unwind_spaces.c: mapping tables of processes for the kernel side. */
/*
 * A forked process shares its parent's table until one of them maps something or executes a
 * program. The kernel side creates the child's entry itself, at once, and caches rules by table.
 * Tables are therefore immutable: a process whose mappings change gets a new one.
 *
 * The mappings themselves are kept elsewhere (world/ahead.h). Here a table only knows, and holds,
 * the modules that it refers to.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../util/map.h"
#include "unwinder.h"

enum { TABLES_HOLD = UNWIND_PARTS * UNWIND_MAPPINGS };

struct table {
	uint32_t id;     /* of its first part; the others follow */
	uint32_t parts;  /* tables of the kernel side */
	unsigned spaces; /* number of spaces that share it */
	size_t n;
	struct unwind_module *modules[];
};

struct space {
	uint32_t pid;
	struct table *table; /* NULL: none yet */
	uint64_t since;      /* when the program was executed */
	size_t refused;      /* mappings that did not fit */
};

struct unwind_spaces {
	struct unwind_maps *maps;
	struct unwind_modules *modules;
	struct map *by_pid; /* to struct space * */
	uint32_t last_table;
	uint64_t refused;
	struct unwind_table table; /* being written */
};

int unwind_spaces_create(struct unwind_maps *maps, struct unwind_modules *modules,
			 struct unwind_spaces **out)
{
	struct unwind_spaces *spaces = calloc(1, sizeof(*spaces));

	if (!spaces)
		return -ENOMEM;
	spaces->maps = maps;
	spaces->modules = modules;
	spaces->by_pid = map_create(sizeof(uint32_t));
	if (!spaces->by_pid) {
		free(spaces);
		return -ENOMEM;
	}
	*out = spaces;
	return 0;
}

/* Releases the table of a space; the last one frees it. */
static void table_release(struct unwind_spaces *spaces, struct table *table, uint64_t time)
{
	if (!table || --table->spaces)
		return;
	for (uint32_t part = 0; part < table->parts; part++)
		unwind_maps_drop_table(spaces->maps, table->id + part);
	for (size_t i = 0; i < table->n; i++)
		unwind_module_release(table->modules[i], time);
	free(table);
}

void unwind_spaces_free(struct unwind_spaces *spaces)
{
	size_t cursor = 0;
	const void *key;
	uint64_t *value;

	if (!spaces)
		return;
	while (map_next(spaces->by_pid, &cursor, &key, &value))
		table_release(spaces, ((struct space *)(uintptr_t)*value)->table, 0);
	map_free_all(spaces->by_pid, free);
	free(spaces);
}

static struct space *unwind_spaces_find(const struct unwind_spaces *spaces, uint32_t pid)
{
	const uint64_t *slot = map_get(spaces->by_pid, &pid);

	return slot ? (struct space *)(uintptr_t)*slot : NULL;
}

static struct space *unwind_spaces_get(struct unwind_spaces *spaces, uint32_t pid)
{
	struct space *space = unwind_spaces_find(spaces, pid);
	uint64_t *slot;

	if (space)
		return space;
	space = calloc(1, sizeof(*space));
	slot = space ? map_put(spaces->by_pid, &pid, NULL) : NULL;
	if (!slot) {
		free(space);
		return NULL;
	}
	*slot = (uintptr_t)space;
	space->pid = pid;
	return space;
}

uint64_t unwind_spaces_refused(const struct unwind_spaces *spaces)
{
	return spaces->refused;
}

/* --- tables ------------------------------------------------------------------------- */

/*
 * Finds and holds the module of a mapping; sets its `module`, and its `offset` relative to the base
 * (struct unwind_mapping). False: it has no rows.
 */
static bool find_rows(struct unwind_spaces *spaces, struct mapping *mapping)
{
	struct unwind_module *module = unwind_modules_find(spaces->modules, mapping->file);
	/* The offset of the kernel's page does not refer to its image. */
	uint64_t offset = mapping->file == FILE_VDSO ? 0 : mapping->offset, base;

	if (!module || !module->count ||
	    !unwind_locate(module->segments, module->n_segments, 0, offset, module->base, &base))
		return false;
	unwind_module_hold(module);
	mapping->module = (uintptr_t)module;
	mapping->offset = -base;
	return true;
}

static int by_time(const void *left, const void *right)
{
	const struct mapping *a = left, *b = right;

	return a->time < b->time ? -1 : a->time > b->time;
}

static int by_address(const void *left, const void *right)
{
	const struct mapping *a = left, *b = right;

	return a->start < b->start ? -1 : a->start > b->start;
}

/* Keeps mappings with rows, by address; the earliest ones if tables cannot hold all. Returns their
 * number. */
static size_t choose(struct unwind_spaces *spaces, struct space *space, struct mapping *all,
		     size_t n, uint64_t time)
{
	size_t kept = 0, before = space->refused;

	qsort(all, n, sizeof(*all), by_time);
	for (size_t i = 0; i < n; i++)
		if (find_rows(spaces, &all[i]))
			all[kept++] = all[i];
	space->refused = kept > TABLES_HOLD ? kept - TABLES_HOLD : 0;
	if (space->refused > before)
		spaces->refused += space->refused - before;
	while (kept > TABLES_HOLD)
		unwind_module_release((struct unwind_module *)(uintptr_t)all[--kept].module, time);
	qsort(all, kept, sizeof(*all), by_address);
	return kept;
}

static int write_part(struct unwind_spaces *spaces, const struct table *table,
		      const struct mapping *all, uint32_t part)
{
	struct unwind_table *to = &spaces->table;
	size_t from = (size_t)part * UNWIND_MAPPINGS, end = from + UNWIND_MAPPINGS;

	to->end = end < table->n ? all[end].start : UINT64_MAX;
	to->count = (uint32_t)((end < table->n ? end : table->n) - from);
	for (uint32_t i = 0; i < to->count; i++)
		to->mappings[i] = (struct unwind_mapping){
			.start = all[from + i].start,
			.end = all[from + i].end,
			.base = all[from + i].start - all[from + i].offset,
			.first = table->modules[from + i]->first,
			.count = table->modules[from + i]->count,
		};
	return unwind_maps_put_table(spaces->maps, table->id + part, to);
}

static int write_table(struct unwind_spaces *spaces, struct table *table, const struct mapping *all)
{
	int err = 0;

	memset(&spaces->table, 0, sizeof(spaces->table));
	for (size_t i = 0; i < table->n; i++) {
		const struct unwind_module *module = table->modules[i] =
			(struct unwind_module *)(uintptr_t)all[i].module;

		if (module->hotspot) {
			spaces->table.hotspot = module->hotspot;
			spaces->table.bias = all[i].start - all[i].offset - module->base;
		}
	}
	for (uint32_t part = 0; part < table->parts && !err; part++)
		err = write_part(spaces, table, all, part);
	return err;
}

static int put_table(struct unwind_spaces *spaces, const struct space *space)
{
	const struct unwind_of of = {.table = space->table->id, .since = space->since};

	return unwind_maps_put_process(spaces->maps, space->pid, &of);
}

/* --- processes ---------------------------------------------------------------------- */

int unwind_spaces_map(struct unwind_spaces *spaces, uint64_t time, uint32_t pid, uint64_t since,
		      struct mapping *all, size_t n)
{
	size_t most = n < TABLES_HOLD ? n : TABLES_HOLD;
	struct table *table = malloc(sizeof(*table) + most * sizeof(*table->modules)), *old;
	struct space *space = table ? unwind_spaces_get(spaces, pid) : NULL;
	int err;

	if (!space) {
		free(table);
		return -ENOMEM;
	}
	n = choose(spaces, space, all, n, time);
	old = space->table;
	*table = (struct table){.id = spaces->last_table + 1, .spaces = 1, .n = n};
	table->parts = n ? (uint32_t)((n - 1) / UNWIND_MAPPINGS + 1) : 1;
	spaces->last_table += table->parts;
	space->table = table;
	space->since = since;
	err = write_table(spaces, table, all);
	if (!err)
		err = put_table(spaces, space);
	spaces->refused += err != 0;
	/* Only now may the old table be freed. */
	table_release(spaces, old, time);
	return 0;
}

int unwind_spaces_fork(struct unwind_spaces *spaces, uint64_t time, uint32_t pid, uint32_t parent)
{
	const struct space *from = unwind_spaces_find(spaces, parent);
	struct space *space;

	unwind_spaces_exit(spaces, time, pid); /* another process that had this pid */
	if (!from || !from->table || unwind_spaces_find(spaces, pid))
		return 0; /* or has it since */
	space = unwind_spaces_get(spaces, pid);
	if (!space)
		return -ENOMEM;
	*space = *from;
	space->pid = pid;
	space->table->spaces++;
	spaces->refused += put_table(spaces, space) != 0;
	return 0;
}

void unwind_spaces_exit(struct unwind_spaces *spaces, uint64_t time, uint32_t pid)
{
	struct space *space = unwind_spaces_find(spaces, pid);

	if (!space || space->since > time)
		return;
	unwind_maps_drop_process(spaces->maps, pid);
	table_release(spaces, space->table, time);
	map_remove(spaces->by_pid, &pid);
	free(space);
}
