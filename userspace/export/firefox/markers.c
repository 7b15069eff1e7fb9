/* SPDX-License-Identifier: BSD-2-Clause */
/* markers.c: markers for collections, system calls, losses and other events. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include "../../model/world/syscall_text.h"
#include "firefox.h"

enum { ERRNO_MAX = 4095 };

/* A marker of a track; system calls were read from the spool. */
struct marker {
	uint64_t start, end;
	enum { SHOW_CALL, SHOW_GC, SHOW_HEAP, SHOW_RSS, SHOW_PAUSE, SHOW_MARK } kind;
	uint32_t index;
};

struct markers {
	struct marker *items;
	size_t count, capacity;
	struct call_row *calls;
	size_t n_calls, calls_capacity;
};

static int add(struct markers *markers, const struct marker *marker)
{
	if (array_reserve(&markers->items, &markers->capacity, markers->count, sizeof(*marker)) < 0)
		return -ENOMEM;
	markers->items[markers->count] = *marker;
	/* In an imported profile, an event may end before its start. */
	if (marker->end < marker->start)
		markers->items[markers->count].end = marker->start;
	markers->count++;
	return 0;
}

static bool keeps_call(struct thinning *thin, const struct call_row *row)
{
	if (row->duration >= thin->call_min_ns)
		return true;
	return row->duration >= thin->edge_min_ns && thin->edge_seen++ % thin->edge_keep == 0;
}

/* Adds the calls that are long enough. Their number is bounded by what fits into the file. */
static int add_calls(struct firefox *firefox, const struct spool_stream *stream,
		     struct markers *markers)
{
	struct spool_cursor cursor;
	const struct call_row *row;
	int error = 0;

	spool_rewind(&cursor, stream, sizeof(*row));
	while (!error && (row = spool_next(firefox->spool, &cursor))) {
		struct marker marker = {row->end - row->duration, row->end, SHOW_CALL,
					(uint32_t)markers->n_calls};

		if (!keeps_call(&firefox->thin, row))
			continue;
		if (array_reserve(&markers->calls, &markers->calls_capacity, markers->n_calls,
				  sizeof(*row)) < 0)
			return -ENOMEM;
		markers->calls[markers->n_calls++] = *row;
		error = add(markers, &marker);
	}
	return error ? error : spool_error(firefox->spool);
}

static int add_thread(struct firefox *firefox, uint64_t id, struct markers *markers)
{
	const struct ff_thread *thread = &firefox->threads[id];
	int error = add_calls(firefox, &thread->calls, markers);

	for (uint32_t i = thread->first_gc; i && !error; i = firefox->gcs[i].next) {
		const struct gc_mark *gc = &firefox->gcs[i];
		struct marker marker = {gc->closed.begin, gc->end.time, SHOW_GC, i};

		error = add(markers, &marker);
	}
	for (uint32_t i = thread->first_mark; i && !error; i = firefox->marks[i].next) {
		const struct mark *mark = &firefox->marks[i];
		struct marker marker = {mark->start, mark->end, SHOW_MARK, i};

		error = add(markers, &marker);
	}
	return error;
}

/* Adds points of the graphs of heap and pauses on the first track of a process. */
static int add_graphs(struct firefox *firefox, uint64_t process, struct markers *markers)
{
	const struct level *levels = firefox->levels;
	int error = 0;

	for (uint32_t i = firefox->processes[process].first_gc; i && !error;
	     i = firefox->gcs[i].next_of_process) {
		const struct gc_mark *gc = &firefox->gcs[i];
		struct marker pause = {gc->closed.begin, gc->end.time, SHOW_PAUSE, i};

		error = add(markers, &pause);
	}
	for (size_t i = firefox->processes[process].first_level;
	     i < firefox->n_levels && levels[i].process == process && !error; i++) {
		uint64_t time = firefox->world->model->run.start + levels[i].time;
		struct marker heap = {time, time, SHOW_HEAP, (uint32_t)i};
		struct marker rss = {time, time, SHOW_RSS, (uint32_t)i};

		if (levels[i].used || levels[i].exact)
			error = add(markers, &heap);
		if (!error && levels[i].rss)
			error = add(markers, &rss);
	}
	return error;
}

