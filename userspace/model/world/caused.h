/* SPDX-License-Identifier: BSD-2-Clause */
/* caused.h: what collections cost because of a row's objects, and what would be saved without. */
/*
 * A row is charged with a part of what collections cost, and charges add up. What would be saved if
 * a row allocated nothing, or if nothing of it were kept, is another question, whose answers do
 * not: README.md has the model.
 */
#ifndef GCPROF_CAUSED_H
#define GCPROF_CAUSED_H

#include <stdbool.h>
#include <stdint.h>

#include "charging.h"
#include "estimate.h"

struct stack_lives;

/* What a cycle of a concurrent collector costs that finds nothing alive, ns: Go 1.19 on an idle
 * machine. */
#define EMPTY_CYCLE_NS 0.6e6

/* Why time is charged to no object. */
enum model_unattributed {
#define WHY(NAME, key, words) UNATTRIBUTED_##NAME,
#include "unattributed.def"
#undef WHY
	UNATTRIBUTED /* their number */
};

/* What collectors cost that are paced alike, as far as it is charged: see enum gc_pacing. */
struct model_gc_pace {
	double parts[CHARGES];     /* ns */
	double variances[CHARGES]; /* relative, of these sums */
	double bytes[CHARGES];     /* of the samples that they are charged to */
	double cycles, live; /* cycles of concurrent collectors; mean live bytes at their ends */
	double paced;        /* the part of them that the pacing began, and not a call or a clock */
	double growth;       /* mean, of what is alive until the next cycle; 0: without bound */
	double peak;         /* mean heap in use that a memory limit allows; 0: no such limit */
	double empty_ns;     /* a cycle that finds nothing alive */
	double alive, apart; /* of full collections of objects that the program frees: mean of what
				they look at, and of what became old since the one before */
	double referring;    /* the part of live bytes that has references, from 0 to 1 */
};

struct model_gc_paces {
	struct model_gc_pace of[GC_PACINGS];
	bool kept_known; /* what became of objects that are charged */
};

/* Charges by what makes a collector collect. All zero is empty. */
struct caused {
	double parts[GC_PACINGS][CHARGES];
};

/* ns. Without known outcomes of objects `keeping` is 0. */
struct caused_figures {
	struct estimate charged, allocating, keeping;
};

/* Adds what a stack is charged with, after charges_finish(). */
void caused_add(struct caused *caused, const struct stack_lives *lives, uint32_t life);
void caused_merge(struct caused *into, const struct caused *from);

/* The figures of a row whose samples have these sums: allocated, and those that survived. */
struct caused_figures caused_figures(const struct caused *caused,
				     const struct model_gc_paces *paces, const struct tally *bytes,
				     double survived);

#endif
