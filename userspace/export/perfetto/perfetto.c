/* SPDX-License-Identifier: BSD-2-Clause */
/* perfetto.c: exports to Perfetto: slices, counters and samples on one timeline. */
#include "perfetto.h"

#include <errno.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

enum { FLAG_CLEARED = 1, FLAG_NEEDS_STATE = 2 };

void perfetto_put(struct perfetto *perfetto, PerfettoPacket *packet, uint32_t sequence,
		  uint64_t time)
{
	Perfetto__Protos__Trace trace = PERFETTO__PROTOS__TRACE__INIT;
	bool first = perfetto->sequence != sequence;
	size_t size;

	packet->has_trusted_packet_sequence_id = true;
	packet->trusted_packet_sequence_id = sequence;
	/* Each sequence is written without interruption. */
	packet->has_first_packet_on_sequence = packet->first_packet_on_sequence = first;
	packet->has_sequence_flags = true;
	packet->sequence_flags = first ? FLAG_CLEARED : FLAG_NEEDS_STATE;
	perfetto->sequence = sequence;
	if (time) {
		packet->has_timestamp = packet->has_timestamp_clock_id = true;
		packet->timestamp = time;
		packet->timestamp_clock_id = CLOCK_ID_MONOTONIC;
	}
	trace.packet = &packet;
	trace.n_packet = 1;
	size = perfetto__protos__trace__get_packed_size(&trace);
	perfetto->size += size;
	if (perfetto->measures)
		return;
	if (perfetto->size > perfetto->limit) {
		perfetto->error = -EFBIG;
		return;
	}
	perfetto->packed.size = 0;
	if (buffer_reserve(&perfetto->packed, size + 1) < 0) {
		perfetto->error = -ENOMEM;
		return;
	}
	size = perfetto__protos__trace__pack(&trace, (uint8_t *)perfetto->packed.data);
	output_bytes(perfetto->output, perfetto->packed.data, size);
}

void perfetto_each(struct perfetto *perfetto, const char *sql, perfetto_row *row, void *context)
{
	sqlite3 *connection = database_connection(perfetto->sql->database);
	sqlite3_stmt *statement = NULL;
	int status = SQLITE_DONE;

	if (perfetto->error)
		return;
	if (sqlite3_prepare_v2(connection, sql, -1, &statement, NULL) != SQLITE_OK) {
		perfetto->error = sqlite3_errcode(connection) == SQLITE_NOMEM ? -ENOMEM : -EIO;
		return;
	}
	while (!perfetto->error && (status = sqlite3_step(statement)) == SQLITE_ROW)
		row(perfetto, statement, context);
	if (!perfetto->error && status != SQLITE_DONE)
		perfetto->error = status == SQLITE_NOMEM ? -ENOMEM : -EIO;
	sqlite3_finalize(statement);
}

/* --- clock, processes and threads -------------------------------------------------------- */

/* The trace uses MONOTONIC. Perfetto assumes MONOTONIC_COARSE for heap dumps. */
static void put_clock(struct perfetto *perfetto)
{
	const struct model_run *run = &perfetto->world->model->run;
	const struct {
		uint32_t id;
		uint64_t time;
	} readings[] = {{CLOCK_ID_MONOTONIC, run->start},
			{CLOCK_ID_MONOTONIC_COARSE, run->start},
			{CLOCK_ID_REALTIME, run->realtime}};
	PerfettoPacket packet = PERFETTO__PROTOS__TRACE_PACKET__INIT;
	Perfetto__Protos__ClockSnapshot snapshot = PERFETTO__PROTOS__CLOCK_SNAPSHOT__INIT;
	Perfetto__Protos__ClockSnapshot__Clock clocks[3], *list[3];

	for (size_t i = 0; i < 3; i++) {
		list[i] = &clocks[i];
		perfetto__protos__clock_snapshot__clock__init(list[i]);
		clocks[i].has_clock_id = clocks[i].has_timestamp = true;
		clocks[i].clock_id = readings[i].id;
		clocks[i].timestamp = readings[i].time;
	}
	snapshot.clocks = list;
	snapshot.n_clocks = run->realtime ? 3 : 2;
	snapshot.has_primary_trace_clock = true;
	snapshot.primary_trace_clock = CLOCK_ID_MONOTONIC;
	packet.clock_snapshot = &snapshot;
	perfetto_put(perfetto, &packet, SEQUENCE_TRACKS, run->start);
}