static int by_start(const void *a, const void *b)
{
	const struct marker *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	/* An enclosing marker comes first. */
	if (x->end != y->end)
		return x->end > y->end ? -1 : 1;
	return (int)x->kind - (int)y->kind;
}

static int gather(struct firefox *firefox, size_t number, struct markers *markers)
{
	const struct ff_track *track = &firefox->tracks[number];
	int error = 0;

	if (track->thread)
		error = add_thread(firefox, track->thread, markers);
	if (!error && number == 0)
		error = add_thread(firefox, 0, markers);
	if (!error && track->process && firefox_main_track(firefox, track->process) == number)
		error = add_graphs(firefox, track->process, markers);
	if (markers->count)
		qsort(markers->items, markers->count, sizeof(*markers->items), by_start);
	return error;
}

/* --- payloads -------------------------------------------------------------------- */

static const char *kind_name(uint64_t kind)
{
	static const char *const names[] = {[GCPROF_GC_MINOR] = "minor",
					    [GCPROF_GC_STEP] = "major step",
					    [GCPROF_GC_FULL] = "full",
					    [GCPROF_GC_STOP] = "stop"};

	return kind < sizeof(names) / sizeof(*names) && names[kind] ? names[kind] : "unknown";
}

static const char *reason_name(uint64_t reason)
{
	static const char *const names[] = {
		[GCPROF_REASON_NURSERY] = "the nursery was full",
		[GCPROF_REASON_LARGE] = "large objects were allocated",
		[GCPROF_REASON_THRESHOLD] = "the old generation exceeded its threshold",
		[GCPROF_REASON_EXPLICIT] = "requested by the program",
		[GCPROF_REASON_PRESSURE] = "pressure from outside the heap",
		[GCPROF_REASON_FINISH] = "the heap or a thread was being closed",
	};

	return reason && reason < sizeof(names) / sizeof(*names) ? names[reason] : "unknown";
}

static const char *phase_name(uint64_t phase)
{
	static const char *const names[] = {
		[GCPROF_PHASE_SCANNING] = "Scanning",
		[GCPROF_PHASE_MARKING] = "Marking",
		[GCPROF_PHASE_SWEEPING] = "Sweeping",
		[GCPROF_PHASE_FINALIZING] = "Finalizing",
	};

	return phase && phase < sizeof(names) / sizeof(*names) ? names[phase] : "Unknown phase";
}

static const char *period_reason(uint64_t reason)
{
	static const char *const names[] = {
		[GCPROF_PERIOD_START] = "sampling started",
		[GCPROF_PERIOD_CEILING] = "too many samples per second",
		[GCPROF_PERIOD_RECOVERY] = "the rate fell again",
		[GCPROF_PERIOD_REQUEST] = "on request",
		[GCPROF_PERIOD_STOP] = "sampling ended",
	};

	return reason && reason < sizeof(names) / sizeof(*names) ? names[reason] : "unknown";
}

/* The runtime's name for a kind or reason, or `otherwise` if it has none. */
static void put_gc_name(struct firefox *firefox, uint64_t process, uint64_t number,
			const char *otherwise)
{
	const char *name = gc_names_text(&firefox->world->gc_names, process, number);

	output_string(firefox->job.output, name ? name : otherwise);
}

static void put_known(struct output *output, const char *key, uint64_t bytes)
{
	if (bytes)
		output_format(output, ",\"%s\":%" PRIu64, key, bytes);
}

/* The model knows most of the longest pauses; NULL: it is not one of these. */
static const struct model_pause *find_pause(const struct firefox *firefox, const struct gc_mark *gc)
{
	const struct model *model = firefox->world->model;

	for (size_t i = 0; i < model->n_pauses; i++) {
		const struct model_pause *pause = &model->pauses[i];

		if (pause->start == gc->closed.begin && pause->cycle == gc->end.cycle &&
		    pause->n_sites)
			return pause;
	}
	return NULL;
}

