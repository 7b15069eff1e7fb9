/* SPDX-License-Identifier: BSD-2-Clause */
/* type_table.c: sums over the samples of each type. */
#include "world.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../util/map.h"
#include "../rows.h"
#include "arena.h"
#include "tasks.h"

enum { ANCESTORS_MAX = 64 };

struct type_key {
	uint64_t process, type;
};

void type_table_free(struct types *types)
{
	free(types->items);
	map_free(types->index);
	map_free(types->names);
}

static int64_t new_type(struct types *types, uint64_t process, uint64_t type)
{
	if (types->count >= UINT32_MAX ||
	    array_reserve(&types->items, &types->capacity, types->count, sizeof(*types->items)) < 0)
		return -ENOMEM;
	types->items[types->count].process = (uint32_t)process;
	types->items[types->count].number = type;
	return (int64_t)types->count++;
}

int type_table_init(struct types *types)
{
	memset(types, 0, sizeof(*types));
	types->count = TYPE_UNSELECTED;
	types->index = map_create(sizeof(struct type_key));
	types->names = map_create(MAP_STRING_KEYS);
	if (!types->index || !types->names || new_type(types, 0, 0) < 0)
		return -ENOMEM;
	return 0;
}

static uint32_t *cache_place(struct types *types, uint64_t process, uint64_t type)
{
	return &types->cache[(process * 61 + type) % TYPE_CACHE];
}

int64_t type_table_number(struct types *types, uint64_t process, uint64_t type)
{
	struct type_key key = {process, type};
	uint32_t *cached = cache_place(types, process, type);
	uint32_t known = *cached;
	uint64_t *number;
	int64_t made;

	/* Process ids are dense (arena.h), so none exceeds 32 bits. */
	if (process > UINT32_MAX)
		return -EBADMSG;
	if (known && types->items[known].process == process && types->items[known].number == type)
		return known;
	number = map_put(types->index, &key, NULL);
	if (!number)
		return -ENOMEM;
	made = *number ? (int64_t)*number : new_type(types, process, type);
	if (made > 0)
		*number = *cached = (uint32_t)made;
	return made;
}

int type_table_name(struct types *types, const struct record_type *record, const char *name)
{
	struct type_key key = {record->process, record->type};
	int64_t number = type_table_number(types, record->process, record->type);

	if (number < 0)
		return (int)number;
	if (types->items[number].name && name && strcmp(types->items[number].name, name) != 0) {
		number = new_type(types, record->process, record->type);
		if (number < 0)
			return (int)number;
		*map_get(types->index, &key) = (uint64_t)number;
		*cache_place(types, record->process, record->type) = (uint32_t)number;
	}
	if (name && !types->items[number].name)
		types->items[number].first = 0;
	if (name)
		types->items[number].name = name;
	types->items[number].plain |= record->plain;
	return 0;
}

/* A forked child keeps its parent's types. NULL: none has a name. */
static const char *known_name(const struct types *types, const struct tasks *tasks,
			      const struct type *type)
{
	const struct process *process = tasks_find_process(tasks, type->process);

	if (type->name && *type->name)
		return type->name;
	for (int i = 0; process && process->parent && i < ANCESTORS_MAX; i++) {
		struct type_key key = {process->parent, type->number};
		const uint64_t *number = map_get(types->index, &key);

		if (number && types->items[*number].name && *types->items[*number].name)
			return types->items[*number].name;
		process = tasks_find_process(tasks, process->parent);
	}
	return NULL;
}

int64_t type_table_first(struct types *types, const struct tasks *tasks, uint32_t type)
{
	struct type *item = &types->items[type];
	const char *name;
	uint64_t *first;

	if (item->first)
		return item->first;
	item->first = type;
	name = known_name(types, tasks, item);
	if (!name)
		return type;
	first = map_put_string(types->names, name, strlen(name), NULL);
	if (!first)
		return -ENOMEM;
	if (!*first)
		*first = type;
	item->first = (uint32_t)*first;
	return item->first;
}

static const char *find_name(const struct types *types, const struct tasks *tasks,
			     const struct type *type, struct arena *arena)
{
	const char *known = known_name(types, tasks, type);
	char *name;

	if (known)
		return known;
	if (!type->number)
		return TYPE_UNKNOWN;
	name = arena_alloc(arena, 40);
	if (name)
		runtimes_unnamed("type", type->number, name, 40);
	return name;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct type *)a)->name, ((const struct type *)b)->name);
}

static int by_bytes(const void *a, const void *b)
{
	const struct model_type *x = a, *y = b;

	if (x->bytes.value != y->bytes.value)
		return x->bytes.value < y->bytes.value ? 1 : -1;
	return strcmp(x->name, y->name);
}

static void merge_type(struct type *into, const struct type *from)
{
	into->samples += from->samples;
	into->fates += from->fates;
	tally_merge(&into->bytes, &from->bytes);
	object_tally_merge(&into->objects, &from->objects);
	share_merge(&into->survived, &from->survived);
	life_merge(&into->life, &from->life);
	into->live_bytes += from->live_bytes;
	caused_merge(&into->caused, &from->caused);
}

bool type_table_knows_lives(const struct types *types)
{
	for (size_t i = 1; i < types->count; i++)
		if (life_is_known(&types->items[i].life))
			return true;
	return false;
}

static void add_row(struct model *model, const struct type *type)
{
	struct model_type *row = &model->types[model->n_types++];
	const struct caused_figures figures = caused_figures(
		&type->caused, &model->gc.paces, &type->bytes, type->life.survived.some);

	row->name = type->name;
	row->samples = type->samples;
	row->fates = type->fates;
	row->bytes = tally_estimate(&type->bytes);
	row->objects = object_tally_estimate(&type->objects);
	row->survived = share_estimate(&type->survived);
	row->live_bytes = type->live_bytes > 0 ? type->live_bytes : 0;
	row->gc_ns = figures.charged;
	row->gc_allocating_ns = figures.allocating;
	row->gc_keeping_ns = figures.keeping;
	row->kept_known = model->gc.paces.kept_known;
	row->life = type->life;
	row->life_known = life_is_known(&type->life);
	row->survival_known = type->life.survived.all > 0;
	row->median_age_below_bytes = life_median_age(&type->life);
}

int type_table_finish(struct types *types, const struct tasks *tasks, struct model *model)
{
	struct type *sorted = calloc(types->count, sizeof(*sorted)), *sum = NULL;
	size_t used = 0;

	model->types = calloc(types->count, sizeof(*model->types));
	if (!model->types || !sorted)
		goto no_memory;
	for (size_t i = 1; i < types->count; i++) {
		types->items[i].name = find_name(types, tasks, &types->items[i], model->arena);
		if (!types->items[i].name)
			goto no_memory;
	}
	/* Names without samples are dropped: a program may have thousands of types. */
	for (size_t i = 1; i < types->count; i++)
		if (types->items[i].samples)
			sorted[used++] = types->items[i];
	qsort(sorted, used, sizeof(*sorted), by_name);
	for (size_t i = 0; i < used; i++) {
		if (sum && strcmp(sum->name, sorted[i].name) == 0) {
			merge_type(sum, &sorted[i]);
			continue;
		}
		if (sum)
			add_row(model, sum);
		sum = &sorted[i];
	}
	if (sum)
		add_row(model, sum);
	qsort(model->types, model->n_types, sizeof(*model->types), by_bytes);
	free(sorted);
	return 0;
no_memory:
	free(sorted);
	return -ENOMEM;
}
