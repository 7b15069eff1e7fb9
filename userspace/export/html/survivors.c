/* SPDX-License-Identifier: BSD-2-Clause */
/* survivors.c: how many collections the sampled objects survived. */
#include "html.h"

#include <errno.h>
#include <stdlib.h>

#include "../../../bpf/events.h"
#include "../../model/world/world.h"
#include "../../util/id_map.h"

const uint32_t survivor_classes[SURVIVOR_CLASSES] = {1, 2, 3, 4, 8, 16, 32, 64};

struct survivor {
	uint64_t time, stack;
	double bytes;
	uint64_t begun;   /* minor collections of the process, when the outcome was known */
	uint32_t summary; /* number of the first summary afterwards */
	uint32_t process; /* 0: free */
	uint32_t type;
	uint32_t survived; /* collections; 0: no outcome yet */
	uint32_t next;
	bool foreign; /* not in a heap with minor collections */
};

struct survived_process {
	uint64_t heap;    /* of its minor collections */
	uint64_t begun;   /* minor collections with a record */
	uint64_t *summed; /* minor collections in summaries, up to and with each one */
	size_t n_summed, capacity;
	bool collects, several_heaps;
};

int survivors_init(struct survivors *survivors,
		   int (*take)(void *, const struct world *, const struct survived_object *),
		   void *context)
{
	survivors->take = take;
	survivors->context = context;
	survivors->count = 1;
	survivors->index = id_map_create();
	return survivors->index ? 0 : -ENOMEM;
}

void survivors_free(struct survivors *survivors)
{
	id_map_free(survivors->index);
	free(survivors->items);
	for (size_t i = 0; i < survivors->n_processes; i++)
		free(survivors->processes[i].summed);
	free(survivors->processes);
}

/* NULL: no memory. */
static struct survived_process *process_of(struct survivors *survivors, uint64_t id)
{
	if (array_reserve(&survivors->processes, &survivors->n_processes, id,
			  sizeof(*survivors->processes)) < 0)
		return NULL;
	return &survivors->processes[id];
}

static int add(struct survivors *survivors, const struct world *world, const struct event *event)
{
	const struct record_alloc *alloc = &event->record->alloc;
	uint64_t process = tasks_find_thread(&world->tasks, alloc->thread)->process;
	uint32_t number = survivors->free, *place;

	/* Objects that the program frees are not part of any collection. */
	if (!event->selected || alloc->kind == GCPROF_SAMPLE_MANUAL)
		return 0;
	if (number)
		survivors->free = survivors->items[number].next;
	else if (survivors->count >= UINT32_MAX ||
		 array_reserve(&survivors->items, &survivors->capacity, survivors->count,
			       sizeof(*survivors->items)) < 0)
		return -ENOMEM;
	else
		number = (uint32_t)survivors->count++;
	survivors->items[number] = (struct survivor){
		.time = alloc->time,
		.stack = alloc->stack,
		.bytes = (double)alloc->size / sample_probability(alloc->size, alloc->period),
		.process = (uint32_t)process,
		.type = (uint32_t)event->type,
		.foreign = alloc->kind == GCPROF_SAMPLE_FOREIGN,
	};
	place = id_map_put(survivors->index, process, alloc->sample);
	if (!place)
		return -ENOMEM;
	*place = number;
	return 0;
}

/* Passes on an object that survived so many collections. */
static int pass(const struct survivors *survivors, const struct world *world,
		const struct survivor *item, uint64_t collections)
{
	struct survived_object object = {item->time, item->stack, item->type, item->bytes, 0};

	if (!item->survived)
		return 0;
	while (object.class + 1 < SURVIVOR_CLASSES &&
	       survivor_classes[object.class + 1] <= collections)
		object.class ++;
	return survivors->take(survivors->context, world, &object);
}

static int settle(struct survivors *survivors, const struct world *world,
		  const struct record_fate *fate)
{
	uint32_t number = id_map_get(survivors->index, fate->process, fate->sample);
	bool lives = fate->outcome == GCPROF_PROMOTED || fate->outcome == GCPROF_PINNED ||
		     fate->outcome == GCPROF_COPIED;
	/* A process that has no object may have any number. */
	struct survived_process *process = number ? process_of(survivors, fate->process) : NULL;
	struct survivor *item = &survivors->items[number];
	uint64_t collections = fate->collections;
	int err;

	if (!process)
		return number ? -ENOMEM : 0;
	if (lives) {
		collections = collections < UINT32_MAX ? collections : UINT32_MAX;
		item->survived = collections ? (uint32_t)collections : 1;
		item->begun = process->begun;
		item->summary = (uint32_t)process->n_summed;
		return 0;
	}
	err = pass(survivors, world, item,
		   collections > item->survived ? collections : item->survived);
	id_map_remove(survivors->index, fate->process, fate->sample);
	*item = (struct survivor){.next = survivors->free};
	survivors->free = number;
	return err;
}

static int note_minor(struct survivors *survivors, const struct world *world, uint64_t thread,
		      uint64_t heap, uint64_t begun, uint64_t summed)
{
	const struct thread *collector = tasks_find_thread(&world->tasks, thread);
	struct survived_process *process = collector ? process_of(survivors, collector->process)
						     : NULL;

	if (!process)
		return collector ? -ENOMEM : 0;
	process->several_heaps |= process->collects && process->heap != heap;
	process->collects = true;
	process->heap = heap;
	process->begun += begun;
	if (!summed)
		return 0;
	if (array_reserve(&process->summed, &process->capacity, process->n_summed,
			  sizeof(*process->summed)) < 0)
		return -ENOMEM;
	process->summed[process->n_summed] =
		summed + (process->n_summed ? process->summed[process->n_summed - 1] : 0);
	process->n_summed++;
	return 0;
}

int survivors_record(struct survivors *survivors, const struct world *world,
		     const struct event *event)
{
	const struct record_gc_begin *begin = &event->record->gc_begin;
	const struct record_gc_summary *summary = &event->record->gc_summary;

	switch (event->record->kind) {
	case RECORD_alloc:
		return add(survivors, world, event);
	case RECORD_fate:
		return settle(survivors, world, &event->record->fate);
	case RECORD_gc_begin:
		if (begin->kind != GCPROF_GC_MINOR)
			return 0;
		return note_minor(survivors, world, begin->thread, begin->heap, 1, 0);
	case RECORD_gc_summary:
		if (summary->kind != GCPROF_GC_MINOR)
			return 0;
		return note_minor(survivors, world, summary->thread, summary->heap, 0,
				  summary->count);
	default:
		return 0;
	}
}

/*
 * Minor collections since the object's outcome. The summary that comes next contains the one that
 * found it out, so it is left out.
 */
static uint64_t minors_since(const struct survived_process *process, const struct survivor *item)
{
	uint64_t all = process->begun - item->begun;

	if (item->foreign || process->several_heaps)
		return 0;
	if (item->summary < process->n_summed)
		all += process->summed[process->n_summed - 1] - process->summed[item->summary];
	return all;
}

int survivors_finish(struct survivors *survivors, const struct world *world)
{
	int err = 0;

	for (size_t i = 1; i < survivors->count && !err; i++) {
		const struct survivor *item = &survivors->items[i];

		if (item->process && item->survived)
			err = pass(
				survivors, world, item,
				item->survived +
					minors_since(&survivors->processes[item->process], item));
	}
	return err;
}
