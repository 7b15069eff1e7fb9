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

struct controller_options {
	double rate;     /* ns of CPU time that may be used in a ns; positive */
	double cpus;     /* ns of CPU time that a flood of calls may use in a ns */
	unsigned levels; /* there are; 0: nothing but calls is throttled */
	bool windows;    /* tracing may stop */
	uint64_t seed;
};

struct controller {
	struct controller_options options;
	bool tracing;             /* system calls are to be traced now */
	unsigned level;           /* that is taken, 0 to levels */
	double saved;             /* ns of CPU time; negative: system calls owe it */
	double speed;             /* what tracing took of late when it was on, ns in a ns */
	double windows;           /* since the beginning, or steps in them */
	uint64_t until;           /* when the window or the gap is over, ns */
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

#endif
