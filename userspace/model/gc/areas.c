/* SPDX-License-Identifier: BSD-2-Clause */
/* areas.c: the named areas of heaps, such as generations, and what collections did to each. */
#include "cycles.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../../bpf/events.h"
#include "../../util/map.h"
#include "../world/arena.h"
#include "../world/world.h"

struct area_key {
	uint64_t process, name;
};

int areas_init(struct areas *areas)
{
	areas->index = map_create(sizeof(struct area_key));
	return areas->index ? 0 : -ENOMEM;
}

void areas_free(struct areas *areas)
{
	map_free(areas->index);
	free(areas->rows);
}

void areas_pause(struct areas *areas, const struct event *event, uint64_t process)
{
	const struct record_gc_end *record = &event->record->gc_end;

	areas->owner = (struct areas_owner){.process = process,
					    .heap = record->heap,
					    .cycle = record->cycle,
					    .selected = event->selected,
					    .closed = event->closed};
}

void areas_cycle(struct areas *areas, const struct event *event, uint64_t gc_cycle)
{
	const struct record_gc_cycle *record = &event->record->gc_cycle;

	areas->owner = (struct areas_owner){.process = record->process,
					    .heap = record->heap,
					    .cycle = record->cycle,
					    .concurrent = true,
					    .selected = event->selected,
					    .gc_cycle = event->selected ? gc_cycle : 0};
}

static struct model_heap_area *row_of(struct areas *areas, const struct record_heap_area *record)
{
	const struct area_key key = {record->process, record->name};
	bool added;
	uint64_t *index = map_put(areas->index, &key, &added);

	if (!index ||
	    array_reserve(&areas->rows, &areas->capacity, areas->count, sizeof(*areas->rows)) < 0)
		return NULL;
	if (added) {
		*index = areas->count++;
		areas->rows[*index] = (struct model_heap_area){
			.process = record->process,
			.number = *index,
			.name_number = record->name,
			.in_heap = !(record->flags & HEAP_AREA_BESIDE),
		};
	}
	return &areas->rows[*index];
}

/* While a cycle runs, the program allocates: its difference is not what it freed. */
static void add(struct model_heap_area *row, const struct record_heap_area *record)
{
	bool before = record->flags & HEAP_AREA_BEFORE, after = record->flags & HEAP_AREA_AFTER;

	row->collections++;
	row->used_bytes = after ? record->after : record->before;
	row->committed_bytes = record->size;
	row->max_bytes = record->limit;
	if (before)
		raise_to(&row->peak_bytes, record->before);
	if (after)
		raise_to(&row->peak_bytes, record->after);
	if (!before || !after || record->flags & HEAP_AREA_CYCLE)
		return;
	row->pauses = true;
	if (record->before > record->after)
		row->left_bytes += record->before - record->after;
	else
		row->came_bytes += record->after - record->before;
}

int areas_record(struct areas *areas, struct world *world, struct event *event)
{
	const struct record_heap_area *record = &event->record->heap_area;
	const struct areas_owner *owner = &areas->owner;
	bool owned = owner->process == record->process && owner->heap == record->heap &&
		     owner->cycle == record->cycle &&
		     owner->concurrent == !!(record->flags & HEAP_AREA_CYCLE);
	struct model_heap_area *row;

	if (!tasks_find_process(&world->tasks, record->process))
		return -EBADMSG;
	if (owned) {
		event->closed = owner->closed;
		event->gc_cycle = owner->gc_cycle;
	}
	event->selected = owned ? owner->selected : !world->filtered;
	if (!event->selected)
		return 0;
	row = row_of(areas, record);
	if (!row)
		return -ENOMEM;
	add(row, record);
	return 0;
}

static int in_order(const void *a, const void *b)
{
	const struct model_heap_area *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->in_heap != y->in_heap)
		return x->in_heap ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

int areas_finish(struct areas *areas, struct world *world)
{
	struct model *model = world->model;
	size_t size = areas->count * sizeof(*areas->rows);

	for (size_t i = 0; i < areas->count; i++) {
		struct model_heap_area *row = &areas->rows[i];

		row->pid = tasks_find_process(&world->tasks, row->process)->pid;
		row->name = gc_names_text(&world->gc_names, row->process, row->name_number);
	}
	model->heap_areas = arena_alloc(model->arena, size + 1);
	if (!model->heap_areas)
		return -ENOMEM;
	if (size)
		memcpy(model->heap_areas, areas->rows, size);
	model->n_heap_areas = areas->count;
	qsort(model->heap_areas, areas->count, sizeof(*model->heap_areas), in_order);
	return 0;
}
