// SPDX-License-Identifier: BSD-2-Clause
/* unwind_spaces.c: what is mapped in each process, as tables for the kernel side. */
/*
 * A forked process has its parent's table until one of them maps something or
 * runs another program. The kernel side makes a child's entry itself, at once,
 * so a table must not change while others may have it; it keeps what it found in
 * a table, too. So a table never changes: the process that does gets a new one.
 *
 * Mappings are those of world/mappings.h, of files with rows only: `module` is a struct
 * unwind_module, held as long as the mapping is there, and `offset` is counted from the base
 * (struct unwind_mapping).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "unwind_spaces.h"
#include "../world/mappings.h"
#include "../../util/map.h"

struct space {
	uint32_t pid;
	uint32_t table; /* 0: none yet */
	uint64_t since; /* when the program was executed */
	bool changed;   /* mappings are not those of the table */
	bool unsent;    /* the kernel side does not know which table it has */
	struct mappings *mappings;
};

struct unwind_spaces {
	struct unwind_maps *maps;
	struct unwind_modules *modules;
	struct map *by_pid; /* to struct space * */
	struct map *tables; /* id to the number of spaces that have it */
	uint32_t last_table;
	struct mappings_pool pool;
	uint64_t now; /* of what is being done */
	uint64_t refused;
	struct unwind_table table; /* that is being written */
};

static void hold(void *context, uint64_t module)
{
	(void)context;
	unwind_module_hold((struct unwind_module *)(uintptr_t)module);
}

static void release(void *context, uint64_t module)
{
	const struct unwind_spaces *spaces = context;

	unwind_module_release((struct unwind_module *)(uintptr_t)module, spaces->now);
}

int unwind_spaces_create(struct unwind_maps *maps, struct unwind_modules *modules,
			 struct unwind_spaces **out)
{
	struct unwind_spaces *spaces = calloc(1, sizeof(*spaces));

	if (!spaces)
		return -ENOMEM;
	spaces->maps = maps;
	spaces->modules = modules;
	spaces->pool = (struct mappings_pool){.hold = hold, .release = release, .context = spaces};
	spaces->by_pid = map_create(sizeof(uint32_t));
	spaces->tables = map_create(sizeof(uint32_t));
	if (!spaces->by_pid || !spaces->tables) {
		unwind_spaces_free(spaces);
		return -ENOMEM;
	}
	*out = spaces;
	return 0;
}

static void space_free(void *space)
{
	mappings_release(((struct space *)space)->mappings);
	free(space);
}

void unwind_spaces_free(struct unwind_spaces *spaces)
{
	if (!spaces)
		return;
	map_free_all(spaces->by_pid, space_free);
	map_free(spaces->tables);
	free(spaces);
}

static struct space *find(const struct unwind_spaces *spaces, uint32_t pid)
{
	const uint64_t *slot = map_get(spaces->by_pid, &pid);

	return slot ? (struct space *)(uintptr_t)*slot : NULL;
}

static struct space *get(struct unwind_spaces *spaces, uint32_t pid)
{
	uint64_t *slot = map_put(spaces->by_pid, &pid, NULL);
	struct space *space;

	if (slot && !*slot) {
		space = calloc(1, sizeof(*space));
		if (space)
			space->pid = pid;
		*slot = (uintptr_t)space;
	}
	if (slot && !*slot)
		map_remove(spaces->by_pid, &pid);
	else if (slot)
		return (struct space *)(uintptr_t)*slot;
	return NULL;
}

/* --- tables ------------------------------------------------------------------------- */

/* One space more or less has a table; the last one takes it along. */
static void table_count(struct unwind_spaces *spaces, uint32_t id, int change)
{
	uint64_t *count = id ? map_put(spaces->tables, &id, NULL) : NULL;

	if (!count)
		return;
	*count += (uint64_t)change;
	if (*count)
		return;
	map_remove(spaces->tables, &id);
	unwind_maps_drop_table(spaces->maps, id);
}

static void table_fill(struct unwind_table *table, const struct space *space)
{
	size_t n;
	const struct mapping *all = mappings_all(space->mappings, &n);

	memset(table, 0, sizeof(*table));
	for (; table->count < n && table->count < UNWIND_MAPPINGS; table->count++) {
		const struct mapping *mapping = &all[table->count];
		const struct unwind_module *module =
			(const struct unwind_module *)(uintptr_t)mapping->module;

		table->mappings[table->count] = (struct unwind_mapping){
			.start = mapping->start,
			.end = mapping->end,
			.base = mapping->start - mapping->offset,
			.first = module->first,
			.count = module->count,
		};
		if (module->hotspot) {
			table->hotspot = module->hotspot;
			table->bias = mapping->start - mapping->offset - module->base;
		}
	}
}

