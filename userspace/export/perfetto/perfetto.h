/* SPDX-License-Identifier: BSD-2-Clause */
/* perfetto.h: private to perfetto*.c: an export for Perfetto in progress. */
/*
 * A trace is a list of packets, and each packet belongs to a sequence. Stacks are defined
 * at the start of the sequence that uses them, that of the samples. Each thread has a
 * sequence for its slices, which are nested and ordered by time. All data comes from the
 * database that the export to SQLite makes.
 */
#ifndef GCPROF_PERFETTO_H
#define GCPROF_PERFETTO_H

#include "../../util/buffer.h"
#include "../output.h"
#include "../sql/sql.h"

#include "export/perfetto/perfetto.pb-c.h"

typedef Perfetto__Protos__TracePacket PerfettoPacket;
typedef Perfetto__Protos__TrackEvent PerfettoEvent;

enum { CLOCK_ID_REALTIME = 1, CLOCK_ID_MONOTONIC = 3, CLOCK_ID_MONOTONIC_COARSE = 4 };

/* Kinds of tracks. A kind and the number of the track's subject form its uuid. */
enum perfetto_track {
	TRACK_PROCESS = 1,
	TRACK_THREAD,
	TRACK_PHASES,
	TRACK_CYCLES,
	TRACK_SUMS,  /* of short collections */
	TRACK_WAITS, /* of a thread */
	TRACK_LOSSES,
	TRACK_PAUSED,  /* of a recording */
	TRACK_AREA,    /* of a heap */
	TRACK_COUNTER, /* and the following: one for each column of counters */
};

enum perfetto_sequence {
	SEQUENCE_TRACKS = 1, /* clock and track descriptions */
	SEQUENCE_SAMPLES,
	SEQUENCE_COUNTERS,
	SEQUENCE_AREAS,
	SEQUENCE_PHASES,
	SEQUENCE_CYCLES,
	SEQUENCE_SUMS,
	SEQUENCE_LOSSES,
	SEQUENCE_PAUSED,
	SEQUENCE_THREADS /* and the following: one for each thread */
};

struct perfetto {
	struct sql *sql;
	const struct world *world;
	struct output *output;
	struct buffer packed; /* the current packet */
	uint32_t sequence;    /* of the last packet */
	uint64_t size;        /* bytes of the trace so far */
	uint64_t limit;       /* of its size */
	uint64_t call_min_ns; /* shorter system calls are left out */
	bool measures;        /* only finds out the size */
	int error;
};

/* Completes and writes a packet; `time` 0: without a time. */
void perfetto_put(struct perfetto *perfetto, PerfettoPacket *packet, uint32_t sequence,
		  uint64_t time);

static inline uint64_t perfetto_uuid(uint64_t track, uint64_t number)
{
	return track << 48 | (number & ((UINT64_C(1) << 48) - 1));
}

/*
 * Runs a statement and passes each row to `row`. An error is kept in perfetto->error, after
 * which nothing more is done.
 */
typedef void perfetto_row(struct perfetto *perfetto, struct sqlite3_stmt *row, void *context);
void perfetto_each(struct perfetto *perfetto, const char *sql, perfetto_row *row, void *context);

/* perfetto_stacks.c: functions, frames and stacks. */
void perfetto_put_stacks(struct perfetto *perfetto);

/* perfetto_events.c: timer samples, allocations, waits, page faults, the heap. */
void perfetto_put_samples(struct perfetto *perfetto);
void perfetto_put_counters(struct perfetto *perfetto);
void perfetto_put_losses(struct perfetto *perfetto);
void perfetto_put_heap(struct perfetto *perfetto);

/* perfetto_slices.c: collections, system calls, phases and pauses of the recording. */
void perfetto_put_slices(struct perfetto *perfetto);

#endif
