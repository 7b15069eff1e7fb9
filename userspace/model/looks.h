/* SPDX-License-Identifier: BSD-2-Clause */
/* looks.h: system calls were looked at now and then only: what there was meanwhile. */
/*
 * A recorder that must not cost too much looks at system calls in windows. The `look`
 * records tell when; looks that follow each other at once are one window. README.md
 * derives the estimates, "System calls that nobody looked at".
 */
#ifndef GCPROF_LOOKS_H
#define GCPROF_LOOKS_H

#include "../profile/record.h"
#include "estimate.h"
#include "model.h"

struct map;

/* What a total is made of. Those before LOOK_SCALED are estimated, the rest helps. */
enum look_figure {
	LOOK_COUNT,
	LOOK_TOTAL_NS,
	LOOK_ERRORS,
	LOOK_GC_COUNT,
	LOOK_GC_NS,
	LOOK_WAITS,
	LOOK_WAIT_NS,
	LOOK_SCALED,
	LOOK_RUNS = LOOK_SCALED,
	LOOK_RUN_NS,
	LOOK_FIGURES
};

enum { LOOK_SPREADS = 2 }; /* the count and the time have intervals */

/* One call over all processes; item 0 is all calls together. */
struct look_sum {
	double window[LOOK_SCALED]; /* in the window at hand, as if nobody had looked */
	double observed;            /* calls in it */
	double more[LOOK_SCALED];   /* in the gaps that are over */
	double doubt;    /* how far the calls in it may be off: a look may cost more or less */
	double doubts;   /* the same of more[LOOK_COUNT] */
	double chance;   /* the least variance that a count has */
	uint64_t number; /* of the window at hand */
	uint64_t last;   /* the last window before it that had such calls */
	double rate[LOOK_SPREADS];        /* in that one, per ns */
	double differences[LOOK_SPREADS]; /* of the rates of neighbours, squared and weighted */
};

struct looks {
	struct look_total *totals; /* by the number that the caller gave them */
	size_t totals_capacity, n_totals;
	size_t *grown; /* totals that grew since the last look */
	size_t n_grown, grown_capacity;
	struct look_process *processes;
	size_t n_processes, processes_capacity;
	struct map *process_index;
	struct look_sum *sums;
	size_t n_sums, sums_capacity;
	struct map *sum_index; /* number of the call -> item */
	size_t *touched[2];    /* sums with calls in the window before, and in the one at hand */
	size_t n_touched[2], touched_capacity[2];
	uint64_t begin, end;     /* of the window at hand; both 0: none yet */
	uint64_t window;         /* its number, from 1 */
	uint64_t gap_before;     /* ns */
	uint64_t length_before;  /* of the window before it */
	uint64_t looks;          /* that were told */
	double seen_ns, gaps_ns; /* in all, of windows and gaps that are over */
	double reach;            /* sum of (what a window stands for)^2 / its length */
};

/* 0 or -ENOMEM; looks_free() in any case. Not for several threads at once. */
int looks_init(struct looks *looks);
void looks_free(struct looks *looks);

/* Total number `item`, of this call in this process, is now at these figures. 0 or -ENOMEM. */
int looks_total(struct looks *looks, size_t item, uint64_t process, uint64_t call,
		const uint64_t figures[LOOK_FIGURES]);

/* What totals grew by since the last look was in this one. 0, -EBADMSG: it cannot be, -ENOMEM. */
int looks_look(struct looks *looks, const struct record_look *record);

/* The recording ended at `end`; 0: nobody knows when, there is no gap behind the last look. */
void looks_finish(struct looks *looks, uint64_t end);

/* There were gaps: totals are not all. Only after looks_finish(), as what follows. */
static inline bool looks_has_gaps(const struct looks *looks)
{
	return looks->gaps_ns > 0;
}

/* The sum of a call, of all calls together; NULL: nothing is known to be missing. */
const struct look_sum *looks_sum(const struct looks *looks, uint64_t call);
const struct look_sum *looks_all(const struct looks *looks);

/* `seen` and what was not, LOOK_COUNT or LOOK_TOTAL_NS, with its interval. */
struct estimate looks_estimate(const struct looks *looks, const struct look_sum *sum,
			       enum look_figure figure, double seen);

#endif
