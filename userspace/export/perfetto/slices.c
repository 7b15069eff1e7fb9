/* SPDX-License-Identifier: BSD-2-Clause */
/* slices.c: collections, system calls, phases and pauses of the recording as slices. */
/*
 * The end of a slice ends the innermost slice of its track, so slices must be nested.
 * Slices of a normal profile are. If clocks or a hostile profile say otherwise, a slice
 * ends with the enclosing one.
 */
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>

#include "perfetto.h"

enum { NESTING_MAX = 64, NOTES_MAX = 6 };

/* Open slices of one track. */
struct nest {
	uint64_t track;
	uint32_t sequence;
	uint32_t depth;
	uint64_t ends[NESTING_MAX]; /* innermost last; none ends later than those before it */
	uint64_t last;              /* time of the track's last packet */
};

static void put_event(struct perfetto *perfetto, struct nest *nest, PerfettoEvent *event,
		      uint64_t time)
{
	PerfettoPacket packet = PERFETTO__PROTOS__TRACE_PACKET__INIT;

	event->has_type = event->has_track_uuid = true;
	event->track_uuid = nest->track;
	packet.track_event = event;
	nest->last = time > nest->last ? time : nest->last;
	perfetto_put(perfetto, &packet, nest->sequence, nest->last);
}

/* Ends the slices that end until `time`. */
static void end_until(struct perfetto *perfetto, struct nest *nest, uint64_t time)
{
	while (nest->depth && nest->ends[nest->depth - 1] <= time) {
		PerfettoEvent event = PERFETTO__PROTOS__TRACK_EVENT__INIT;

		event.type = PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_SLICE_END;
		put_event(perfetto, nest, &event, nest->ends[--nest->depth]);
	}
}

static void begin(struct perfetto *perfetto, struct nest *nest, PerfettoEvent *event,
		  uint64_t start, uint64_t finish)
{
	end_until(perfetto, nest, start);
	if (nest->depth == NESTING_MAX)
		return;
	if (finish < start)
		finish = start;
	if (nest->depth && finish > nest->ends[nest->depth - 1])
		finish = nest->ends[nest->depth - 1];
	nest->ends[nest->depth++] = finish;
	event->type = PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_SLICE_BEGIN;
	put_event(perfetto, nest, event, start);
}

/* If this row belongs to another track, ends all slices of the previous one. */
static void turn_to(struct perfetto *perfetto, struct nest *nest, uint64_t track, uint32_t sequence)
{
	if (nest->track == track)
		return;
	end_until(perfetto, nest, UINT64_MAX);
	*nest = (struct nest){.track = track, .sequence = sequence};
}

static size_t add_notes(sqlite3_stmt *row, int first, const char *const *names,
			Perfetto__Protos__DebugAnnotation *notes)
{
	size_t used = 0;

	for (int i = 0; i < NOTES_MAX && names[i]; i++) {
		Perfetto__Protos__DebugAnnotation *note = &notes[used];

		if (sqlite3_column_type(row, first + i) == SQLITE_NULL)
			continue;
		perfetto__protos__debug_annotation__init(note);
		note->name = (char *)(uintptr_t)names[i];
		if (sqlite3_column_type(row, first + i) == SQLITE_TEXT) {
			note->string_value = (char *)(uintptr_t)sqlite3_column_text(row, first + i);
		} else {
			note->has_int_value = true;
			note->int_value = sqlite3_column_int64(row, first + i);
		}
		used++;
	}
	return used;
}

/* Columns: track number, start, finish, category, name, up to six annotations. */
static void put_slice(struct perfetto *perfetto, sqlite3_stmt *row, struct nest *nest,
		      const char *const *names)
{
	PerfettoEvent event = PERFETTO__PROTOS__TRACK_EVENT__INIT;
	Perfetto__Protos__DebugAnnotation notes[NOTES_MAX], *list[NOTES_MAX];
	char *category = (char *)(uintptr_t)sqlite3_column_text(row, 3);

	for (size_t i = 0; i < NOTES_MAX; i++)
		list[i] = &notes[i];
	event.n_debug_annotations = add_notes(row, 5, names, notes);
	event.debug_annotations = list;
	event.categories = &category;
	event.n_categories = 1;
	event.name = (char *)(uintptr_t)sqlite3_column_text(row, 4);
	begin(perfetto, nest, &event, (uint64_t)sqlite3_column_int64(row, 1),
	      (uint64_t)sqlite3_column_int64(row, 2));
}

