/* SPDX-License-Identifier: BSD-2-Clause */
/* events.c: samples, waits, page faults, counters and the heap profile. */
#include <inttypes.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

#include "perfetto.h"

static uint64_t number(sqlite3_stmt *row, int column)
{
	return (uint64_t)sqlite3_column_int64(row, column);
}

/* --- timer samples, allocations, waits and page faults, ordered by time ----------------------- */

static void put_tick(struct perfetto *perfetto, sqlite3_stmt *row)
{
	PerfettoPacket packet = PERFETTO__PROTOS__TRACE_PACKET__INIT;
	Perfetto__Protos__PerfSample sample = PERFETTO__PROTOS__PERF_SAMPLE__INIT;

	sample.has_cpu = sample.has_pid = sample.has_tid = sample.has_cpu_mode = true;
	sample.cpu = (uint32_t)number(row, 4);
	sample.pid = (uint32_t)number(row, 5);
	sample.tid = (uint32_t)number(row, 6);
	sample.cpu_mode = (uint32_t)number(row, 7);
	sample.callstack_iid = number(row, 3);
	sample.has_callstack_iid = sample.callstack_iid != 0;
	packet.perf_sample = &sample;
	perfetto_put(perfetto, &packet, SEQUENCE_SAMPLES, number(row, 1));
}

enum { ALLOC_NOTES = 4 };

/* Fills the annotations of an allocation; returns their number. */
static size_t note_alloc(sqlite3_stmt *row, Perfetto__Protos__DebugAnnotation *notes)
{
	size_t used = 2;

	for (size_t i = 0; i < ALLOC_NOTES; i++)
		perfetto__protos__debug_annotation__init(&notes[i]);
	notes[0].name = (char *)(uintptr_t) "size";
	notes[0].has_int_value = true;
	notes[0].int_value = sqlite3_column_int64(row, 4);
	notes[1].name = (char *)(uintptr_t) "bytes represented";
	notes[1].has_double_value = true;
	notes[1].double_value = sqlite3_column_double(row, 5);
	if (sqlite3_column_type(row, 6) != SQLITE_NULL) {
		notes[used].name = (char *)(uintptr_t) "fate";
		notes[used++].string_value = (char *)(uintptr_t)sqlite3_column_text(row, 6);
	}
	if (sqlite3_column_type(row, 8) != SQLITE_NULL) {
		notes[used].name = (char *)(uintptr_t) "fiber (goroutine)";
		notes[used].has_int_value = true;
		notes[used++].int_value = sqlite3_column_int64(row, 8);
	}
	return used;
}

static void put_alloc(struct perfetto *perfetto, sqlite3_stmt *row)
{
	PerfettoPacket packet = PERFETTO__PROTOS__TRACE_PACKET__INIT;
	PerfettoEvent event = PERFETTO__PROTOS__TRACK_EVENT__INIT;
	Perfetto__Protos__DebugAnnotation notes[ALLOC_NOTES],
		*list[] = {&notes[0], &notes[1], &notes[2], &notes[3]};
	char *category = (char *)(uintptr_t) "alloc";

	event.debug_annotations = list;
	event.n_debug_annotations = note_alloc(row, notes);
	event.has_type = event.has_track_uuid = true;
	event.type = PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_INSTANT;
	event.track_uuid = perfetto_uuid(TRACK_THREAD, number(row, 2));
	event.categories = &category;
	event.n_categories = 1;
	event.name = (char *)(uintptr_t)sqlite3_column_text(row, 7);
	event.callstack_iid = number(row, 3);
	event.has_callstack_iid = event.callstack_iid != 0;
	packet.track_event = &event;
	perfetto_put(perfetto, &packet, SEQUENCE_SAMPLES, number(row, 1));
}