static void put_track(struct perfetto *perfetto, Perfetto__Protos__TrackDescriptor *track,
		      uint64_t uuid)
{
	PerfettoPacket packet = PERFETTO__PROTOS__TRACE_PACKET__INIT;

	track->has_uuid = true;
	track->uuid = uuid;
	packet.track_descriptor = track;
	perfetto_put(perfetto, &packet, SEQUENCE_TRACKS, 0);
}

static char *column_text(sqlite3_stmt *row, int column)
{
	return (char *)(uintptr_t)sqlite3_column_text(row, column);
}

static void put_process(struct perfetto *perfetto, sqlite3_stmt *row, void *context)
{
	Perfetto__Protos__TrackDescriptor track = PERFETTO__PROTOS__TRACK_DESCRIPTOR__INIT;
	Perfetto__Protos__ProcessDescriptor process = PERFETTO__PROTOS__PROCESS_DESCRIPTOR__INIT;
	char *runtimes = column_text(row, 3);

	(void)context;
	process.has_pid = true;
	process.pid = (int32_t)sqlite3_column_int64(row, 1);
	process.process_name = column_text(row, 2);
	if (runtimes) {
		process.process_labels = &runtimes;
		process.n_process_labels = 1;
	}
	track.process = &process;
	put_track(perfetto, &track,
		  perfetto_uuid(TRACK_PROCESS, (uint64_t)sqlite3_column_int64(row, 0)));
}

static void put_thread(struct perfetto *perfetto, sqlite3_stmt *row, void *context)
{
	Perfetto__Protos__TrackDescriptor track = PERFETTO__PROTOS__TRACK_DESCRIPTOR__INIT;
	Perfetto__Protos__ThreadDescriptor thread = PERFETTO__PROTOS__THREAD_DESCRIPTOR__INIT;

	(void)context;
	thread.has_pid = thread.has_tid = true;
	thread.pid = (int32_t)sqlite3_column_int64(row, 2);
	thread.tid = (int32_t)sqlite3_column_int64(row, 3);
	thread.thread_name = column_text(row, 4);
	track.thread = &thread;
	track.has_parent_uuid = true;
	track.parent_uuid = perfetto_uuid(TRACK_PROCESS, (uint64_t)sqlite3_column_int64(row, 1));
	put_track(perfetto, &track,
		  perfetto_uuid(TRACK_THREAD, (uint64_t)sqlite3_column_int64(row, 0)));
}

/* Below its thread: waits carry stacks, which slices in the thread's own sequence cannot. */
static void put_waits_track(struct perfetto *perfetto, sqlite3_stmt *row, void *context)
{
	Perfetto__Protos__TrackDescriptor track = PERFETTO__PROTOS__TRACK_DESCRIPTOR__INIT;
	uint64_t thread = (uint64_t)sqlite3_column_int64(row, 0);

	(void)context;
	track.name = (char *)(uintptr_t) "off the CPU";
	track.has_parent_uuid = true;
	track.parent_uuid = perfetto_uuid(TRACK_THREAD, thread);
	put_track(perfetto, &track, perfetto_uuid(TRACK_WAITS, thread));
}

/* A row for a heap; the first row of a heap numbers it. */
static void put_heap_track(struct perfetto *perfetto, sqlite3_stmt *row, const char *name,
			   uint64_t kind)
{
	Perfetto__Protos__TrackDescriptor track = PERFETTO__PROTOS__TRACK_DESCRIPTOR__INIT;

	track.name = (char *)(uintptr_t)name;
	track.has_parent_uuid = true;
	track.parent_uuid = perfetto_uuid(TRACK_PROCESS, (uint64_t)sqlite3_column_int64(row, 1));
	put_track(perfetto, &track, perfetto_uuid(kind, (uint64_t)sqlite3_column_int64(row, 0)));
}

static void put_phases_track(struct perfetto *perfetto, sqlite3_stmt *row, void *context)
{
	(void)context;
	put_heap_track(perfetto, row, "major collector", TRACK_PHASES);
}

static void put_cycles_track(struct perfetto *perfetto, sqlite3_stmt *row, void *context)
{
	(void)context;
	put_heap_track(perfetto, row, "concurrent collector", TRACK_CYCLES);
}

