/* SPDX-License-Identifier: BSD-2-Clause */
/* call_windows.h: estimates of system calls that were made outside of tracing windows. */
/*
 * A recorder that must not cost too much traces system calls in windows. What a program did in the
 * gaps is estimated by the CPU time that each process used in them. README.md, "System calls that
 * were not traced", derives the estimates.
 */
#ifndef GCPROF_CALL_WINDOWS_H
#define GCPROF_CALL_WINDOWS_H

#include "../profile/record.h"
#include "estimate.h"

struct map;

enum call_figure { CALL_COUNT, CALL_NS, CALL_FIGURES };

/* What is estimated of one call over all processes. */
struct call_gaps {
	double more[CALL_FIGURES];    /* in the gaps */
	double squares[CALL_FIGURES]; /* of the samples that it is estimated from */
	double sample[CALL_FIGURES];  /* the last of them, and its number */
	uint64_t number;
	double doubt;    /* calls: tracing may have cost more, or less */
	double by_clock; /* ns in the gaps, if the clock were the scale */
};

struct window_process {
	uint64_t traced, untraced; /* CPU time so far, ns */
	double cpu, gap, calls;    /* since its last window: CPU time in that and the gap, calls */
	double own; /* CPU time in windows without what tracing took; which may be off by a part */
	double doubt;
	double more[CALL_FIGURES]; /* in gaps */
	unsigned windows;
	size_t first, next; /* of its totals that grew; the next process with CPU time */
	bool open;          /* is such a process */
};

struct call_windows {
	struct window_total *totals; /* by the number that the caller gave them, from 1 */
	size_t n_totals, totals_capacity;
	struct window_process *processes; /* by id */
	size_t n_processes, processes_capacity;
	size_t open;            /* first of those with CPU time since the last window */
	struct call_gaps *sums; /* 0: all calls together */
	size_t n_sums, sums_capacity;
	struct map *sum_index;     /* number of the call -> item */
	uint64_t end, windows;     /* of the last one; so many, with gaps between */
	uint64_t sample;           /* number of the one that is taken */
	double traced_ns, gaps_ns; /* by the clock */
	double by_clock;           /* the last gap by its window */
	double call_ns;            /* what tracing a call took so far */
	double untraced, own;      /* CPU time: of all gaps; in windows behind gaps */
	/* That no window saw; `own` is of those that stand for them, which were in as many
	 * `windows` at most. */
	struct window_process strangers;
};

/* 0 or -ENOMEM; call_windows_free() in any case. Not thread-safe. */
int call_windows_init(struct call_windows *windows);
void call_windows_free(struct call_windows *windows);

/* Total number `item`, from 1, of this call in this process, is now at these figures. Ids of
 * processes are dense. 0 or -ENOMEM. */
int call_windows_total(struct call_windows *windows, size_t item, uint64_t process, uint64_t call,
		       const uint64_t figures[CALL_FIGURES]);

/* A process has now used that much CPU time. 0 or -ENOMEM. */
int call_windows_cpu(struct call_windows *windows, const struct record_call_cpu *record);

/* What totals and CPU time grew by was in this window and the gap before. 0, -EBADMSG, -ENOMEM. */
int call_windows_add(struct call_windows *windows, const struct record_call_window *record);

/* The recording ended at `end`; 0: not known, there is no gap after the last window. */
void call_windows_finish(struct call_windows *windows, uint64_t end);

/* The gaps of a call, or of all together, only after call_windows_finish(), as what follows. NULL:
 * nothing is known to be missing. Profiles of old versions do not have the CPU time to estimate by.
 */
const struct call_gaps *call_windows_gaps(const struct call_windows *windows, uint64_t call);
const struct call_gaps *call_windows_all(const struct call_windows *windows);

/* What a process did in gaps. */
double call_windows_of(const struct call_windows *windows, uint64_t process,
		       enum call_figure figure);

/* `traced` and what was not, with its interval. */
struct estimate call_windows_estimate(const struct call_windows *windows,
				      const struct call_gaps *gaps, enum call_figure figure,
				      double traced);

#endif
