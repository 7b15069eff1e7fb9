/* SPDX-License-Identifier: BSD-2-Clause */
/* gc.c: rows of collections and phases, and the position of events in them. */
#include <errno.h>

#include "../../../bpf/events.h"
#include "sql.h"

struct start_key {
	uint64_t thread, start;
};

struct heap_key {
	uint64_t process, heap;
};

static const char *const kinds[] = {[GCPROF_GC_MINOR] = "minor",
				    [GCPROF_GC_STEP] = "step",
				    [GCPROF_GC_FULL] = "full",
				    [GCPROF_GC_STOP] = "stop"};

static const char *const reasons[] = {
	[GCPROF_REASON_NURSERY] = "nursery",     [GCPROF_REASON_LARGE] = "large",
	[GCPROF_REASON_THRESHOLD] = "threshold", [GCPROF_REASON_EXPLICIT] = "explicit",
	[GCPROF_REASON_PRESSURE] = "pressure",   [GCPROF_REASON_FINISH] = "finish",
};

static const char *const phases[] = {
	[GCPROF_PHASE_SCANNING] = "scanning",
	[GCPROF_PHASE_MARKING] = "marking",
	[GCPROF_PHASE_SWEEPING] = "sweeping",
	[GCPROF_PHASE_FINALIZING] = "finalizing",
};

/* The name of a reason: gcprof's, or the runtime's. */
static const char *reason_of(const struct world *world, uint64_t process, uint64_t reason)
{
	return reason < GC_NAMES_FIRST ? sql_name(reasons, reason)
				       : gc_names_text(&world->gc_names, process, reason);
}

/* The row is stored now, without its end, and again when the end is known. */
int sql_gc_begin(struct sql *sql, const struct world *world, const struct record_gc_begin *record)
{
	struct start_key key = {record->thread, record->time};
	uint64_t process = tasks_find_thread(&world->tasks, record->thread)->process;
	struct sql_process *state = sql_process(sql, process);
	uint64_t *id = map_put(sql->collections, &key, NULL);
	struct row_collections row;

	if (!state || !id)
		return -ENOMEM;
	*id = sql_next(sql, TABLE_collections);
	state->collection = *id;
	state->gc_start = record->time;
	state->gc_finish = 0;
	row = (struct row_collections){
		.id = integer(*id),
		.process = integer(process),
		.thread = integer(record->thread),
		.heap = integer(record->heap),
		.number = integer(record->cycle),
		.cycle = integer(state->minors + 1),
		.kind = text(sql_name(kinds, record->kind)),
		.reason = text(reason_of(world, process, record->reason)),
		.start = integer(record->time),
		.name = text(gc_names_text(&world->gc_names, process, record->name)),
	};
	return database_put(sql->database, TABLE_collections, &row);
}

static void add_figures(struct row_collections *row, const struct record_gc_end *record)
{
	if (record->rss_bytes)
		row->rss_bytes = integer(record->rss_bytes);
	if (!record->batched)
		row->page_faults = integer(record->minor_faults + record->major_faults);
	row->heap_before = reference(record->heap_before);
	row->heap_after = reference(record->heap_after);
	row->heap_size = reference(record->heap_size);
	row->unreachable = reference(record->unreachable);
	if (!record->has_stats)
		return;
	row->phase = text(sql_name(phases, record->phase));
	row->promoted_bytes = integer(record->promoted_bytes);
	row->promoted_objects = integer(record->promoted_objects);
	row->nursery_bytes = integer(record->nursery_used);
	row->allocated_bytes = integer(record->allocated_bytes);
	row->arena_bytes = integer(record->arena_bytes);
	row->large_bytes = integer(record->large_bytes);
	row->live_bytes = integer(record->live_bytes);
	row->freed_bytes = integer(record->freed_bytes);
	row->stop_ns = integer(record->stop_ns);
	row->threads = integer(record->threads);
}

/* The row made at the start; a new one if the start was lost. */
static uint64_t row_of(struct sql *sql, const struct closed_gc *closed)
{
	struct start_key key = {closed->thread, closed->begin};
	const uint64_t *id = closed->paired ? map_get(sql->collections, &key) : NULL;

	return id ? *id : sql_next(sql, TABLE_collections);
}