static void put_sums_track(struct perfetto *perfetto, sqlite3_stmt *row, void *context)
{
	(void)context;
	put_heap_track(perfetto, row, "short collections", TRACK_SUMS);
}

static void put_bytes_track(struct perfetto *perfetto, const char *name, uint64_t process,
			    uint64_t uuid)
{
	Perfetto__Protos__TrackDescriptor track = PERFETTO__PROTOS__TRACK_DESCRIPTOR__INIT;
	Perfetto__Protos__CounterDescriptor counter = PERFETTO__PROTOS__COUNTER_DESCRIPTOR__INIT;

	counter.has_unit = true;
	counter.unit = PERFETTO__PROTOS__COUNTER_DESCRIPTOR__UNIT__UNIT_SIZE_BYTES;
	track.name = (char *)(uintptr_t)name;
	track.counter = &counter;
	track.has_parent_uuid = true;
	track.parent_uuid = perfetto_uuid(TRACK_PROCESS, process);
	put_track(perfetto, &track, uuid);
}

/* The first row of an area numbers it. */
static void put_area_track(struct perfetto *perfetto, sqlite3_stmt *row, void *context)
{
	(void)context;
	put_bytes_track(perfetto, column_text(row, 2), (uint64_t)sqlite3_column_int64(row, 1),
			perfetto_uuid(TRACK_AREA, (uint64_t)sqlite3_column_int64(row, 0)));
}

