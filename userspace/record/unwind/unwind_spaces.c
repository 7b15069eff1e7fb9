// SPDX-License-Identifier: BSD-2-Clause
/* unwind_spaces.c: what is mapped in each process, as tables for the kernel side. */
/*
 * A forked process has its parent's table until one of them maps something or
 * runs another program. The kernel side makes a child's entry itself, at once,
 * so a table must not change while others may have it; it keeps what it found in
 * a table, too. So a table never changes: the process that does gets a new one.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "unwind_spaces.h"
#include "../../util/map.h"

struct region {
	uint64_t start, end;
	uint64_t base; /* see struct unwind_mapping */
	uint64_t time; /* when it was mapped */
	struct unwind_module *module;
};

struct space {
	uint32_t pid;
	uint32_t table; /* 0: none yet */
	uint64_t since; /* when the program was executed */
	bool changed;   /* regions are not those of the table */
	bool untold;    /* the kernel side does not know which table it has */
	uint32_t count;
	struct region regions[UNWIND_MAPPINGS]; /* by address, none overlaps another */
};

struct unwind_spaces {
	struct unwind_maps *maps;
	struct unwind_modules *modules;
	struct map *by_pid; /* to struct space * */
	struct map *tables; /* id to the number of spaces that have it */
	uint32_t last_table;
	uint64_t refused;
	struct unwind_table table; /* that is being written */
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
	spaces->tables = map_create(sizeof(uint32_t));
	if (!spaces->by_pid || !spaces->tables) {
		unwind_spaces_free(spaces);
		return -ENOMEM;
	}
	*out = spaces;
	return 0;
}

void unwind_spaces_free(struct unwind_spaces *spaces)
{
	if (!spaces)
		return;
	map_free_all(spaces->by_pid, free);
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
	memset(table, 0, sizeof(*table));
	for (uint32_t i = 0; i < space->count; i++) {
		const struct region *region = &space->regions[i];

		if (!region->module || !region->module->count)
			continue;
		table->mappings[table->count++] = (struct unwind_mapping){
			.start = region->start,
			.end = region->end,
			.base = region->base,
			.first = region->module->first,
			.count = region->module->count,
		};
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
	space->changed = space->untold = false;
	spaces->refused += err != 0;
}

void unwind_spaces_publish(struct unwind_spaces *spaces)
{
	size_t cursor = 0;
	const void *key;
	uint64_t *value;

	while (map_next(spaces->by_pid, &cursor, &key, &value)) {
		struct space *space = (struct space *)(uintptr_t)*value;

		if (space->changed || space->untold)
			publish(spaces, space);
	}
}

uint64_t unwind_spaces_refused(const struct unwind_spaces *spaces)
{
	return spaces->refused;
}

/* --- regions ------------------------------------------------------------------------ */

static void region_release(const struct region *region, uint64_t now)
{
	if (region->module)
		unwind_module_release(region->module, now);
}

/* Takes out what a new region covers; one that sticks out above is lost above. */
static void regions_cut(struct space *space, const struct region *by)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < space->count; i++) {
		struct region region = space->regions[i];

		if (region.start < by->end && region.end > by->start) {
			if (region.start < by->start)
				region.end = by->start;
			else if (region.end > by->end)
				region.start = by->end;
			else
				region.end = region.start;
		}
		if (region.start < region.end)
			space->regions[kept++] = region;
		else
			region_release(&region, by->time);
	}
	space->count = kept;
}

static bool region_put(struct space *space, const struct region *region)
{
	uint32_t at = space->count;

	if (at == UNWIND_MAPPINGS)
		return false;
	for (; at && space->regions[at - 1].start > region->start; at--)
		space->regions[at] = space->regions[at - 1];
	space->regions[at] = *region;
	space->count++;
	unwind_module_hold(region->module);
	return true;
}

int unwind_spaces_map(struct unwind_spaces *spaces, uint64_t time, uint32_t pid, uint64_t offset,
		      const struct module_place *place)
{
	struct space *space = get(spaces, pid);
	struct region region = {.start = place->start, .end = place->end, .time = time};

	if (!space)
		return -ENOMEM;
	/* What was mapped before the program was executed belongs to the one before. */
	if (time < space->since || region.start >= region.end)
		return 0;
	regions_cut(space, &region);
	space->changed = true;
	region.module = unwind_modules_find(spaces->modules, place);
	if (!region.module || !region.module->count)
		return 0;
	/* The kernel's page is reported with an offset that is none of its image. */
	if (unwind_locate(region.module->segments, region.module->n_segments, region.start,
			  place->inode ? offset : 0, region.module->base, &region.base) &&
	    !region_put(space, &region))
		spaces->refused++;
	return 0;
}

int unwind_spaces_exec(struct unwind_spaces *spaces, uint64_t time, uint32_t pid)
{
	struct space *space = get(spaces, pid);
	uint32_t kept = 0;

	if (!space)
		return -ENOMEM;
	for (uint32_t i = 0; i < space->count; i++) {
		if (space->regions[i].time >= time)
			space->regions[kept++] = space->regions[i];
		else
			region_release(&space->regions[i], time);
	}
	space->count = kept;
	space->since = time;
	space->changed = space->untold = true;
	return 0;
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
	space->untold = true;
	table_count(spaces, space->table, 1);
	for (uint32_t i = 0; i < space->count; i++)
		unwind_module_hold(space->regions[i].module);
	return 0;
}

void unwind_spaces_exit(struct unwind_spaces *spaces, uint64_t time, uint32_t pid)
{
	struct space *space = find(spaces, pid);

	if (!space || space->since > time)
		return;
	unwind_maps_drop_process(spaces->maps, pid);
	table_count(spaces, space->table, -1);
	for (uint32_t i = 0; i < space->count; i++)
		region_release(&space->regions[i], time);
	map_remove(spaces->by_pid, &pid);
	free(space);
}
