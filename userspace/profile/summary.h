/* SPDX-License-Identifier: BSD-2-Clause */
/* summary.h: the facts about a recording in a profile, without its events. */
#ifndef GCPROF_SUMMARY_H
#define GCPROF_SUMMARY_H

#include <stdbool.h>

#include "paused.h"
#include "reader.h"
#include "../util/buffer.h"

#define SUMMARY_STREAMS 16  /* codes below this are shown */
#define SUMMARY_LOSSES  128 /* likewise */

struct summary_pair {
	char *key; /* NULL for a word of the command */
	char *value;
};

/* A file that a merged profile was made of: the record, whose texts are these. */
struct summary_source {
	struct record_source record;
	char *path, *host, *command;
};

struct summary_stream {
	bool known;
	bool attached;
	uint64_t why; /* enum stream_why */
	char *name;
	char *why_not;   /* see stream_why_not() */
	uint64_t events; /* number of records of the stream's own kinds */
};

struct summary_loss {
	bool known;
	uint64_t stream, severity; /* as in records.def */
	uint64_t count;
	char *name;
	char *text, *one; /* `one` where the count is 1 */
};

/* All texts are terminated by a zero. */
struct summary {
	struct profile_status status;
	struct buffer facts;       /* struct summary_pair[]: meta records */
	struct buffer command;     /* the same: argument records */
	struct buffer clocks;      /* struct record_clock[] */
	struct buffer runtimes;    /* struct summary_pair[]: name and version, note */
	struct buffer providers;   /* the same, for providers */
	struct buffer unsampled;   /* the same, for those without samples in some process */
	struct buffer sources;     /* struct summary_source[] */
	struct buffer window_ends; /* private: uint64_t[], by recording: end of its last window */
	struct buffer texts;       /* private: zero-terminated strings, the first ones */
	struct buffer text_at;     /* private: uint32_t[], by string: its offset in `texts` */
	struct record_recording recording;
	bool has_recording;
	struct record_end end;
	bool has_end;
	uint64_t last_time; /* of any record */
	struct paused paused;
	struct {
		uint64_t traced_ns;   /* while system calls were traced */
		uint64_t untraced_ns; /* between two windows, or after the last */
	} tracing;
	struct summary_stream streams[SUMMARY_STREAMS];
	struct summary_loss losses[SUMMARY_LOSSES];
};

/* Reads all records. -ENOMEM, or the source's error; call summary_free() in any case. */
int summary_read(struct profile_reader *reader, struct summary *out);
void summary_free(struct summary *summary);

/* Drift of the clocks against CLOCK_MONOTONIC between the first and the last pair. */
struct summary_clock {
	size_t pairs;
	uint64_t bracket_ns;  /* the widest bracket: accuracy of a pair */
	int64_t offset_ns;    /* CLOCK_REALTIME minus CLOCK_MONOTONIC at the first pair */
	int64_t step_ns;      /* change of that until the last pair */
	double realtime_ppm;  /* the same as a rate */
	double tsc_mhz;       /* 0: there is no time stamp counter */
	double tsc_stray_ns;  /* greatest deviation of any pair from that rate */
	double tsc_stray_ppm; /* the same relative to the time between first and last pair */
};

void summary_clock(const struct summary *summary, struct summary_clock *out);

#endif
