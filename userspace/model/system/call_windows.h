/* SPDX-License-Identifier: BSD-2-Clause */
/* call_windows.h: estimates of system calls that were made outside of tracing windows. */
/*
 * A recorder that must not cost too much traces system calls in windows. What a program did in the
 * gaps is estimated by the CPU time that each process used in them. README.md, "System calls that
 * were not traced", derives the estimates. Not thread-safe.
 */
#ifndef GCPROF_CALL_WINDOWS_H
#define GCPROF_CALL_WINDOWS_H

#include "../../profile/record.h"
#include "../world/estimate.h"

struct arena;
struct map;

enum call_figure { CALL_COUNT, CALL_NS, CALL_FIGURES };

#define CALL_ALL UINT64_MAX /* in place of a call's number: all calls together */

/* Those of one recording: in a merged profile there are several. */
struct window_set {
	struct window_set *next;
	uint64_t recording;          /* its number; 0: the only one */
	struct call_sum *all;        /* calls together */
	struct window_process *pool; /* those that windows have seen little of, together */
	struct window_process *open; /* with CPU time that is not estimated from yet */
	uint64_t end, windows;       /* of the last one; so many, with gaps between */
	double traced_ns, gaps_ns;   /* by the clock */
	double call_ns;              /* what tracing a call took so far */
	uint64_t sample;             /* number of the one that is taken */
	double gap;                  /* CPU time that it stands for; of all, and squared */
	double gaps, gap_squares;
	double own;             /* CPU time in windows, no more than in the gap before each */
	uint64_t recording_end; /* if it is known; else 0 */
};

struct call_windows {
	struct arena *arena;
	struct map *items;       /* {process, number of the call} -> what is known of it */
	struct window_set *sets; /* of each recording that has calls, the last first */
};

/* 0 or -ENOMEM; call_windows_free() in any case. */
int call_windows_init(struct call_windows *windows);
void call_windows_free(struct call_windows *windows);

/* The totals of a call in a process of a recording are now by so much greater. 0 or -ENOMEM. */
int call_windows_calls(struct call_windows *windows, uint64_t recording, uint64_t process,
		       uint64_t call, const double more[CALL_FIGURES]);

/* A process of a recording has now used that much CPU time. 0, -ENOMEM or -EBADMSG. */
int call_windows_cpu(struct call_windows *windows, uint64_t recording,
		     const struct record_call_cpu *record);

/* What totals and CPU time grew by was in this window and the gap before: 0, -ENOMEM or -EBADMSG.
 * *gap: when that began; 0: there was none before. */
int call_windows_add(struct call_windows *windows, const struct record_call_window *record,
		     uint64_t *gap);

/* A recording ended at `end`: 0, -ENOMEM or -EBADMSG. */
int call_windows_end(struct call_windows *windows, uint64_t recording, uint64_t end);

/* All recordings have ended; where that time is not known, there is no gap after the last window.
 */
void call_windows_finish(struct call_windows *windows);

/*
 * After call_windows_finish(): `traced` of a call, or of all together, and what was not traced.
 * false: nothing is known to be missing. Profiles of old versions do not have the CPU time to
 * estimate by.
 */
bool call_windows_estimate(const struct call_windows *windows, uint64_t call,
			   enum call_figure figure, double traced, struct estimate *out);

/* What a process did in gaps. */
double call_windows_of(const struct call_windows *windows, uint64_t recording, uint64_t process,
		       enum call_figure figure);

/* Of all recordings together. */
struct window_times {
	uint64_t windows;          /* with gaps between */
	double traced_ns, gaps_ns; /* by the clock */
	bool estimated;            /* what was done in gaps */
};

struct window_times call_windows_times(const struct call_windows *windows);

#endif
