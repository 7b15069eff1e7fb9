/* SPDX-License-Identifier: BSD-2-Clause */
/* marks.c: rare events that become markers: phases, losses, periods, sums of collections, pauses.
 */
#include "firefox.h"

#include <errno.h>

#include "../../../gc/provider/probe_args.h"
#include "../../util/map.h"

enum { MARKS_MAX = 200000 };

int firefox_add_mark(struct firefox *firefox, const struct mark *mark)
{
	if (firefox->n_marks > MARKS_MAX) {
		firefox->marks_dropped++;
		return 0;
	}
	if (array_reserve(&firefox->marks, &firefox->marks_capacity, firefox->n_marks,
			  sizeof(*mark)) < 0)
		return -ENOMEM;
	firefox->marks[firefox->n_marks++] = *mark;
	return 0;
}

/* A phase lasts until the next one begins. */
static int take_phase(struct firefox *firefox, const struct world *world,
		      const struct record_phase *record)
{
	struct pair_key key = {firefox_process_of(world, record->thread), record->heap};
	uint64_t *number = map_put(firefox->heaps, &key, NULL);
	struct ff_heap *heap;
	int error = 0;

	if (!number || array_reserve(&firefox->heap_items, &firefox->heaps_capacity,
				     firefox->n_heaps, sizeof(*heap)) < 0)
		return -ENOMEM;
	if (!*number)
		*number = firefox->n_heaps++;
	heap = &firefox->heap_items[*number];
	if (heap->phase > GCPROF_PHASE_SCANNING) {
		struct mark mark = {.kind = MARK_PHASE,
				    .thread = heap->thread,
				    .start = heap->since,
				    .end = record->time,
				    .values = {heap->phase, record->heap}};

		error = firefox_add_mark(firefox, &mark);
	}
	*heap = (struct ff_heap){record->phase, record->time, record->thread};
	return error;
}

/* Short collections that the recording has as a sum. */
static int take_gc_summary(struct firefox *firefox, const struct world *world,
			   const struct record_gc_summary *record)
{
	bool known = tasks_find_thread(&world->tasks, record->thread);
	struct mark mark = {.kind = MARK_SUMS,
			    .thread = known ? record->thread : 0,
			    .start = record->time > record->span ? record->time - record->span : 0,
			    .end = record->time,
			    .values = {record->kind, record->count, record->total_ns,
				       record->max_ns, record->promoted_bytes}};

	return record->kind == GCPROF_GC_STOPS ? 0 : firefox_add_mark(firefox, &mark);
}

static int take_loss(struct firefox *firefox, const struct world *world,
		     const struct record_loss *record)
{
	struct mark mark = {
		.kind = MARK_LOSS,
		.start = record->time,
		.end = record->time,
		.values = {record->kind, record->count, world->streams.losses[record->kind].count}};

	return firefox_add_mark(firefox, &mark);
}

static int take_period(struct firefox *firefox, const struct world *world,
		       const struct record_period *record)
{
	bool known = tasks_find_thread(&world->tasks, record->thread);
	struct mark mark = {.kind = MARK_PERIOD,
			    .thread = known ? record->thread : 0,
			    .start = record->time,
			    .end = record->time,
			    .values = {record->old_period, record->new_period, record->reason}};

	return firefox_add_mark(firefox, &mark);
}

int firefox_mark_record(struct firefox *firefox, const struct world *world,
			const struct record *record)
{
	switch (record->kind) {
	case RECORD_phase:
		return take_phase(firefox, world, &record->phase);
	case RECORD_loss:
		return take_loss(firefox, world, &record->loss);
	case RECORD_period:
		return take_period(firefox, world, &record->period);
	case RECORD_gc_summary:
		return take_gc_summary(firefox, world, &record->gc_summary);
	default:
		return 0;
	}
}

int firefox_mark_pauses(struct firefox *firefox)
{
	const struct model_run *run = &firefox->world->model->run;
	int err = 0;

	for (size_t i = 0; run->paused_ns && i < run->n_paused && !err; i++) {
		struct mark mark = {.kind = MARK_PAUSED,
				    .start = run->paused[i].begin,
				    .end = run->paused[i].end};

		err = firefox_add_mark(firefox, &mark);
	}
	return err;
}