int sql_gc_end(struct sql *sql, const struct world *world, const struct event *event)
{
	const struct record_gc_end *record = &event->record->gc_end;
	const struct closed_gc *closed = &event->closed;
	uint64_t process = tasks_find_thread(&world->tasks, record->thread)->process;
	struct sql_process *state = sql_process(sql, process);
	struct row_collections row;

	if (!state)
		return -ENOMEM;
	row = (struct row_collections){
		.id = integer(row_of(sql, closed)),
		.process = integer(process),
		.thread = integer(closed->paired ? closed->thread : record->thread),
		.heap = integer(record->heap),
		.number = integer(record->cycle),
		.cycle = integer(state->minors + 1),
		.kind = text(sql_name(kinds, record->kind)),
		.finish = integer(record->time),
	};
	if (closed->paired) {
		row.reason = text(reason_of(world, process, closed->reason));
		row.name = text(gc_names_text(&world->gc_names, process, closed->name));
		row.start = integer(closed->begin);
		row.duration_ns =
			integer(record->time > closed->begin ? record->time - closed->begin : 0);
		row.pause_ns = integer(closed->pause_ns);
	}
	add_figures(&row, record);
	state->minors += record->kind == GCPROF_GC_MINOR;
	if ((uint64_t)row.id.integer == state->collection)
		state->gc_finish = record->time;
	if (!event->selected)
		return 0;
	return database_put(sql->database, TABLE_collections, &row);
}

int sql_heap_area(struct sql *sql, const struct world *world, const struct event *event)
{
	const struct record_heap_area *record = &event->record->heap_area;
	const struct closed_gc *closed = &event->closed;
	const struct start_key key = {closed->thread, closed->begin};
	const uint64_t *collection = closed->paired ? map_get(sql->collections, &key) : NULL;
	const struct row_heap_areas row = {
		.id = integer(sql_next(sql, TABLE_heap_areas)),
		.time = integer(record->time),
		.process = integer(record->process),
		.collection = reference(collection ? *collection : 0),
		.gc_cycle = reference(event->gc_cycle),
		.name = text(gc_names_text(&world->gc_names, record->process, record->name)),
		.in_heap = integer(!(record->flags & HEAP_AREA_BESIDE)),
		.used_before = record->flags & HEAP_AREA_BEFORE ? integer(record->before)
								: nothing(),
		.used_after = record->flags & HEAP_AREA_AFTER ? integer(record->after) : nothing(),
		.committed = integer(record->size),
		.max_bytes = reference(record->limit),
	};

	return database_put(sql->database, TABLE_heap_areas, &row);
}

int sql_gc_summary(struct sql *sql, const struct world *world, const struct event *event)
{
	const struct record_gc_summary *record = &event->record->gc_summary;
	uint64_t process = tasks_find_thread(&world->tasks, record->thread)->process;
	struct sql_process *state = sql_process(sql, process);
	struct row_collection_sums row;

	if (!state)
		return -ENOMEM;
	if (record->kind == GCPROF_GC_STOPS)
		return 0;
	row = (struct row_collection_sums){
		.id = integer(sql_next(sql, TABLE_collection_sums)),
		.process = integer(process),
		.thread = integer(record->thread),
		.heap = integer(record->heap),
		.cycle = integer(state->minors + 1),
		.kind = text(sql_name(kinds, record->kind)),
		.reason = text(reason_of(world, process, record->reason)),
		.start = integer(record->time - record->span),
		.finish = integer(record->time),
		.count = integer(record->count),
		.pause_ns = integer(record->total_ns),
		.max_ns = integer(record->max_ns),
		.promoted_bytes = integer(record->promoted_bytes),
		.promoted_objects = integer(record->promoted_objects),
		.stop_ns = integer(record->stop_ns),
	};
	state->minors += record->kind == GCPROF_GC_MINOR;
	if (!event->selected)
		return 0;
	return database_put(sql->database, TABLE_collection_sums, &row);
}

static int put_phase(struct sql *sql, const struct sql_phase *phase, uint64_t finish)
{
	struct row_phases row = {
		.id = integer(sql_next(sql, TABLE_phases)),
		.process = integer(phase->process),
		.heap = integer(phase->heap),
		.phase = text(sql_name(phases, phase->code)),
		.start = integer(phase->start),
		.finish = reference(finish),
	};

	return database_put(sql->database, TABLE_phases, &row);
}