static void put_thread_slice(struct perfetto *perfetto, sqlite3_stmt *row, void *context)
{
	static const char *const of_gc[] = {"reason", "promoted bytes", "pause ns", "freed bytes",
					    NULL};
	static const char *const of_calls[] = {"result",
					       "ns in collections",
					       "arguments",
					       "calls represented",
					       "fiber (goroutine)",
					       NULL};
	uint64_t thread = (uint64_t)sqlite3_column_int64(row, 0);
	bool gc = sqlite3_column_int64(row, 11);

	turn_to(perfetto, context, perfetto_uuid(TRACK_THREAD, thread),
		(uint32_t)(SEQUENCE_THREADS + thread));
	put_slice(perfetto, row, context, gc ? of_gc : of_calls);
}

static const char *const no_notes[] = {NULL};

/* On the track of a kind that column 0 numbers. */
static void put_on(struct perfetto *perfetto, sqlite3_stmt *row, struct nest *nest,
		   enum perfetto_track kind, uint32_t sequence, const char *const *names)
{
	turn_to(perfetto, nest, perfetto_uuid(kind, (uint64_t)sqlite3_column_int64(row, 0)),
		sequence);
	put_slice(perfetto, row, nest, names);
}

static void put_phase(struct perfetto *perfetto, sqlite3_stmt *row, void *context)
{
	put_on(perfetto, row, context, TRACK_PHASES, SEQUENCE_PHASES, no_notes);
}

static void put_cycle(struct perfetto *perfetto, sqlite3_stmt *row, void *context)
{
	static const char *const names[] = {
		"reason",     "bytes in use before", "bytes in use after",
		"live bytes", "ns of pauses",        NULL};

	put_on(perfetto, row, context, TRACK_CYCLES, SEQUENCE_CYCLES, names);
}

static void put_sums(struct perfetto *perfetto, sqlite3_stmt *row, void *context)
{
	static const char *const names[] = {"reason", "ns of pauses", "longest pause ns",
					    "promoted bytes", NULL};

	put_on(perfetto, row, context, TRACK_SUMS, SEQUENCE_SUMS, names);
}

static void put_paused(struct perfetto *perfetto, sqlite3_stmt *row, void *context)
{
	put_on(perfetto, row, context, TRACK_PAUSED, SEQUENCE_PAUSED, no_notes);
}

void perfetto_put_slices(struct perfetto *perfetto)
{
	struct nest nest = {0};
	char sql[640];

	perfetto_each(perfetto,
		      "SELECT track, start, finish, 'gc', phase FROM (SELECT *, min(id) OVER"
		      " (PARTITION BY process, heap) AS track FROM phases)"
		      " WHERE finish IS NOT NULL AND phase IS NOT 'scanning' ORDER BY track, start",
		      put_phase, &nest);
	turn_to(perfetto, &nest, 0, 0);
	perfetto_each(perfetto,
		      "SELECT coalesce(recording, 0), start, finish, 'gcprof', 'recording paused'"
		      " FROM recording_pauses ORDER BY 1, start",
		      put_paused, &nest);
	turn_to(perfetto, &nest, 0, 0);
	perfetto_each(perfetto,
		      "SELECT min(id) OVER (PARTITION BY process, heap) AS track, start,"
		      " start + duration_ns, 'gc',"
		      " coalesce(name, 'cycle'), reason, heap_before, heap_after, live_bytes,"
		      " pause_ns FROM gc_cycles ORDER BY track, start",
		      put_cycle, &nest);
	turn_to(perfetto, &nest, 0, 0);
	perfetto_each(perfetto,
		      "SELECT min(id) OVER (PARTITION BY process, heap, kind) AS track, start,"
		      " finish, 'gc', count || ' ' || kind || ' collections', reason, pause_ns,"
		      " max_ns, promoted_bytes FROM collection_sums ORDER BY track, start",
		      put_sums, &nest);
	turn_to(perfetto, &nest, 0, 0);
	snprintf(
		sql, sizeof(sql),
		"SELECT thread, start, finish, 'gc', coalesce(name, kind || ' collection'), reason,"
		" promoted_bytes, pause_ns, freed_bytes, NULL, NULL, 1 FROM collections"
		" WHERE start IS NOT NULL AND finish IS NOT NULL"
		" UNION ALL SELECT thread, start, finish, 'syscall', name, result,"
		" nullif(gc_ns, 0), arguments, nullif(stands, 1), fiber, NULL, 0 FROM syscalls"
		" WHERE duration_ns >= %" PRIu64 " ORDER BY thread, start, finish DESC",
		perfetto->call_min_ns);
	perfetto_each(perfetto, sql, put_thread_slice, &nest);
	turn_to(perfetto, &nest, 0, 0);
}
