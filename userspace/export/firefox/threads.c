/* SPDX-License-Identifier: BSD-2-Clause */
/* threads.c: threads with their allocations, and tracks of processes. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "firefox.h"

/* --- allocations ------------------------------------------------------------------ */

double firefox_alloc_bytes(const struct firefox *firefox, const struct alloc_row *row)
{
	/* The death of an object without size would look like another allocation. */
	return fmax(row->bytes, 1) * (double)firefox->thin.alloc_keep;
}

struct alloc_cell {
	const struct alloc_row *row;
	uint64_t time;
};

typedef void visit_alloc(struct firefox *firefox, struct output *output,
			 const struct alloc_cell *cell);

/* Calls `visit` for the visible objects; returns the number of rows. */
static uint64_t alloc_column(struct firefox *firefox, const struct spool_stream *stream,
			     const char *name, visit_alloc *visit)
{
	struct column column = {firefox->job.output, false};
	uint64_t rows = 0, latest = 0;
	struct spool_cursor cursor;
	const struct alloc_row *row;

	if (visit)
		output_format(column.output, "\"%s\":[", name);
	spool_rewind(&cursor, stream, sizeof(*row));
	while ((row = spool_next(firefox->spool, &cursor))) {
		struct alloc_cell cell = {.row = row};

		if (!firefox_keeps_object(firefox, row->object))
			continue;
		rows++;
		cell.time = firefox_time(firefox, row->time);
		if (cell.time < latest)
			cell.time = latest;
		latest = cell.time;
		if (visit)
			visit(firefox, column_cell(&column), &cell);
	}
	if (visit)
		output_text(column.output, "],\n");
	return rows;
}

static void put_alloc_stack(struct firefox *firefox, struct output *output,
			    const struct alloc_cell *cell)
{
	static const uint32_t deaths[] = {[DEATH_YOUNG] = STACK_MINOR,
					  [DEATH_OLD] = STACK_MAJOR,
					  [DEATH_FREED] = STACK_FREED,
					  [DEATH_UNKNOWN] = STACK_UNKNOWN};

	output_number(output, cell->row->death ? deaths[cell->row->death]
					       : firefox_combo_stack(firefox, cell->row->combo));
}

static void put_alloc_time(struct firefox *firefox, struct output *output,
			   const struct alloc_cell *cell)
{
	(void)firefox;
	output_milliseconds(output, cell->time);
}

static void put_alloc_weight(struct firefox *firefox, struct output *output,
			     const struct alloc_cell *cell)
{
	if (cell->row->death)
		output_bytes(output, "-", 1);
	output_rounded(output, firefox_alloc_bytes(firefox, cell->row));
}

static void put_alloc_object(struct firefox *firefox, struct output *output,
			     const struct alloc_cell *cell)
{
	(void)firefox;
	output_number(output, cell->row->object);
}

static void put_alloc_thread(struct firefox *firefox, struct output *output,
			     const struct alloc_cell *cell)
{
	(void)firefox;
	(void)cell;
	output_text(output, "0");
}

/* The number of an object serves as its address, so that the profiler can match its free. */
static void put_allocations(struct firefox *firefox, const struct spool_stream *stream)
{
	uint64_t rows = alloc_column(firefox, stream, NULL, NULL);

	/* With an empty table, the front end shows nothing of the profile. */
	if (!rows)
		return;
	output_text(firefox->job.output, ",\n\"nativeAllocations\":{\n");
	alloc_column(firefox, stream, "time", put_alloc_time);
	alloc_column(firefox, stream, "stack", put_alloc_stack);
	alloc_column(firefox, stream, "weight", put_alloc_weight);
	alloc_column(firefox, stream, "memoryAddress", put_alloc_object);
	alloc_column(firefox, stream, "threadId", put_alloc_thread);
	output_format(firefox->job.output, "\"weightType\":\"bytes\",\"length\":%" PRIu64 "}",
		      rows);
}

/* --- tracks ------------------------------------------------------------------------ */

static uint64_t first_owner(const struct map *owners, uint64_t number)
{
	const uint64_t *owner = map_get(owners, &number);

	return owner ? *owner : 0;
}

void firefox_put_pid(struct firefox *firefox, uint64_t process)
{
	const struct process *task = tasks_find_process(&firefox->world->tasks, process);
	uint64_t pid = task ? task->pid : 0;

	output_format(firefox->job.output, "\"%" PRIu64, pid);
	if (task && first_owner(firefox->pids, pid) != process)
		output_format(firefox->job.output, ".%" PRIu64, process);
	output_text(firefox->job.output, "\"");
}

