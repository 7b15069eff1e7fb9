/* SPDX-License-Identifier: BSD-2-Clause */
/* controller.h: the overhead controller: keeps what recording costs within a share of the machine.
 */
/*
 * ../README.md, "What a whole machine pays", has the rules. The controller reads no clock and
 * measures nothing: its caller does, and acts on it.
 */
#ifndef GCPROF_CONTROLLER_H
#define GCPROF_CONTROLLER_H

#include <stdbool.h>
#include <stdint.h>

/* What is throttled, in this order. Each kind has some levels. */
enum throttle_kind {
	THROTTLE_CALLS,   /* records of short system calls; all are counted and timed */
	THROTTLE_SAMPLES, /* allocation samples: programs are asked for fewer */
	THROTTLE_TICKS,   /* timer samples */
	THROTTLE_KINDS
};

struct controller_options {
	double rate;                     /* ns of CPU time that may be used in a ns; positive */
	double cpus;                     /* ns of CPU time that a flood of calls may use in a ns */
	unsigned levels[THROTTLE_KINDS]; /* of each kind; 0: it is not throttled */
	bool windows;                    /* tracing may stop */
	uint64_t seed;
};

struct controller {
	struct controller_options options;
	bool tracing;             /* system calls are to be traced now */
	unsigned level;           /* over all kinds */
	double saved;             /* ns of CPU time; negative: system calls owe it */
	double owed;              /* by all else */
	double window;            /* ns to be saved for the next window */
	double speed;             /* what tracing took when it last was on, ns in a ns */
	uint64_t time;            /* of the last step, ns */
	uint64_t second;          /* when the second began that is judged next, ns */
	double calls_ns, rest_ns; /* used in it */
	unsigned short random[3];
};

void controller_begin(struct controller *controller, const struct controller_options *options,
		      uint64_t now);

/*
 * It is `now`, and since the last step tracing system calls took `calls_ns` of CPU time and all
 * else `rest_ns`. Decides on `tracing` and `level`; returns when the next step is due at the
 * latest, ns.
 */
uint64_t controller_step(struct controller *controller, uint64_t now, double calls_ns,
			 double rest_ns);

/* The level of one kind, 0 to its levels. */
unsigned controller_level(const struct controller *controller, enum throttle_kind kind);

#endif
