/* SPDX-License-Identifier: BSD-2-Clause */
/* governor.h: keeps what a recording takes of the machine within what the user allows. */
/*
 * What it takes is added up from what is counted and timed anyway: runs of our programs, of
 * which some are timed, the kernel's way to them, and the CPU time of the recorder and of its
 * process that finds names. When that is too much, system calls are looked at in windows only
 * (budget.h, calls_gate.h); the profile tells when, and that totals are estimates. Not thread-safe.
 */
#ifndef GCPROF_GOVERNOR_H
#define GCPROF_GOVERNOR_H

#include "../store/ledger.h"
#include "sample_gate.h"
#include "savings.h"
#include "../kernel/session.h"

struct governor;

/* What it may do besides; where the user said how much he wants he gets it. */
struct governor_means {
	const struct store *store;   /* borrowed; knows what finding names takes, */
	const struct files *files;   /* and this what reading files takes, */
	struct unwinder *unwinder;   /* and this unwind rows; NULL: there are none */
	struct sample_gate *samples; /* borrowed; NULL: the user said how many there are to be */
	uint64_t short_calls;        /* recorded one by one a second and CPU; 0: likewise */
	bool timer;                  /* may be slowed down */
};

/* `percent` of the CPU time of all CPUs, positive. Session and ledger are borrowed. */
int governor_create(struct session *session, struct ledger *ledger,
		    const struct governor_means *means, double percent, struct governor **out);

/* How long to sleep until the next look, at most `ms`. NULL is allowed: then `ms`. */
int governor_timeout(const struct governor *governor, int ms);

/* A look, if it is time for one. A negative errno: the profile cannot be written. NULL is allowed.
 */
int governor_look(struct governor *governor);

struct governor_summary {
	uint64_t begin;   /* of the recording, ns */
	uint64_t seen_ns; /* calls were looked at, until now */
	uint64_t all_ns;
	double percent; /* that all of it took, of the CPU time of all CPUs */
	double allowed;
	unsigned stands; /* ticks of the timer for one sample, at most so far; 1: always itself */
	uint64_t short_calls; /* one by one a second and CPU, at least so far; 0: as asked for */
	int err;              /* why calls cannot be looked at any more, or 0 */
};

/* CPU time so far of the recorder and of its processes that read files, ns. NULL: not there. */
double recorder_cpu_ns(const struct store *store, const struct files *files,
		       struct unwinder *unwinder);

/* For the last time: what was not looked at goes to the ledger. False if NULL. */
bool governor_finish(struct governor *governor, struct governor_summary *out);

/* NULL is allowed. */
void governor_free(struct governor *governor);

#endif
