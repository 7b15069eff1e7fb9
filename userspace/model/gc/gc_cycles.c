/* SPDX-License-Identifier: BSD-2-Clause */
/* gc_cycles.c: the cycles of concurrent collectors, and the pauses in each. */
#include "gc_cycles.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../../gc/provider/probe_args.h"
#include "../world/arena.h"
#include "../world/world.h"
#include "cycles.h"

void gc_cycles_free(struct gc_cycles *cycles)
{
	durations_free(&cycles->durations);
	free(cycles->rows);
}

static void note_heap(struct world *world, const struct record_gc_cycle *record)
{
	struct window *window = timeline_at(&world->timeline, record->time);

	raise_to(&world->model->gc.heap_peak_bytes, record->heap_before);
	raise_to(&world->model->gc.heap_peak_bytes, record->heap_after);
	if (record->heap_after)
		window->heap_bytes = record->heap_after;
	if (record->live)
		window->live_bytes = record->live;
}

int gc_cycles_record(struct gc_cycles *cycles, struct world *world, const struct event *event)
{
	const struct record_gc_cycle *record = &event->record->gc_cycle;
	const struct process *process = tasks_find_process(&world->tasks, record->process);

	if (!process || record->span > record->time)
		return -EBADMSG;
	if (!event->selected)
		return 0;
	if (array_reserve(&cycles->rows, &cycles->capacity, cycles->count, sizeof(*cycles->rows)) <
		    0 ||
	    (!record->unfinished && durations_add(&cycles->durations, record->span) < 0))
		return -ENOMEM;
	note_heap(world, record);
	world->model->gc.requests += record->reason == GCPROF_REASON_EXPLICIT;
	cycles->rows[cycles->count++] = (struct model_gc_cycle){
		.start = record->time - record->span,
		.duration_ns = record->span,
		.process = record->process,
		.pid = process->pid,
		.heap = record->heap,
		.cycle = record->cycle,
		.name_number = record->name,
		.reason = record->reason,
		.heap_before = record->heap_before,
		.heap_after = record->heap_after,
		.live = record->live,
		.unfinished = record->unfinished != 0,
	};
	return 0;
}

static int by_begin(const void *a, const void *b)
{
	const struct pause *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* Index of the first pause of the process that begins at this time or later. */
static size_t first_from(const struct pause *pauses, size_t count, uint64_t process, uint64_t time)
{
	const struct pause wanted = {process, time, 0};
	size_t low = 0;

	while (low < count) {
		size_t middle = low + (count - low) / 2;

		if (by_begin(&pauses[middle], &wanted) < 0)
			low = middle + 1;
		else
			count = middle;
	}
	return low;
}

/* Prefix sums over the pauses: the total of any range is a difference. */
static uint64_t *sum_pauses(const struct pause *pauses, size_t count)
{
	uint64_t *sums = calloc(count + 1, sizeof(*sums));

	for (size_t i = 0; sums && i < count; i++)
		sums[i + 1] = sums[i] + (pauses[i].end - pauses[i].begin);
	return sums;
}

static int count_pauses(struct gc_cycles *gc_cycles, struct cycles *cycles)
{
	struct pause *pauses = cycles->pauses;
	size_t count = cycles->n_pauses;
	uint64_t *sums;

	if (!count || !gc_cycles->count)
		return 0;
	qsort(pauses, count, sizeof(*pauses), by_begin);
	sums = sum_pauses(pauses, count);
	if (!sums)
		return -ENOMEM;
	for (size_t i = 0; i < gc_cycles->count; i++) {
		struct model_gc_cycle *row = &gc_cycles->rows[i];
		size_t from = first_from(pauses, count, row->process, row->start);
		size_t to = first_from(pauses, count, row->process, row->start + row->duration_ns);

		row->pauses = to - from;
		row->pause_ns = sums[to] - sums[from];
	}
	free(sums);
	return 0;
}

int gc_cycles_finish(struct gc_cycles *gc_cycles, struct cycles *cycles, struct world *world)
{
	struct model *model = world->model;
	size_t size = gc_cycles->count * sizeof(*gc_cycles->rows);

	if (count_pauses(gc_cycles, cycles) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < gc_cycles->count; i++) {
		struct model_gc_cycle *row = &gc_cycles->rows[i];

		row->name = gc_names_text(&world->gc_names, row->process, row->name_number);
		row->named_reason = gc_names_text(&world->gc_names, row->process, row->reason);
	}
	durations_summarize(&gc_cycles->durations, &model->gc.concurrent);
	model->gc_cycles = arena_alloc(model->arena, size + 1);
	if (!model->gc_cycles)
		return -ENOMEM;
	if (size)
		memcpy(model->gc_cycles, gc_cycles->rows, size);
	model->n_gc_cycles = gc_cycles->count;
	return 0;
}