/* A wait is a slice: it ends before the next wait of its thread begins. */
static void put_wait(struct perfetto *perfetto, sqlite3_stmt *row, bool begins)
{
	PerfettoPacket packet = PERFETTO__PROTOS__TRACE_PACKET__INIT;
	PerfettoEvent event = PERFETTO__PROTOS__TRACK_EVENT__INIT;
	Perfetto__Protos__DebugAnnotation notes[2], *list[] = {&notes[0], &notes[1]};
	char *category = (char *)(uintptr_t) "off-cpu";

	for (size_t i = 0; i < 2; i++) {
		perfetto__protos__debug_annotation__init(&notes[i]);
		notes[i].has_int_value = true;
		notes[i].int_value = sqlite3_column_int64(row, 4 + (int)i);
	}
	notes[0].name = (char *)(uintptr_t) "shorter waits before, not shown";
	notes[1].name = (char *)(uintptr_t) "ns of shorter waits";
	event.has_type = event.has_track_uuid = true;
	event.track_uuid = perfetto_uuid(TRACK_WAITS, number(row, 2));
	event.type = PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_SLICE_END;
	if (begins) {
		event.type = PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_SLICE_BEGIN;
		event.categories = &category;
		event.n_categories = 1;
		event.name = (char *)(uintptr_t)sqlite3_column_text(row, 7);
		event.callstack_iid = number(row, 3);
		event.has_callstack_iid = event.callstack_iid != 0;
		event.debug_annotations = list;
		event.n_debug_annotations = notes[0].int_value ? 2 : 0;
	}
	packet.track_event = &event;
	perfetto_put(perfetto, &packet, SEQUENCE_SAMPLES, number(row, 1));
}

static void put_fault(struct perfetto *perfetto, sqlite3_stmt *row)
{
	static const char *const names[] = {"since the last record, without disk reads",
					    "since the last record, with disk reads", "address"};
	PerfettoPacket packet = PERFETTO__PROTOS__TRACE_PACKET__INIT;
	PerfettoEvent event = PERFETTO__PROTOS__TRACK_EVENT__INIT;
	Perfetto__Protos__DebugAnnotation notes[3], *list[] = {&notes[0], &notes[1], &notes[2]};
	char *category = (char *)(uintptr_t) "fault", address[24];
	bool known = sqlite3_column_type(row, 6) != SQLITE_NULL;

	for (size_t i = 0; i < 3; i++) {
		perfetto__protos__debug_annotation__init(&notes[i]);
		notes[i].name = (char *)(uintptr_t)names[i];
		notes[i].has_int_value = i < 2;
		notes[i].int_value = sqlite3_column_int64(row, 4 + (int)i);
	}
	snprintf(address, sizeof(address), "0x%" PRIx64, number(row, 6));
	notes[2].string_value = address;
	event.debug_annotations = list;
	event.n_debug_annotations = known ? 3 : 2;
	event.has_type = event.has_track_uuid = true;
	event.type = PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_INSTANT;
	event.track_uuid = perfetto_uuid(TRACK_THREAD, number(row, 2));
	event.categories = &category;
	event.n_categories = 1;
	event.name = (char *)(uintptr_t)(known ? "page fault" : "page faults without a record");
	event.callstack_iid = number(row, 3);
	event.has_callstack_iid = event.callstack_iid != 0;
	packet.track_event = &event;
	perfetto_put(perfetto, &packet, SEQUENCE_SAMPLES, number(row, 1));
}

/* Kinds of rows. At the same time, an end precedes a start. */
enum { ROW_TICK, ROW_ALLOC, ROW_WAIT_END, ROW_WAIT, ROW_FAULT };

static void put_sample(struct perfetto *perfetto, sqlite3_stmt *row, void *context)
{
	(void)context;
	switch (number(row, 0)) {
	case ROW_TICK:
		put_tick(perfetto, row);
		break;
	case ROW_ALLOC:
		put_alloc(perfetto, row);
		break;
	case ROW_FAULT:
		put_fault(perfetto, row);
		break;
	default:
		put_wait(perfetto, row, number(row, 0) == ROW_WAIT);
	}
}

