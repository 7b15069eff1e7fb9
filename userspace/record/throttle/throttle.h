/* SPDX-License-Identifier: BSD-2-Clause */
/* throttle.h: keeps what a recording costs within a share of the machine. */
/* ../README.md, "Overhead control", has the rules. Not thread-safe. */
#ifndef GCPROF_THROTTLE_H
#define GCPROF_THROTTLE_H

#include "../kernel/session.h"
#include "../target/control.h"
#include "../target/switches.h"
#include "../store/counters.h"

/* The overhead controller decides. It reads no clock and measures nothing. */
struct controller {
	/* Set before controller_begin(). */
	double rate;     /* ns of CPU time that may be used in a ns; positive */
	double cpus;     /* ns of CPU time that a flood of calls may use in a ns */
	unsigned levels; /* there are; 0: nothing but calls is throttled */
	bool windows;    /* tracing may stop */

	bool tracing;       /* system calls are to be traced now */
	unsigned level;     /* that is taken, 0 to levels */
	double saved;       /* ns in which so much may be used; negative: it is owed */
	double speed;       /* what tracing took of late when it was on, in times the rate */
	double opened;      /* windows since the beginning, or steps in them */
	uint64_t until;     /* when the window or the gap is over, ns */
	uint64_t time;      /* of the last step, ns */
	uint64_t second;    /* when the second began that is judged next, ns */
	double calls, rest; /* used in it: ns in which so much may be used */
	unsigned short random[3];
};

void controller_begin(struct controller *controller, uint64_t now);

/*
 * It is `now`, and since the last step tracing system calls took `calls_ns` of CPU time and all
 * else `rest_ns`. Decides on `tracing` and `level`; returns when the next step is due at the
 * latest, ns.
 */
uint64_t controller_step(struct controller *controller, uint64_t now, double calls_ns,
			 double rest_ns);

struct throttle {
	/* Set before throttle_begin(), and borrowed. */
	struct session *session;
	struct counters *counters;
	const struct store *store;
	struct switches *switches;
	struct control *control; /* NULL: programs are left alone */
	/* What the user asked for is not throttled. */
	bool samples;         /* of allocations: their number was not asked for */
	bool timer;           /* nor its frequency */
	uint64_t short_calls; /* records of them a second and CPU; 0: this was asked for */
	double percent;       /* of the CPU time of all CPUs; 0: there is no limit */

	struct controller controller;
	struct call_tracing *tracing;
	uint64_t next;           /* when a step is due, ns */
	double calls_ns, all_ns; /* cost so far: of tracing system calls, and all of it */
	unsigned level, most;    /* in force; the most so far */
	unsigned slower;         /* the timer is, by this power of two */
	int err;                 /* why tracing of system calls could not begin again, or 0 */
};

/* 0 or a negative errno. */
int throttle_begin(struct throttle *throttle);

/* How long to sleep until throttle_step() is due, at most `ms`. */
int throttle_timeout(const struct throttle *throttle, int ms);

/* Does what is due. A negative errno: the profile cannot be written. */
int throttle_step(struct throttle *throttle);

/* Powers of two by which there are fewer: records of short calls, allocation samples, ticks. */
struct throttle_level {
	uint8_t calls, samples, ticks;
};

struct throttle_level throttle_level(const struct throttle *throttle, unsigned number);

/* Powers of two by which the timer may be slower after so many samples: functions are known well.
 */
unsigned throttle_slower(uint64_t ticks);

/* CPU time so far of the recorder and of the processes that it has started for itself, ns. */
double recorder_cpu_ns(void);

#endif