static void put_tid(struct firefox *firefox, const struct ff_track *track)
{
	const struct thread *thread = tasks_find_thread(&firefox->world->tasks, track->thread);
	struct output *output = firefox->job.output;

	if (!thread)
		output_format(output, "\"%s of %" PRIu64 "\"",
			      track->kind == TRACK_FAULTS ? "page faults" : "allocations",
			      track->process);
	else if (first_owner(firefox->tids, thread->tid) == track->thread)
		output_number(output, thread->tid);
	else
		output_format(output, "\"%" PRIu64 ".%" PRIu64 "\"", thread->tid, track->thread);
}

static const char *track_name(const struct firefox *firefox, const struct ff_track *track)
{
	const struct thread *thread = tasks_find_thread(&firefox->world->tasks, track->thread);

	if (thread)
		return thread->name ? thread->name : NO_NAME;
	return track->kind == TRACK_FAULTS        ? "Page faults"
	       : track->kind == TRACK_ALLOCATIONS ? "Allocations (sampled)"
						  : "(nothing was recorded)";
}

/* A process has the name of its first thread. */
static const char *process_name(const struct firefox *firefox, uint64_t process)
{
	size_t main = firefox_main_track(firefox, process);

	return track_name(firefox, &firefox->tracks[main]);
}

/* Threads of a process that share a name have their tid behind it, but for the first thread. */
static void put_track_name(struct firefox *firefox, const struct ff_track *track)
{
	const struct thread *thread = tasks_find_thread(&firefox->world->tasks, track->thread);
	const char *name = track_name(firefox, track);
	char text[128];
	struct name_key key = firefox_name_key(track->process, name);
	const uint64_t *count = thread ? map_get(firefox->thread_names, key.words) : NULL;

	if (!count || *count < 2 || track->main) {
		output_string(firefox->job.output, name);
		return;
	}
	if (first_owner(firefox->tids, thread->tid) == track->thread)
		snprintf(text, sizeof(text), "%.60s (%" PRIu64 ")", name, thread->tid);
	else
		snprintf(text, sizeof(text), "%.60s (%" PRIu64 ".%" PRIu64 ")", name, thread->tid,
			 track->thread);
	output_string(firefox->job.output, text);
}

static void put_head(struct firefox *firefox, const struct ff_track *track)
{
	const struct ff_thread *thread = &firefox->threads[track->thread];
	struct output *output = firefox->job.output;

	output_text(output, "{\"name\":");
	put_track_name(firefox, track);
	output_format(output, ",\"isMainThread\":%s,\"processType\":\"default\",\"processName\":",
		      track->main || !track->process ? "true" : "false");
	output_string(output, process_name(firefox, track->process));
	output_text(output, ",\"processStartupTime\":0,\"processShutdownTime\":null,"
			    "\"registerTime\":");
	output_milliseconds(output, track->thread && thread->registered
					    ? firefox_time(firefox, thread->registered)
					    : 0);
	output_text(output, ",\"unregisterTime\":");
	if (track->thread && thread->unregistered)
		output_milliseconds(output, firefox_time(firefox, thread->unregistered));
	else
		output_text(output, "null");
	output_text(output, ",\"pausedRanges\":[],\"pid\":");
	firefox_put_pid(firefox, track->process);
	output_text(output, ",\"tid\":");
	put_tid(firefox, track);
	output_text(output, ",\"showMarkersInTimeline\":true,\n");
}

static int put_track(struct firefox *firefox, size_t number)
{
	const struct ff_track *track = &firefox->tracks[number];
	int error = 0;

	put_head(firefox, track);
	if (track->kind == TRACK_FAULTS)
		error = firefox_put_faults(firefox, track->process);
	else if (track->kind == TRACK_ALLOCATIONS)
		error = firefox_put_allocated(firefox, track->process);
	else
		error = firefox_put_samples(firefox, track->thread);
	if (!error)
		error = firefox_put_markers(firefox, number);
	if (!error && track->thread)
		put_allocations(firefox, &firefox->threads[track->thread].allocs);
	output_text(firefox->job.output, "}");
	return error;
}

int firefox_put_threads(struct firefox *firefox)
{
	int error = 0;

	output_text(firefox->job.output, "\"threads\":[\n");
	for (size_t i = 0; i < firefox->n_tracks && !error; i++) {
		if (i)
			output_text(firefox->job.output, ",\n");
		error = put_track(firefox, i);
	}
	output_text(firefox->job.output, "],\n");
	return error;
}
