/* SPDX-License-Identifier: BSD-2-Clause */
/* throttle.h: measures what a recording costs, and does what the overhead controller decides. */
/*
 * The cost is the CPU time of the recorder with its readers, of our BPF programs (some of their
 * runs are timed), and of the kernel's way to them. Not thread-safe.
 */
#ifndef GCPROF_THROTTLE_H
#define GCPROF_THROTTLE_H

#include "../kernel/session.h"
#include "../target/switches.h"
#include "../store/counters.h"

struct throttle;

/* All are borrowed. What the user asked for is not throttled. */
struct throttle_parts {
	struct session *session;
	const struct processes *processes;
	struct counters *counters;
	const struct store *store;
	struct files *files;
	struct switches *switches;
	struct unwinder *unwinder; /* NULL: there is none */
	bool samples;              /* of allocations: their number was not asked for */
	bool timer;                /* nor its frequency */
	uint64_t short_calls;      /* records of them a second and CPU; 0: this was asked for */
	double percent; /* of the CPU time of all CPUs that recording may take, positive */
};

int throttle_create(const struct throttle_parts *parts, struct throttle **out);

/* How long to sleep until throttle_step() is due, at most `ms`. NULL is allowed: then `ms`. */
int throttle_timeout(const struct throttle *throttle, int ms);

/* Does what is due. A negative errno: the profile cannot be written. NULL is allowed. */
int throttle_step(struct throttle *throttle);

/*
 * A process began to take allocation samples: if they are throttled it is asked for fewer. One that
 * cannot be asked is passed over. `throttle` may be NULL. A visitor of processes_sampling().
 */
void throttle_meet(void *throttle, const struct process *process);

struct throttle_summary {
	uint64_t all_ns;    /* of the recording; 0: nothing was throttled, there was no limit */
	uint64_t traced_ns; /* of it: system calls were traced */
	double percent;     /* that recording took, of the CPU time of all CPUs */
	double allowed;
	uint64_t short_calls; /* the fewest records a second and CPU; 0: as asked for */
	uint64_t samples;     /* the lowest ceiling, samples a second and heap; 0: none */
	unsigned ticks;       /* that one timer sample stood for, at most; 1: always itself */
	int err;              /* why tracing of system calls could not begin again, or 0 */
};

/* At the end of the recording. NULL is allowed. */
struct throttle_summary throttle_finish(struct throttle *throttle);

/* CPU time so far of the recorder and of its processes that read files, ns. */
double recorder_cpu_ns(const struct store *store, const struct files *files,
		       struct unwinder *unwinder);

/* Programs take as many samples as before. NULL is allowed. */
void throttle_free(struct throttle *throttle);

#endif