static void put_counter_track(struct perfetto *perfetto, sqlite3_stmt *row, void *context)
{
	static const char *const names[] = {"nursery", "old generation", "live", "RSS"};
	uint64_t process = (uint64_t)sqlite3_column_int64(row, 0);

	(void)context;
	for (uint64_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		put_bytes_track(perfetto, names[i], process,
				perfetto_uuid(TRACK_COUNTER + i, process));
}

static void put_paused_track(struct perfetto *perfetto, sqlite3_stmt *row, void *context)
{
	Perfetto__Protos__TrackDescriptor track = PERFETTO__PROTOS__TRACK_DESCRIPTOR__INIT;

	(void)context;
	track.name = column_text(row, 1);
	put_track(perfetto, &track,
		  perfetto_uuid(TRACK_PAUSED, (uint64_t)sqlite3_column_int64(row, 0)));
}

static void put_losses_track(struct perfetto *perfetto, sqlite3_stmt *row, void *context)
{
	Perfetto__Protos__TrackDescriptor track = PERFETTO__PROTOS__TRACK_DESCRIPTOR__INIT;

	(void)row;
	(void)context;
	track.name = (char *)(uintptr_t) "gcprof: losses";
	put_track(perfetto, &track, perfetto_uuid(TRACK_LOSSES, 0));
}

static void put_tracks(struct perfetto *perfetto)
{
	perfetto_each(
		perfetto,
		"SELECT id, pid, name, (SELECT group_concat(runtimes.name || ' ' || version, ', ')"
		" FROM runtimes WHERE process = processes.id) FROM processes",
		put_process, NULL);
	perfetto_each(perfetto,
		      "SELECT threads.id, process, pid, tid, threads.name FROM threads"
		      " JOIN processes ON processes.id = process",
		      put_thread, NULL);
	perfetto_each(perfetto, "SELECT DISTINCT thread FROM waits", put_waits_track, NULL);
	perfetto_each(perfetto, "SELECT min(id), process FROM phases GROUP BY process, heap",
		      put_phases_track, NULL);
	perfetto_each(perfetto, "SELECT min(id), process FROM gc_cycles GROUP BY process, heap",
		      put_cycles_track, NULL);
	perfetto_each(perfetto,
		      "SELECT min(id), process FROM collection_sums GROUP BY process, heap, kind",
		      put_sums_track, NULL);
	perfetto_each(perfetto, "SELECT DISTINCT process FROM heap", put_counter_track, NULL);
	perfetto_each(perfetto,
		      "SELECT min(id), process, coalesce(name, 'unnamed area') FROM heap_areas"
		      " GROUP BY process, name",
		      put_area_track, NULL);
	perfetto_each(perfetto, "SELECT 1 FROM markers WHERE kind = 'loss' AND value > 0 LIMIT 1",
		      put_losses_track, NULL);
	perfetto_each(perfetto,
		      "SELECT DISTINCT coalesce(recording, 0),"
		      " 'gcprof: recording' || coalesce(' ' || recording, '')"
		      " FROM recording_pauses",
		      put_paused_track, NULL);
}

/* --- the exporter ------------------------------------------------------------------------------
 */

static void put_all(struct perfetto *perfetto)
{
	perfetto->sequence = 0;
	perfetto->size = 0;
	put_clock(perfetto);
	put_tracks(perfetto);
	perfetto_put_stacks(perfetto);
	perfetto_put_samples(perfetto);
	perfetto_put_heap(perfetto);
	perfetto_put_counters(perfetto);
	perfetto_put_losses(perfetto);
	perfetto_put_slices(perfetto);
}

/* The size of the trace without calls shorter than this. */
static uint64_t size_without(struct perfetto *perfetto, uint64_t call_min_ns)
{
	perfetto->call_min_ns = call_min_ns;
	perfetto->measures = true;
	put_all(perfetto);
	perfetto->measures = false;
	return perfetto->size;
}

static void take_number(struct perfetto *perfetto, sqlite3_stmt *row, void *context)
{
	(void)perfetto;
	*(uint64_t *)context = (uint64_t)sqlite3_column_int64(row, 0);
}

static uint64_t count_calls(struct perfetto *perfetto)
{
	uint64_t calls = 0;
	char sql[96];

	snprintf(sql, sizeof(sql), "SELECT count(*) FROM syscalls WHERE duration_ns >= %" PRIu64,
		 perfetto->call_min_ns);
	perfetto_each(perfetto, sql, take_number, &calls);
	return calls;
}

/* The duration of the longest call after `calls` longer ones; 0: there are not so many. */
static uint64_t next_longest(struct perfetto *perfetto, uint64_t calls)
{
	uint64_t duration = 0;
	char sql[112];

	snprintf(sql, sizeof(sql),
		 "SELECT duration_ns FROM syscalls ORDER BY 1 DESC LIMIT 1 OFFSET %" PRIu64, calls);
	perfetto_each(perfetto, sql, take_number, &duration);
	return duration;
}

/* Leaves out the shortest system calls if the trace would be too large. */
static void choose_calls(struct perfetto *perfetto)
{
	uint64_t limit = perfetto->limit, all = size_without(perfetto, 0), others, calls, kept;
	struct export_job *job = &perfetto->sql->job;

	if (all <= limit)
		return;
	calls = kept = count_calls(perfetto);
	others = size_without(perfetto, INT64_MAX);
	if (others > limit) {
		perfetto->error = -EFBIG;
		return;
	}
	kept = (uint64_t)((double)kept * (double)(limit - others) / (double)(all - others));
	/* Long calls may have longer texts than others, or many calls may be equally long. */
	while (size_without(perfetto, kept ? next_longest(perfetto, kept) + 1 : INT64_MAX) > limit)
		kept -= (kept + 9) / 10;
	snprintf(job->note, sizeof(job->note),
		 "%" PRIu64 " of %" PRIu64 " system calls are shown, the longest; the complete "
		 "trace would be larger than --max-size",
		 count_calls(perfetto), calls);
}

static int finish(struct model_observer *observer, const struct world *world)
{
	struct sql *sql = (struct sql *)observer;
	struct perfetto perfetto = {.sql = sql,
				    .world = world,
				    .output = sql->job.output,
				    .limit = sql->job.options.limit};

	perfetto.error = sql_fill(observer, world);
	if (!perfetto.error && perfetto.limit < UINT64_MAX)
		choose_calls(&perfetto);
	if (!perfetto.error)
		put_all(&perfetto);
	buffer_free(&perfetto.packed);
	return perfetto.error;
}

static int create(struct export_job **out)
{
	return sql_create_job(finish, out);
}

/* The ends of the first packet: sequence 1 with cleared state, on the clock 3, its first packet. */
#define FIRST_PACKET "\x50\x01\x68\x01\xd0\x03\x03\xb8\x05\x01"

const struct exporter exporter_perfetto = {
	.name = "perfetto",
	.suffix = ".perfetto-trace",
	.mark = {-1, FIRST_PACKET},
	.summary = "for ui.perfetto.dev: collections, system calls, heap, samples on a timeline",
	.limit = UINT64_MAX,
	.thins = "system calls",
	.create = create,
};
