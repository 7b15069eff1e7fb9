/* SPDX-License-Identifier: BSD-2-Clause */
/* gc_cycles.c: the cycles of concurrent collectors, and the pauses in each. */
#include "cycles.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../../gc/provider/probe_args.h"
#include "../world/arena.h"
#include "../world/world.h"

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
		.start_ns = record->time - record->span,
		.duration_ns = record->span,
		.process = record->process,
		.pid = process->pid,
		.heap = record->heap,
		.cycle = record->cycle,
		.name_number = record->name,
		.reason = record->reason,
		.heap_before_bytes = record->heap_before,
		.heap_after_bytes = record->heap_after,
		.live_bytes = record->live,
		.unfinished = record->unfinished != 0,
		.growth_percent = record->growth,
		.limit_bytes = record->limit,
	};
	return 0;
}

static int compare(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int by_heap(uint64_t process, uint64_t heap, const struct pause *pause)
{
	int order = compare(process, pause->process);

	return order ? order : compare(heap, pause->heap);
}

static int pauses_by_begin(const void *a, const void *b)
{
	const struct pause *x = a, *y = b;
	int order = by_heap(x->process, x->heap, y);

	return order ? order : compare(x->begin, y->begin);
}

static int cycles_by_start(const void *a, const void *b)
{
	const struct model_gc_cycle *x = *(struct model_gc_cycle *const *)a;
	const struct model_gc_cycle *y = *(struct model_gc_cycle *const *)b;
	int order = compare(x->process, y->process);

	order = order ? order : compare(x->heap, y->heap);
	return order ? order : compare(x->start_ns, y->start_ns);
}

/* Has the cycle begun when the pause ends? Collectors may begin one while the program stands. */
static bool has_begun(const struct model_gc_cycle *cycle, const struct pause *pause)
{
	int order = by_heap(cycle->process, cycle->heap, pause);

	return order ? order < 0 : cycle->start_ns <= pause->begin || cycle->start_ns < pause->end;
}

static bool in_progress(const struct model_gc_cycle *cycle, const struct pause *pause)
{
	return !by_heap(cycle->process, cycle->heap, pause) &&
	       pause->begin < cycle->start_ns + cycle->duration_ns;
}

/*
 * Adds each pause to the cycle of its heap in which it begins, or which begins in it. Of several it
 * is the latest one: a minor cycle that runs during a major one. Both arrays are sorted; `open` has
 * room for all cycles.
 */
static void add_pauses(struct model_gc_cycle **cycles, size_t n_cycles, const struct pause *pauses,
		       size_t n_pauses, struct model_gc_cycle **open)
{
	size_t next = 0, depth = 0;

	for (size_t i = 0; i < n_pauses; i++) {
		while (next < n_cycles && has_begun(cycles[next], &pauses[i]))
			open[depth++] = cycles[next++];
		/* One that is over for this pause is over for all later ones. */
		while (depth && !in_progress(open[depth - 1], &pauses[i]))
			depth--;
		if (!depth)
			continue;
		open[depth - 1]->pauses += pauses[i].count;
		open[depth - 1]->pause_ns += pauses[i].ns;
	}
}

static int count_pauses(struct gc_cycles *gc_cycles, struct cycles *cycles)
{
	size_t count = gc_cycles->count;
	struct model_gc_cycle **order;

	if (!count || !cycles->n_pauses)
		return 0;
	order = calloc(2 * count, sizeof(struct model_gc_cycle *));
	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		order[i] = &gc_cycles->rows[i];
	qsort(order, count, sizeof(*order), cycles_by_start);
	qsort(cycles->pauses, cycles->n_pauses, sizeof(*cycles->pauses), pauses_by_begin);
	add_pauses(order, count, cycles->pauses, cycles->n_pauses, order + count);
	free(order);
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