/* The field is named `gcReason` because the front end takes a field `cause` for a stack. */
static void put_gc_data(struct firefox *firefox, const struct gc_mark *gc)
{
	struct output *output = firefox->job.output;
	const struct record_gc_end *end = &gc->end;
	const struct closed_gc *closed = &gc->closed;
	const struct model_pause *pause = find_pause(firefox, gc);

	output_text(output, "{\"type\":\"GcprofCollection\",\"kind\":");
	put_gc_name(firefox, gc->process, closed->name, kind_name(end->kind));
	output_text(output, ",\"gcReason\":");
	put_gc_name(firefox, gc->process, closed->reason, reason_name(closed->reason));
	output_format(output, ",\"heap\":%" PRIu64 ",\"cycle\":%" PRIu64 ",\"pause\":", end->heap,
		      end->cycle);
	output_milliseconds(output, gc->closed.pause_ns);
	put_known(output, "before", end->heap_before);
	put_known(output, "after", end->heap_after);
	if (!end->batched)
		output_format(output, ",\"faults\":%" PRIu64,
			      end->minor_faults + end->major_faults);
	if (end->has_stats) {
		output_text(output, ",\"stopping\":");
		output_milliseconds(output, end->stop_ns);
		output_format(output,
			      ",\"promoted\":%" PRIu64 ",\"promotedObjects\":%" PRIu64
			      ",\"nursery\":%" PRIu64 ",\"live\":%" PRIu64 ",\"arenas\":%" PRIu64
			      ",\"large\":%" PRIu64 ",\"freed\":%" PRIu64 ",\"threads\":%" PRIu64,
			      end->promoted_bytes, end->promoted_objects, end->nursery_used,
			      end->live_bytes, end->arena_bytes, end->large_bytes, end->freed_bytes,
			      end->threads);
		if (end->kind != GCPROF_GC_MINOR)
			output_format(output, ",\"phase\":\"%s\"", phase_name(end->phase));
	}
	if (pause)
		firefox_put_pause_causes(firefox, pause);
	else
		firefox_put_causes(firefox, gc->causes, gc->closed.begin);
	output_text(output, "}");
}

/* A graph only shows markers that have all of its keys. */
static void put_heap_data(struct output *output, const struct level *level)
{
	output_format(output, "{\"type\":\"%s\",\"used\":%" PRIu64,
		      level->exact || level->committed ? "GcprofHeap" : "GcprofHeapUsed",
		      level->used);
	if (level->exact || level->committed)
		output_format(output, ",\"committed\":%" PRIu64, level->committed);
	output_text(output, "}");
}

static void put_pause_data(struct output *output, const struct gc_mark *gc)
{
	output_text(output, "{\"type\":\"GcprofPause\",\"pause\":");
	output_milliseconds(output, gc->closed.pause_ns);
	output_text(output, "}");
}

static void put_arguments(const struct firefox *firefox, const struct call_row *row)
{
	const struct syscall_call call = {
		.number = row->number,
		.path = row->path ? tree_text(&firefox->world->tree, row->path) : NULL,
		.args = {row->args[0], row->args[1], row->args[2]},
		.arguments = true,
	};
	char text[SYSCALL_TEXT];

	syscall_arguments(&call, text, sizeof(text));
	output_text(firefox->job.output, ",\"arguments\":");
	output_string(firefox->job.output, text);
}

static void put_call_data(struct firefox *firefox, const struct call_row *call)
{
	struct output *output = firefox->job.output;
	bool failed = call->result < 0 && call->result >= -ERRNO_MAX;
	const char *name = failed ? strerrorname_np((int)-call->result) : NULL;

	output_text(output, "{\"type\":\"GcprofSyscall\"");
	if (!(call->flags & SYSCALL_UNFINISHED))
		output_format(output, ",\"result\":\"%" PRId64 "%s%s\"", call->result,
			      name ? " " : "", name ? name : "");
	if (firefox->world->arguments)
		put_arguments(firefox, call);
	if (call->gc_ns) {
		output_text(output, ",\"inGC\":");
		output_milliseconds(output, call->gc_ns);
	}
	if (call->stands > 1)
		output_format(output, ",\"stands\":%" PRIu32, call->stands);
	if (call->fiber)
		output_format(output, ",\"fiber\":%" PRIu32, call->fiber);
	if (call->flags & SYSCALL_COLLECTOR)
		output_text(output, ",\"by\":\"the collector\"");
	if (tree_node(&firefox->world->tree, call->stack)) {
		output_text(output, ",\"cause\":{\"time\":");
		output_milliseconds(output, firefox_time(firefox, call->end - call->duration));
		output_format(output, ",\"stack\":%" PRIu32 "}",
			      firefox_stack(firefox, call->stack));
	}
	output_text(output, "}");
}

