/* SPDX-License-Identifier: BSD-2-Clause */
/* looks_state.h: what looks.c and strangers.c know of each process and its calls. */
#ifndef GCPROF_LOOKS_STATE_H
#define GCPROF_LOOKS_STATE_H

#include "looks.h"

/* One call in one process, or all calls of one. */
struct look_total {
	uint64_t now[LOOK_FIGURES], before[LOOK_FIGURES]; /* before: at the last look */
	double window[LOOK_FIGURES]; /* since the process's last window was closed */
	double rate[LOOK_FIGURES];   /* in that one, per ns of CPU time */
	size_t process, sum, next; /* next: of those of the process that have a window or a rate */
	bool known, grown, listed;
};

struct look_process {
	uint64_t id;
	uint64_t traced, traced_before, untraced, untraced_before; /* before: at the last look */
	bool fresh, open;
	size_t first;          /* of its totals that have a window or a rate; 0: none */
	struct look_total all; /* its calls together */
	/* Since its last window was closed: CPU time in windows and in gaps, and the clock's. */
	double cpu, gap, clock, clock_gap;
	double clock_seen, clock_gaps; /* the clock's times, when it was */
	/* Of that window: CPU time that was the program's own, by the clock, half of the gap before
	 * it, and how much tracing may have cost more or less. 0: there was none. */
	double own, own_clock, half, doubt;
	double seen_cpu;  /* own CPU time in all windows */
	unsigned windows; /* that were closed */
	double more[LOOK_SPREADS];
};

/*
 * Once all windows are closed: processes that lived in gaps only are stood for by those that were
 * seen in a single window, which come and go as well; without any such, by all. 0 or -ENOMEM.
 */
int looks_add_strangers(struct looks *looks);

#endif
