/* SPDX-License-Identifier: BSD-2-Clause */
/* firefox_threads.c: threads with their allocations, and tracks of processes. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "firefox.h"

enum { RATE_BINS = 256 };

/* --- allocations ------------------------------------------------------------------ */

struct alloc_cell {
	const struct alloc_row *row;
	uint64_t time;
	uint64_t elapsed; /* since the previous cell */
	double bytes;     /* including objects that are left out */
	double peak_rate; /* bytes per ns, of the whole track */
};

typedef void visit_alloc(struct firefox *firefox, struct output *output,
			 const struct alloc_cell *cell);

/* Calls `visit` for the visible objects; returns the number of rows. */
static uint64_t alloc_column(struct firefox *firefox, const struct spool_stream *stream,
			     const char *name, double peak_rate, visit_alloc *visit)
{
	struct column column = {firefox->job.output, false};
	uint64_t rows = 0, latest = 0, before = 0;
	struct spool_cursor cursor;
	const struct alloc_row *row;

	if (visit)
		output_format(column.output, "\"%s\":[", name);
	spool_rewind(&cursor, stream, sizeof(*row));
	while ((row = spool_next(firefox->spool, &cursor))) {
		struct alloc_cell cell = {.row = row, .peak_rate = peak_rate};

		if (!firefox_keeps_object(firefox, row->object))
			continue;
		rows++;
		cell.time = firefox_time(firefox, row->time);
		if (cell.time < latest)
			cell.time = latest;
		latest = cell.time;
		cell.elapsed = cell.time - before;
		before = cell.time;
		/* The death of an object without size would look like another allocation. */
		cell.bytes = fmax(row->bytes, 1) * (double)firefox->thin.alloc_keep;
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
	(void)firefox;
	if (cell->row->death)
		output_bytes(output, "-", 1);
	output_rounded(output, cell->bytes);
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
	uint64_t rows = alloc_column(firefox, stream, NULL, 0, NULL);

	/* With an empty table, the front end shows nothing of the profile. */
	if (!rows)
		return;
	output_text(firefox->job.output, ",\n\"nativeAllocations\":{\n");
	alloc_column(firefox, stream, "time", 0, put_alloc_time);
	alloc_column(firefox, stream, "stack", 0, put_alloc_stack);
	alloc_column(firefox, stream, "weight", 0, put_alloc_weight);
	alloc_column(firefox, stream, "memoryAddress", 0, put_alloc_object);
	alloc_column(firefox, stream, "threadId", 0, put_alloc_thread);
	output_format(firefox->job.output, "\"weightType\":\"bytes\",\"length\":%" PRIu64 "}",
		      rows);
}

static void put_survival_stack(struct firefox *firefox, struct output *output,
			       const struct alloc_cell *cell)
{
	enum survival survival = (enum survival)firefox->survivals[cell->row->object];

	output_number(output, firefox_survival_stack(firefox, cell->row->combo, survival));
}

void firefox_put_rate(struct output *output, double amount, double peak, uint64_t elapsed)
{
	double delta = peak > 0 ? amount / peak : 0;

	output_rounded(output, fmin(delta, (double)elapsed));
}

static void put_rate_delta(struct firefox *firefox, struct output *output,
			   const struct alloc_cell *cell)
{
	(void)firefox;
	firefox_put_rate(output, cell->bytes, cell->peak_rate, cell->elapsed);
}

/* The maximum over bins and not over single rows, because two samples may be arbitrarily close. */
double firefox_peak_rate(struct firefox *firefox, const struct spool_stream *stream,
			 size_t row_size, double (*amount)(const void *row))
{
	double bins[RATE_BINS + 1] = {0}, peak = 0;
	uint64_t width = firefox->world->model->run.duration / RATE_BINS + 1;
	struct spool_cursor cursor;
	const void *row;

	spool_rewind(&cursor, stream, row_size);
	while ((row = spool_next(firefox->spool, &cursor)))
		bins[firefox_time(firefox, *(const uint64_t *)row) / width] += amount(row);
	for (int i = 0; i <= RATE_BINS; i++)
		peak = bins[i] > peak ? bins[i] : peak;
	return peak / (double)width;
}

static double bytes_of(const void *row)
{
	return ((const struct alloc_row *)row)->bytes;
}

static void put_alloc_samples(struct firefox *firefox, uint64_t process)
{
	const struct spool_stream *stream = &firefox->processes[process].allocs;
	double peak = firefox_peak_rate(firefox, stream, sizeof(struct alloc_row), bytes_of);
	uint64_t rows;

	output_text(firefox->job.output, "\"samples\":{\n");
	alloc_column(firefox, stream, "stack", 0, put_survival_stack);
	alloc_column(firefox, stream, "time", 0, put_alloc_time);
	alloc_column(firefox, stream, "weight", 0, put_alloc_weight);
	rows = alloc_column(firefox, stream, "threadCPUDelta", peak, put_rate_delta);
	output_format(firefox->job.output, "\"weightType\":\"bytes\",\"length\":%" PRIu64 "},\n",
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
		return thread->name ? thread->name : "(no name)";
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

static void put_head(struct firefox *firefox, const struct ff_track *track)
{
	const struct ff_thread *thread = &firefox->threads[track->thread];
	struct output *output = firefox->job.output;

	output_text(output, "{\"name\":");
	output_string(output, track_name(firefox, track));
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
	static const struct ff_thread none;
	const struct ff_track *track = &firefox->tracks[number];
	const struct ff_thread *thread = &firefox->threads[track->thread];
	int error;

	put_head(firefox, track);
	if (track->kind == TRACK_FAULTS)
		firefox_put_faults(firefox, track->process);
	else if (track->kind == TRACK_ALLOCATIONS)
		put_alloc_samples(firefox, track->process);
	else
		firefox_put_samples(firefox, track->thread ? thread : &none);
	error = firefox_put_markers(firefox, number);
	if (!error && track->thread)
		put_allocations(firefox, &thread->allocs);
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