/* The values are in the order of take_gc_cycle(). */
static void put_cycle_data(struct firefox *firefox, const struct mark *mark)
{
	struct output *output = firefox->job.output;
	const uint64_t *values = mark->values;

	output_text(output, "{\"type\":\"GcprofCycle\",\"kind\":");
	put_gc_name(firefox, values[0], values[2], "cycle");
	output_text(output, ",\"gcReason\":");
	put_gc_name(firefox, values[0], values[3], reason_name(values[3]));
	output_format(output, ",\"cycle\":%" PRIu64, values[1]);
	put_known(output, "before", values[4]);
	put_known(output, "after", values[5]);
	put_known(output, "live", values[6]);
	firefox_put_causes(firefox, mark->causes, mark->start);
	output_text(output, "}");
}

/* The values are in the order of take_gc_summary(). */
static void put_sums_data(struct output *output, const uint64_t *values)
{
	output_format(output,
		      "{\"type\":\"GcprofCollections\",\"kind\":\"%s\",\"count\":%" PRIu64
		      ",\"pause\":",
		      kind_name(values[0]), values[1]);
	output_milliseconds(output, values[2]);
	output_text(output, ",\"longest\":");
	output_milliseconds(output, values[3]);
	output_format(output, ",\"promoted\":%" PRIu64 "}", values[4]);
}

static void put_mark_data(struct firefox *firefox, const struct mark *mark)
{
	struct output *output = firefox->job.output;
	const uint64_t *values = mark->values;
	const struct loss_state *loss;

	switch (mark->kind) {
	case MARK_PHASE:
		output_format(output, "{\"type\":\"GcprofPhase\",\"heap\":%" PRIu64 "}", values[1]);
		break;
	case MARK_CYCLE:
		put_cycle_data(firefox, mark);
		break;
	case MARK_PERIOD:
		output_format(output,
			      "{\"type\":\"GcprofPeriod\",\"before\":%" PRIu64
			      ",\"period\":%" PRIu64 ",\"why\":\"%s\"}",
			      values[0], values[1], period_reason(values[2]));
		break;
	case MARK_PAUSED:
		output_text(output, "{\"type\":\"GcprofPaused\"}");
		break;
	case MARK_SUMS:
		put_sums_data(output, values);
		break;
	case MARK_LOSS:
		loss = &firefox->world->streams.losses[values[0]];
		output_format(output,
			      "{\"type\":\"GcprofLoss\",\"count\":%" PRIu64 ",\"total\":%" PRIu64
			      ",\"what\":",
			      values[1], values[2]);
		output_number(output, firefox_string(firefox, loss->text ? loss->text : "unknown"));
		output_text(output, "}");
		break;
	}
}

/* --- columns --------------------------------------------------------------------- */

typedef void visit_marker(struct firefox *firefox, struct output *output,
			  const struct markers *markers, const struct marker *marker);

static void put_data(struct firefox *firefox, struct output *output, const struct markers *markers,
		     const struct marker *marker)
{
	switch (marker->kind) {
	case SHOW_CALL:
		put_call_data(firefox, &markers->calls[marker->index]);
		break;
	case SHOW_GC:
		put_gc_data(firefox, &firefox->gcs[marker->index]);
		break;
	case SHOW_HEAP:
		put_heap_data(output, &firefox->levels[marker->index]);
		break;
	case SHOW_RSS:
		output_format(output, "{\"type\":\"GcprofRss\",\"rss\":%" PRIu64 "}",
			      firefox->levels[marker->index].rss);
		break;
	case SHOW_PAUSE:
		put_pause_data(output, &firefox->gcs[marker->index]);
		break;
	case SHOW_MARK:
		put_mark_data(firefox, &firefox->marks[marker->index]);
		break;
	}
}

static const char *call_name(const struct firefox *firefox, uint64_t number)
{
	const uint64_t *row = map_get(firefox->call_names, &number);

	return row ? firefox->world->model->syscalls[*row - 1].name : "system call";
}