int sql_phase(struct sql *sql, const struct world *world, const struct record_phase *record)
{
	uint64_t process = tasks_find_thread(&world->tasks, record->thread)->process;
	struct sql_process *state = sql_process(sql, process);
	struct heap_key key = {process, record->heap};
	struct sql_phase *phase;
	bool added;
	uint64_t *index = map_put(sql->phase_index, &key, &added);
	int error = 0;

	if (!state || !index ||
	    array_reserve(&sql->phases, &sql->phases_capacity, sql->n_phases, sizeof(*phase)) < 0)
		return -ENOMEM;
	if (added)
		*index = sql->n_phases++;
	phase = &sql->phases[*index];
	if (!added)
		error = put_phase(sql, phase, record->time);
	*phase = (struct sql_phase){process, record->heap, record->time, record->phase};
	state->phase = sql_name(phases, record->phase);
	return error;
}

uint64_t sql_collection_of(const struct sql *sql, const struct event *event, uint64_t thread)
{
	const struct start_key key = {thread, event->gc_begin};
	const uint64_t *id = event->gc_kind ? map_get(sql->collections, &key) : NULL;

	return id ? *id : 0;
}

uint64_t sql_collection_during(const struct sql_process *process, uint64_t start, uint64_t finish)
{
	bool overlaps = process->gc_start <= finish &&
			(!process->gc_finish || process->gc_finish >= start);

	return overlaps ? process->collection : 0;
}

#define FORGET(table)                                                                        \
	{                                                                                    \
		TABLE_##table, "UPDATE " #table " SET collection = NULL WHERE collection IN" \
			       " (SELECT id FROM collections WHERE finish IS NULL)"          \
	}

/*
 * If the end of a collection was lost, it is unknown which events it contains. Collections that a
 * filter excludes have no end here, either.
 */
static int forget_unended(struct sql *sql)
{
	static const struct {
		enum sql_table table;
		const char *update;
	} events[] = {FORGET(ticks), FORGET(faults), FORGET(syscalls), FORGET(waits),
		      FORGET(heap_areas)};
	int error = 0;

	for (size_t i = 0; i < sizeof(events) / sizeof(*events) && !error; i++) {
		struct sqlite3_stmt *forget;

		if (!database_wants(sql->database, events[i].table))
			continue;
		error = database_prepare(sql->database, events[i].update, &forget);
		if (!error)
			error = database_run(forget, NULL, 0);
	}
	return error;
}

/* A filter excludes collections that have a row from their start. */
static int drop_excluded(struct sql *sql)
{
	struct sqlite3_stmt *drop;
	int error;

	if (!database_wants(sql->database, TABLE_collections))
		return 0;
	error = database_prepare(sql->database, "DELETE FROM collections WHERE finish IS NULL",
				 &drop);
	return error ? error : database_run(drop, NULL, 0);
}

static int put_cycles(struct sql *sql, const struct world *world)
{
	const struct model *model = world->model;
	int error = 0;

	for (size_t i = 0; i < model->n_gc_cycles && !error; i++) {
		const struct model_gc_cycle *cycle = &model->gc_cycles[i];
		const struct row_gc_cycles row = {
			.id = integer(i + 1),
			.process = integer(cycle->process),
			.heap = integer(cycle->heap),
			.number = integer(cycle->cycle),
			.name = text(cycle->name),
			.reason = text(reason_of(world, cycle->process, cycle->reason)),
			.start = integer(cycle->start_ns),
			.finish = cycle->unfinished ? nothing()
						    : integer(cycle->start_ns + cycle->duration_ns),
			.duration_ns = integer(cycle->duration_ns),
			.heap_before = reference(cycle->heap_before_bytes),
			.heap_after = reference(cycle->heap_after_bytes),
			.live_bytes = reference(cycle->live_bytes),
			.growth_percent = reference(cycle->growth_percent),
			.limit_bytes = reference(cycle->limit_bytes),
			.pauses = integer(cycle->pauses),
			.pause_ns = integer(cycle->pause_ns),
		};

		error = database_put(sql->database, TABLE_gc_cycles, &row);
	}
	return error;
}

int sql_gc_finish(struct sql *sql, const struct world *world)
{
	int error = put_cycles(sql, world);

	for (size_t i = 0; i < sql->n_phases && !error; i++)
		error = put_phase(sql, &sql->phases[i], 0);
	if (!error && (world->model->gc.unpaired || world->filtered))
		error = forget_unended(sql);
	if (!error && world->filtered)
		error = drop_excluded(sql);
	return error;
}