void perfetto_put_samples(struct perfetto *perfetto)
{
	perfetto_each(
		perfetto,
		"SELECT 0 AS what, ticks.time AS at, thread, stack, cpu, pid, tid,"
		" CASE mode WHEN 'kernel' THEN 1 ELSE 2 END, NULL FROM ticks"
		" JOIN processes ON processes.id = ticks.process"
		" JOIN threads ON threads.id = thread"
		" UNION ALL SELECT 1, samples.time, thread, stacks.site, size, bytes, fate,"
		" coalesce(types.name, 'allocation'), fiber FROM samples"
		" LEFT JOIN stacks ON stacks.id = stack LEFT JOIN types ON types.id = type"
		" UNION ALL SELECT 2, finish, thread, NULL, NULL, NULL, NULL, NULL, NULL FROM waits"
		" WHERE finish > start"
		" UNION ALL SELECT 3, start, thread, stack, held, held_ns, NULL, CASE reason"
		" WHEN 'call' THEN 'waiting in ' || name WHEN 'fault' THEN 'page fault'"
		" ELSE reason END, NULL FROM waits"
		" WHERE finish > start"
		" UNION ALL SELECT 4, time, thread, stack, minor, major, address, NULL, NULL"
		" FROM faults ORDER BY at, what",
		put_sample, NULL);
}

/* --- counters: the heap after each collection ----------------------------------------------- */

/* The row begins with the time. */
static void put_counter(struct perfetto *perfetto, sqlite3_stmt *row, int column,
			enum perfetto_sequence sequence, uint64_t track)
{
	PerfettoPacket packet = PERFETTO__PROTOS__TRACE_PACKET__INIT;
	PerfettoEvent event = PERFETTO__PROTOS__TRACK_EVENT__INIT;

	if (sqlite3_column_type(row, column) == SQLITE_NULL)
		return;
	event.has_type = event.has_track_uuid = event.has_counter_value = true;
	event.type = PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_COUNTER;
	event.track_uuid = track;
	event.counter_value = sqlite3_column_int64(row, column);
	packet.track_event = &event;
	perfetto_put(perfetto, &packet, sequence, number(row, 0));
}

static void put_counters(struct perfetto *perfetto, sqlite3_stmt *row, void *context)
{
	(void)context;
	for (int i = 0; i < 4; i++)
		put_counter(perfetto, row, 2 + i, SEQUENCE_COUNTERS,
			    perfetto_uuid(TRACK_COUNTER + (uint64_t)i, number(row, 1)));
}

static void put_area(struct perfetto *perfetto, sqlite3_stmt *row, void *context)
{
	(void)context;
	put_counter(perfetto, row, 2, SEQUENCE_AREAS, perfetto_uuid(TRACK_AREA, number(row, 1)));
}

void perfetto_put_counters(struct perfetto *perfetto)
{
	perfetto_each(perfetto,
		      "SELECT time, process, nursery_bytes, old_bytes, live_bytes, rss_bytes"
		      " FROM heap ORDER BY time",
		      put_counters, NULL);
	perfetto_each(perfetto,
		      "SELECT time, min(id) OVER (PARTITION BY process, name), used_after"
		      " FROM heap_areas ORDER BY time",
		      put_area, NULL);
}

/* --- losses: kind, time of counting, and count so far --------------------------------------- */

static void put_loss(struct perfetto *perfetto, sqlite3_stmt *row, void *context)
{
	PerfettoPacket packet = PERFETTO__PROTOS__TRACE_PACKET__INIT;
	PerfettoEvent event = PERFETTO__PROTOS__TRACK_EVENT__INIT;
	Perfetto__Protos__DebugAnnotation note = PERFETTO__PROTOS__DEBUG_ANNOTATION__INIT,
					  *notes[] = {&note};
	char *category = (char *)(uintptr_t) "loss";

	(void)context;
	note.name = (char *)(uintptr_t) "so far";
	note.has_int_value = true;
	note.int_value = sqlite3_column_int64(row, 2);
	event.debug_annotations = notes;
	event.n_debug_annotations = 1;
	event.has_type = event.has_track_uuid = true;
	event.type = PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_INSTANT;
	event.track_uuid = perfetto_uuid(TRACK_LOSSES, 0);
	event.categories = &category;
	event.n_categories = 1;
	event.name = (char *)(uintptr_t)sqlite3_column_text(row, 1);
	packet.track_event = &event;
	perfetto_put(perfetto, &packet, SEQUENCE_LOSSES, number(row, 0));
}

