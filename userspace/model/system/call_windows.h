/* SPDX-License-Identifier: BSD-2-Clause */
/* call_windows.h: estimates system calls made outside of tracing windows. */
/*
 * To limit overhead, the recorder may trace system calls in windows only. Calls in the gaps are
 * estimated from the CPU time that each process used there. README.md derives the estimates under
 * "System calls that were not traced". Not thread-safe.
 */
#ifndef GCPROF_CALL_WINDOWS_H
#define GCPROF_CALL_WINDOWS_H

#include "../../profile/paused.h"
#include "../../profile/record.h"
#include "../world/estimate.h"

struct arena;
struct map;

enum call_figure { CALL_COUNT, CALL_NS, CALL_FIGURES };

#define CALL_ALL UINT64_MAX /* as a call number: all calls together */

enum { WINDOWS_KEPT = 16 };

/* The windows of one recording; a merged profile has several. */
struct window_set {
	struct window_set *next;
	uint64_t recording;          /* its number; 0: the only one */
	struct call_sum *all;        /* all calls together */
	struct window_process *pool; /* processes with little CPU time in windows so far, as one */
	struct window_process *open; /* with CPU time not yet used in a sample */
	/* The last windows, and the wall time of those before. */
	struct {
		uint64_t begin;
		double before_ns;
	} last[WINDOWS_KEPT];
	uint64_t count;            /* number of windows */
	uint64_t end, windows;     /* end of the last one; number of windows with gaps between */
	double traced_ns, gaps_ns; /* wall time */
	double call_ns;            /* cost of tracing a call, latest figure */
	uint64_t sample;           /* number of the current sample */
	double gap;                /* its CPU time in gaps; sums over all samples, and squared */
	double gaps, gap_squares;
	double own;             /* CPU time in windows, capped at that of the gap before each */
	uint64_t recording_end; /* 0: unknown */
};

struct call_windows {
	struct arena *arena;
	struct map *items;       /* {process, call number} -> item */
	struct window_set *sets; /* one per recording with calls, the last first */
};

/* 0 or -ENOMEM; call call_windows_free() in any case. */
int call_windows_init(struct call_windows *windows);
void call_windows_free(struct call_windows *windows);

/* The totals of a call in a process of a recording have grown by `more`. 0 or -ENOMEM. */
int call_windows_calls(struct call_windows *windows, uint64_t recording, uint64_t process,
		       uint64_t call, const double more[CALL_FIGURES]);

/*
 * Updates the CPU time that a process of a recording has used, and which was first seen at `since`.
 * 0, -ENOMEM or -EBADMSG.
 */
int call_windows_cpu(struct call_windows *windows, uint64_t recording, uint64_t since,
		     const struct record_call_cpu *record);

/*
 * Ends a window: the growth of totals and CPU time belongs to it and to the gap before it. 0,
 * -ENOMEM or -EBADMSG. *gap: start of that gap; 0: none.
 */
int call_windows_add(struct call_windows *windows, const struct record_call_window *record,
		     uint64_t *gap);

/* A recording was paused: that time is no gap. 0 or -ENOMEM. */
int call_windows_skip(struct call_windows *windows, const struct paused_time *pause);

/* A recording ended at `end`. 0, -ENOMEM or -EBADMSG. */
int call_windows_end(struct call_windows *windows, uint64_t recording, uint64_t end);

/* All recordings have ended. If the end of one is unknown, there is no gap after its last window.
 */
void call_windows_finish(struct call_windows *windows);

/*
 * Call after call_windows_finish(). Sets *out to `traced` plus the estimate for the gaps, for one
 * call or for CALL_ALL. Returns false if nothing is known to be missing. Old profiles lack the
 * CPU time that estimates need.
 */
bool call_windows_estimate(const struct call_windows *windows, uint64_t call,
			   enum call_figure figure, double traced, struct estimate *out);

/* Estimate of what a process did in gaps. */
double call_windows_of(const struct call_windows *windows, uint64_t recording, uint64_t process,
		       enum call_figure figure);

/* Sums over all recordings. */
struct window_times {
	uint64_t windows;          /* with gaps between */
	double traced_ns, gaps_ns; /* wall time */
	bool estimated;            /* there are estimates for gaps */
};

struct window_times call_windows_times(const struct call_windows *windows);

#endif
