/* SPDX-License-Identifier: BSD-2-Clause */
/* savings.h: what is recorded less of while a recording takes too much, in which order. */
/*
 * Three things can be had less of without making a total wrong, and are, in the order of what
 * that loses: short system calls recorded one by one (all are counted and timed), allocation
 * samples, and timer samples (fewer of both stand for more each). If that is not enough for a
 * while, system calls are looked at for a part of the time only, which makes their totals
 * estimates. Nothing here measures or acts: whoever does tells it, and is asked.
 */
#ifndef GCPROF_SAVINGS_H
#define GCPROF_SAVINGS_H

#include <stdbool.h>
#include <stdint.h>

enum saving_kind { SAVING_CALLS, SAVING_SAMPLES, SAVING_TICKS, SAVING_LOOKS, SAVINGS };

struct saving {
	unsigned steps; /* at most; 0: there is nothing to be saved, or it is not ours to decide */
	double events_min; /* a second: fewer are not what it takes */
	unsigned lasting;  /* looks in a row at which it took too much and nothing was saved, before
			      each step */
	/* A negative errno: not possible, and not asked for again. */
	int (*set)(void *context, unsigned step);
	void *context;
};

struct savings {
	struct saving kinds[SAVINGS];
	unsigned step[SAVINGS]; /* 0: nothing is saved */
	unsigned most[SAVINGS]; /* so far */
	unsigned quiet;         /* looks in a row at which it took little */
	unsigned busy;          /* looks in a row at which it took too much, since a step */
	unsigned patience;      /* so many of them before a step is taken back; 0: as at first */
	bool tried;             /* the last change was a step back */
	double above;           /* looks' worth of what it may take that it took in addition */
};

/* So much of it changes nothing: the first names of a recording take some tenths of a second,
 * which on a busy machine are spread over several. */
#define SAVINGS_BURST 3

/*
 * What a recording took since the last look, as a multiple of what it may take, and events a
 * second of each kind meanwhile. Above 1 the first kind that may help takes a step, several
 * steps far above, once it took SAVINGS_BURST looks' worth too much, less what it left;
 * where it stays low for a while the last step is taken back.
 * To be called every second or so.
 */
void savings_judge(struct savings *savings, double share, const double events[SAVINGS]);

#endif