void perfetto_put_losses(struct perfetto *perfetto)
{
	perfetto_each(perfetto,
		      "SELECT time, coalesce(text, 'unknown'), value FROM markers"
		      " WHERE kind = 'loss' AND value > 0 ORDER BY time",
		      put_loss, NULL);
}

/* --- heap profile: allocated and freed bytes by stack --------------------------------------- */

static uint64_t rounded(double value)
{
	return value > 0 && value < 1e18 ? (uint64_t)llround(value) : 0;
}

static void put_dump(struct perfetto *perfetto, sqlite3_stmt *row, void *context)
{
	const struct model_run *run = &perfetto->world->model->run;
	PerfettoPacket packet = PERFETTO__PROTOS__TRACE_PACKET__INIT;
	Perfetto__Protos__ProfilePacket profile = PERFETTO__PROTOS__PROFILE_PACKET__INIT;
	Perfetto__Protos__ProfilePacket__ProcessHeapSamples
		dump = PERFETTO__PROTOS__PROFILE_PACKET__PROCESS_HEAP_SAMPLES__INIT,
		*dumps[] = {&dump};
	Perfetto__Protos__ProfilePacket__HeapSample
		sample = PERFETTO__PROTOS__PROFILE_PACKET__HEAP_SAMPLE__INIT,
		*samples[] = {&sample};
	uint64_t *index = context;

	sample.has_callstack_id = sample.has_self_allocated = sample.has_self_freed = true;
	sample.has_alloc_count = sample.has_free_count = true;
	sample.callstack_id = number(row, 1);
	sample.self_allocated = rounded(sqlite3_column_double(row, 2));
	sample.self_freed = rounded(sqlite3_column_double(row, 3));
	sample.alloc_count = rounded(sqlite3_column_double(row, 4));
	sample.free_count = rounded(sqlite3_column_double(row, 5));
	dump.has_pid = dump.has_timestamp = dump.has_from_startup = dump.from_startup = true;
	dump.pid = number(row, 0);
	dump.timestamp = run->start + run->duration;
	dump.heap_name = (char *)(uintptr_t) "gcprof";
	dump.samples = samples;
	dump.n_samples = 1;
	profile.process_dumps = dumps;
	profile.n_process_dumps = 1;
	profile.has_index = profile.has_continued = true;
	profile.index = (*index)++;
	/* The last column says whether another row follows. */
	profile.continued = number(row, 6) != 0;
	packet.profile_packet = &profile;
	perfetto_put(perfetto, &packet, SEQUENCE_SAMPLES, dump.timestamp);
}

/*
 * An object counts as freed if it is not old or is known to be dead. The rest is what
 * reports call live.
 */
void perfetto_put_heap(struct perfetto *perfetto)
{
	uint64_t index = 0;

	perfetto_each(
		perfetto,
		"SELECT *, lead(1, 1, 0) OVER () FROM (SELECT pid, stacks.site, sum(bytes),"
		" sum(bytes) FILTER (WHERE gone), sum(objects),"
		" sum(objects) FILTER (WHERE gone) FROM (SELECT *, died IS NOT NULL OR"
		" (survived IS NOT 1 AND kind NOT IN ('born old', 'manual')) AS gone FROM samples)"
		" JOIN stacks ON stacks.id = stack"
		" JOIN processes ON processes.id = process GROUP BY process, stacks.site)",
		put_dump, &index);
}