static int table_write(struct unwind_spaces *spaces, struct space *space)
{
	space->table = ++spaces->last_table;
	table_count(spaces, space->table, 1);
	table_fill(&spaces->table, space);
	return unwind_maps_put_table(spaces->maps, space->table, &spaces->table);
}

static void publish(struct unwind_spaces *spaces, struct space *space)
{
	struct unwind_of of = {.since = space->since};
	uint32_t old = space->table;
	int err = space->changed ? table_write(spaces, space) : 0;

	of.table = space->table;
	if (!err)
		err = unwind_maps_put_process(spaces->maps, space->pid, &of);
	/* Only now may the old one go. */
	if (space->changed)
		table_count(spaces, old, -1);
	space->changed = space->unsent = false;
	spaces->refused += err != 0;
}

void unwind_spaces_publish(struct unwind_spaces *spaces)
{
	size_t cursor = 0;
	const void *key;
	uint64_t *value;

	while (map_next(spaces->by_pid, &cursor, &key, &value)) {
		struct space *space = (struct space *)(uintptr_t)*value;

		if (space->changed || space->unsent)
			publish(spaces, space);
	}
}

uint64_t unwind_spaces_refused(const struct unwind_spaces *spaces)
{
	return spaces->refused;
}

/* --- mappings ----------------------------------------------------------------------- */

/* The module of a mapping whose place in it is *offset; 0: it has no rows. */
static uint64_t find_module(struct unwind_spaces *spaces, const struct module_place *place,
			    uint64_t *offset)
{
	const struct unwind_module *module = unwind_modules_find(spaces->modules, place);
	uint64_t base;

	/* The kernel's page has an offset that is none of its image. */
	if (!module || !module->count ||
	    !unwind_locate(module->segments, module->n_segments, 0, place->inode ? *offset : 0,
			   module->base, &base))
		return 0;
	*offset = -base;
	return (uintptr_t)module;
}

int unwind_spaces_map(struct unwind_spaces *spaces, uint64_t time, uint32_t pid, uint64_t offset,
		      const struct module_place *place)
{
	struct space *space = get(spaces, pid);
	struct mapping mapping = {
		.start = place->start, .end = place->end, .offset = offset, .time = time};
	size_t count;
	int err = 0;

	if (!space)
		return -ENOMEM;
	/* What was mapped before the program was executed belongs to the one before. */
	if (time < space->since || mapping.start >= mapping.end)
		return 0;
	spaces->now = time;
	space->changed = true;
	mapping.module = find_module(spaces, place, &mapping.offset);
	mappings_all(space->mappings, &count);
	if (mapping.module && count >= UNWIND_MAPPINGS) {
		spaces->refused++;
		mapping.module = 0;
	}
	/* Without a module it only covers what was there. */
	if (mapping.module || count)
		err = mappings_add(&space->mappings, &spaces->pool, &mapping);
	return err;
}

int unwind_spaces_exec(struct unwind_spaces *spaces, uint64_t time, uint32_t pid)
{
	struct space *space = get(spaces, pid);

	if (!space)
		return -ENOMEM;
	spaces->now = space->since = time;
	space->changed = space->unsent = true;
	return mappings_forget(&space->mappings, time);
}

int unwind_spaces_fork(struct unwind_spaces *spaces, uint64_t time, uint32_t pid, uint32_t parent)
{
	const struct space *from = find(spaces, parent);
	struct space *space;

	unwind_spaces_exit(spaces, time, pid); /* another one that had this number */
	if (!from)
		return 0;
	space = get(spaces, pid);
	if (!space)
		return -ENOMEM;
	*space = *from;
	space->pid = pid;
	space->unsent = true;
	mappings_share(space->mappings);
	table_count(spaces, space->table, 1);
	return 0;
}

void unwind_spaces_exit(struct unwind_spaces *spaces, uint64_t time, uint32_t pid)
{
	struct space *space = find(spaces, pid);

	if (!space || space->since > time)
		return;
	unwind_maps_drop_process(spaces->maps, pid);
	table_count(spaces, space->table, -1);
	spaces->now = time;
	mappings_release(space->mappings);
	map_remove(spaces->by_pid, &pid);
	free(space);
}
