/* SPDX-License-Identifier: BSD-2-Clause */
/* budget.h: how much CPU time a recorder may take, and when it must not look at system calls. */
/*
 * A bucket of CPU time. It fills at the rate that the user allows, less what all but the
 * system calls takes; calls that are looked at empty it. It begins full, with a minute's
 * worth, so that short recordings and bursts are counted to the last call. Once it is
 * empty, calls are looked at in windows: one opens when enough was saved up for it, and
 * closes when that is spent. How much is enough is drawn anew each time: windows of equal
 * distance would see the same part of what repeats itself.
 *
 * Nothing here looks at a clock or measures: whoever does tells it.
 */
#ifndef GCPROF_BUDGET_H
#define GCPROF_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#define BUDGET_BURST_NS  (60 * UINT64_C(1000000000)) /* so long of the rate can be saved up */
#define BUDGET_LOOK_NS   UINT64_C(200000000)         /* it wants to be told at least so often */
#define BUDGET_CALLS_MIN 0.25 /* of the rate, for calls, whatever the rest takes */

struct budget {
	double rate;       /* ns of CPU time that may be used in a ns */
	double saved;      /* ns; negative: debts */
	double burst;      /* ns: so much can be saved up */
	double least;      /* of the rate, for calls */
	double others;     /* ns in a ns: what the rest takes, averaged over a minute */
	double told;       /* ns: how long that is known */
	double calls;      /* ns in a ns: what calls took when they were last looked at */
	double wanted;     /* ns to be saved up for the next window */
	bool open;         /* calls are looked at */
	uint64_t time;     /* of the last look, ns */
	uint64_t cycle_ns; /* of the rate in a window, on average */
	uint64_t random;
};

/* What was used since the last look, ns of CPU time. */
struct budget_use {
	double calls;
	double others;
};

/* `rate` is positive, `seed` whatever. */
void budget_begin(struct budget *budget, double rate, uint64_t now, uint64_t seed);

/*
 * It is `now`, and that much was used: may calls be looked at? `*next` is when to look
 * again at the latest.
 */
bool budget_look(struct budget *budget, uint64_t now, const struct budget_use *use, uint64_t *next);

/* All together takes too much, or no longer: while it does nothing is kept for bursts, so that
 * calls have what the rest leaves, and the least for them is half of what it was. */
void budget_save(struct budget *budget, bool on);

/* What it takes to open and close a window, ns: they become as rare as that is dear. */
void budget_edge(struct budget *budget, double ns);

#endif
