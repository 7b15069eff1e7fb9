/* SPDX-License-Identifier: BSD-2-Clause */
/* checks.h: what recording needs from a machine and a user: one table for record and doctor. */
#ifndef GCPROF_CHECKS_H
#define GCPROF_CHECKS_H

#include <stdbool.h>
#include <stddef.h>

#include "../../util/problem.h"

enum verdict {
	VERDICT_GOOD,
	VERDICT_NOTE,       /* works, worth knowing */
	VERDICT_LIMITED,    /* something cannot be recorded */
	VERDICT_IMPOSSIBLE, /* nothing can be recorded */
};

struct finding {
	enum verdict verdict;
	int error;        /* negative errno if nothing can be recorded */
	char found[768];  /* a phrase: what was found */
	char advice[256]; /* a sentence: what to change; empty: nothing */
};

struct check {
	const char *name;
	bool vital; /* may make recording impossible: checked before each recording */
	void (*run)(struct finding *out); /* *out is all zero */
};

extern const struct check check_table[];
extern const size_t check_count;

/*
 * Runs the vital checks. -EPERM: nothing can be recorded; -EOPNOTSUPP: not on this kernel; each
 * with a sentence in *problem.
 */
int rights_check(struct problem *problem);

/*
 * Are another recorder's programs loaded? True also if the kernel does not say (only to
 * CAP_SYS_ADMIN). To be called after our own are loaded, as recorders that start later do.
 */
bool others_may_record(void);

#endif
