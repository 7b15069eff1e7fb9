/* SPDX-License-Identifier: BSD-2-Clause */
/* looks.h: system calls were traced in windows of time only: estimates of those in the gaps. */
/*
 * A recorder that must not cost too much traces system calls in windows. The `look` records say
 * when; looks that follow each other at once are one window. What the program did in the gaps
 * is estimated by the CPU time that each process used in them. README.md derives the estimates,
 * "System calls that were not traced".
 */
#ifndef GCPROF_LOOKS_H
#define GCPROF_LOOKS_H

#include "../profile/record.h"
#include "estimate.h"
#include "model.h"

struct map;

/* What a total is made of. */
enum look_figure {
	LOOK_COUNT,
	LOOK_TOTAL_NS,
	LOOK_ERRORS,
	LOOK_GC_COUNT,
	LOOK_GC_NS,
	LOOK_WAITS,
	LOOK_WAIT_NS,
	LOOK_FIGURES
};

enum { LOOK_SPREADS = 2 }; /* the count and the time have intervals */

/* How much a sum may be off, see variance_of(). */
struct look_spread {
	double differences[LOOK_SPREADS]; /* between neighbours, squared and weighted */
	double compared;                  /* so many of them */
	double reach;  /* sum of (CPU time that a window stands for)^2 / its own, ns */
	double gaps;   /* CPU time in the gaps, ns */
	double chance; /* the least variance that a count has */
	double doubt;  /* calls: tracing may cost more or less than it is thought to */
	double wall;   /* ns: the time of calls, if it were scaled by the clock, less what it is */
	double strangers[LOOK_SPREADS]; /* variance of what others than those that were seen did */
};

/* One call over all processes; item 0 is all calls together. */
struct look_sum {
	double more[LOOK_FIGURES]; /* in the gaps */
	struct look_spread spread;
	/* Of the window at hand: what there was, what the one before lets expect; CPU time of the
	 * processes that made such calls, there and before. */
	double now[LOOK_SPREADS], expected[LOOK_SPREADS];
	double cpu, cpu_before;
	double rate[LOOK_SPREADS]; /* in the last window that had some, per ns of CPU time */
	bool touched;
};

struct looks {
	struct look_total *totals; /* by the number that the caller gave them, from 1 */
	size_t totals_capacity, n_totals;
	size_t *grown; /* totals that grew since the last look */
	size_t n_grown, grown_capacity;
	struct look_process *processes;
	size_t n_processes, processes_capacity;
	struct map *process_index;
	size_t *fresh; /* processes of which something is known since the last look */
	size_t n_fresh, fresh_capacity;
	size_t *open; /* processes with CPU time in the window at hand */
	size_t n_open, open_capacity;
	struct look_sum *sums;
	size_t n_sums, sums_capacity;
	struct map *sum_index; /* number of the call -> item */
	size_t *touched;       /* sums of the window that is being closed */
	size_t n_touched, touched_capacity;
	uint64_t begin, end;     /* of the window at hand; both 0: none yet */
	uint64_t windows;        /* so far */
	double call_ns;          /* what tracing a call took so far */
	double seen_ns, gaps_ns; /* in all, of windows and gaps that are over */
	bool measured;           /* CPU time in gaps is known */
};

/* 0 or -ENOMEM; looks_free() in any case. Not for several threads at once. */
int looks_init(struct looks *looks);
void looks_free(struct looks *looks);

/* Total number `item`, from 1, of this call in this process, is now at these figures. 0 or -ENOMEM.
 */
int looks_total(struct looks *looks, size_t item, uint64_t process, uint64_t call,
		const uint64_t figures[LOOK_FIGURES]);

/* A process has now used that much CPU time. 0 or -ENOMEM. */
int looks_cpu(struct looks *looks, const struct record_call_cpu *record);

/* What totals grew by since the last look was in this one. 0, -EBADMSG: it cannot be, -ENOMEM. */
int looks_look(struct looks *looks, const struct record_look *record);

/* The recording ended at `end`; 0: nobody knows when, there is no gap after the last look. 0 or
 * -ENOMEM. */
int looks_finish(struct looks *looks, uint64_t end);

/* There were gaps: totals are not all. Only after looks_finish(), as what follows. */
static inline bool looks_has_gaps(const struct looks *looks)
{
	return looks->gaps_ns > 0;
}

/* There is what to estimate the gaps by: profiles of old versions do not say what CPU time
 * processes used in them. */
static inline bool looks_are_estimated(const struct looks *looks)
{
	return looks_has_gaps(looks) && looks->measured;
}

/* The sum of a call, of all calls together; NULL: nothing is known to be missing. */
const struct look_sum *looks_sum(const struct looks *looks, uint64_t call);
const struct look_sum *looks_all(const struct looks *looks);

/* Of this, what a process did in gaps, LOOK_COUNT or LOOK_TOTAL_NS. */
double looks_of_process(const struct looks *looks, uint64_t process, enum look_figure figure);

/* `seen` and what was not, LOOK_COUNT or LOOK_TOTAL_NS, with its interval. */
struct estimate looks_estimate(const struct look_sum *sum, enum look_figure figure, double seen);

#endif