/* The front end colours the names that Gecko gives to its collections. */
static const char *name_of(const struct firefox *firefox, const struct markers *markers,
			   const struct marker *marker)
{
	uint64_t kind;

	switch (marker->kind) {
	case SHOW_CALL:
		return call_name(firefox, markers->calls[marker->index].number);
	case SHOW_GC:
		kind = firefox->gcs[marker->index].end.kind;
		return kind == GCPROF_GC_MINOR  ? "GCMinor"
		       : kind == GCPROF_GC_STEP ? "GCSlice"
		       : kind == GCPROF_GC_FULL ? "GCMajor"
		       : kind == GCPROF_GC_STOP ? "GC stop"
						: "GC";
	case SHOW_HEAP:
		return "Heap";
	case SHOW_RSS:
		return "RSS";
	case SHOW_PAUSE:
		return "GC pause";
	case SHOW_MARK:
		break;
	}
	switch (firefox->marks[marker->index].kind) {
	case MARK_PHASE:
		return phase_name(firefox->marks[marker->index].values[0]);
	case MARK_CYCLE:
		return "GC cycle";
	case MARK_PERIOD:
		return "Sampling period";
	case MARK_PAUSED:
		return "Recording paused";
	case MARK_SUMS:
		return "Short collections";
	case MARK_LOSS:
		break;
	}
	switch (firefox->world->streams.losses[firefox->marks[marker->index].values[0]].severity) {
	case SEVERITY_CUT:
		return "Incomplete data";
	case SEVERITY_HELD:
		return "Held back";
	case SEVERITY_GAP:
		return "Not covered";
	}
	return "Lost data";
}

static void put_name(struct firefox *firefox, struct output *output, const struct markers *markers,
		     const struct marker *marker)
{
	output_number(output, firefox_string(firefox, name_of(firefox, markers, marker)));
}

static void put_start(struct firefox *firefox, struct output *output, const struct markers *markers,
		      const struct marker *marker)
{
	(void)markers;
	output_milliseconds(output, firefox_time(firefox, marker->start));
}

static bool is_of_collector(const struct mark *mark)
{
	return mark->kind == MARK_PHASE || mark->kind == MARK_CYCLE;
}

static bool is_instant(const struct firefox *firefox, const struct marker *marker)
{
	const struct mark *mark = marker->kind == SHOW_MARK ? &firefox->marks[marker->index] : NULL;

	return marker->kind == SHOW_HEAP || marker->kind == SHOW_RSS ||
	       (mark && !is_of_collector(mark) && mark->kind != MARK_PAUSED);
}

static void put_end(struct firefox *firefox, struct output *output, const struct markers *markers,
		    const struct marker *marker)
{
	(void)markers;
	if (is_instant(firefox, marker))
		output_text(output, "null");
	else
		output_milliseconds(output, firefox_time(firefox, marker->end));
}

/* 0: an instant; 1: an interval. */
static void put_phase(struct firefox *firefox, struct output *output, const struct markers *markers,
		      const struct marker *marker)
{
	(void)markers;
	output_number(output, !is_instant(firefox, marker));
}

static void put_category(struct firefox *firefox, struct output *output,
			 const struct markers *markers, const struct marker *marker)
{
	bool gc = marker->kind != SHOW_CALL && marker->kind != SHOW_MARK;

	(void)markers;
	if (marker->kind == SHOW_MARK)
		gc = is_of_collector(&firefox->marks[marker->index]);
	output_number(output, marker->kind == SHOW_CALL ? CATEGORY_KERNEL
			      : gc                      ? CATEGORY_GC
							: CATEGORY_OTHER);
}

static void put_column(struct firefox *firefox, const struct markers *markers, const char *name,
		       visit_marker *visit)
{
	struct column column = {firefox->job.output, false};

	output_format(column.output, "\"%s\":[", name);
	for (size_t i = 0; i < markers->count; i++)
		visit(firefox, column_cell(&column), markers, &markers->items[i]);
	output_text(column.output, "],\n");
}

int firefox_put_markers(struct firefox *firefox, size_t track)
{
	struct markers markers = {0};
	int error = gather(firefox, track, &markers);

	if (!error) {
		output_text(firefox->job.output, "\"markers\":{\n");
		put_column(firefox, &markers, "data", put_data);
		put_column(firefox, &markers, "name", put_name);
		put_column(firefox, &markers, "startTime", put_start);
		put_column(firefox, &markers, "endTime", put_end);
		put_column(firefox, &markers, "phase", put_phase);
		put_column(firefox, &markers, "category", put_category);
		output_format(firefox->job.output, "\"length\":%zu}", markers.count);
	}
	free(markers.items);
	free(markers.calls);
	return error;
}
