/* SPDX-License-Identifier: BSD-2-Clause */
/* throttle.h: keeps the cost of a recording within a share of the machine. */
/* ../README.md, "Overhead control", has the rules. Not thread-safe. */
#ifndef GCPROF_THROTTLE_H
#define GCPROF_THROTTLE_H

#include <stdbool.h>
#include <stdint.h>

#include "../kernel/session.h"
#include "../store/counters.h"
#include "../target/control.h"
#include "../target/switches.h"

/* Decides when something costly is traced, so that on average it costs a set share. */
struct duty {
	double allowed; /* CPU time, ns per ns; set before duty_begin() */
	double free;    /* what it may cost at first beyond that, ns */

	bool on;
	double credit;   /* unused, ns; negative: owed */
	double speed;    /* recent cost while on, ns per ns */
	uint64_t time;   /* of the last step, ns */
	uint64_t until;  /* end of the window or gap, ns */
	uint64_t off_ns; /* time in gaps */
	unsigned short random[3];
};

void duty_begin(struct duty *duty, uint64_t now);

/* Decides on `on`; `cost_ns`: CPU time since the last step. Windows and gaps end by time alone, and
 * gaps at random. */
void duty_step(struct duty *duty, uint64_t now, double cost_ns);

/* When the next step is due: at `next`, or sooner. */
static inline uint64_t duty_next(const struct duty *duty, uint64_t next)
{
	return duty->until > duty->time && duty->until < next ? duty->until : next;
}

/* The overhead controller: decides only, reads no clock and measures nothing. */
struct controller {
	/* Set before controller_begin(). */
	double rate;     /* allowed CPU time, ns per ns; positive */
	double cpus;     /* CPU time that a flood of calls can use, ns per ns */
	unsigned levels; /* number of levels; 0: only system calls are throttled */
	bool windows;    /* tracing may stop */

	bool tracing;       /* system calls are to be traced */
	unsigned level;     /* current level, 0 to levels */
	double saved;       /* the bucket, in ns of the allowance; negative: debt */
	double speed;       /* recent cost of tracing while it was on, in units of the rate */
	double own_speed;   /* the part of it that slows the recorded programs */
	double credit;      /* how much more tracing may slow the programs down unnoticed, ns */
	bool slowing;       /* the credit was used up */
	double busy;        /* CPUs that the programs kept busy recently, at least 1 */
	double opened;      /* windows so far, or steps in them */
	uint64_t until;     /* end of the window or gap, ns */
	uint64_t time;      /* of the last step, ns */
	uint64_t second;    /* begin of the second that is judged next, ns */
	double calls, rest; /* used in it, in ns of the allowance */
	unsigned short random[3];
};

void controller_begin(struct controller *controller, uint64_t now);

/* CPU time since the last step, ns. */
struct recording_cost {
	double calls_ns; /* of tracing system calls */
	double own_ns;   /* the part of it that was spent on calls of recorded programs */
	double rest_ns;  /* of everything else */
	double cpu_ns;   /* of these programs while calls were traced; 0: it hardly slowed them */
};

/* Decides on `tracing` and `level`. Returns when the next step is due at the latest, ns. */
uint64_t controller_step(struct controller *controller, uint64_t now,
			 const struct recording_cost *cost);

/* Has recording used so much that the limit for the machine is what reduces it? */
bool controller_is_short(const struct controller *controller);

/* Reduction of short call records, allocation samples and ticks, as powers of two. */
struct throttle_level {
	uint8_t calls, samples, ticks;
};

struct throttle {
	/* Set before throttle_begin(), borrowed. */
	struct session *session;
	struct counters *counters;
	const struct store *store;
	struct switches *switches;
	struct control *control; /* NULL: nothing is written to programs */
	/* What the user set is not throttled. */
	bool trace_waits;     /* waits are traced, by the default */
	bool samples;         /* the rate of allocation samples was not set */
	uint64_t timer;       /* ticks per second and CPU; 0: set by the user */
	uint64_t short_calls; /* their records per second and CPU; 0: set by the user */
	double percent;       /* of the CPU time of all CPUs; 0: no limit */

	struct controller controller;
	struct call_tracing *tracing;
	struct duty waits;       /* allowed 0: waits are not traced, or always */
	bool traces_waits;       /* now */
	double waits_ns;         /* cost so far of tracing waits */
	uint64_t next;           /* when the next step is due, ns */
	double own_ns, calls_ns; /* cost so far of tracing system calls, as in recording_cost */
	double programs_ns;      /* of our BPF programs and the ways to them, on recorded threads */
	double others_ns;        /* and on other threads */
	double all_ns;           /* of everything */
	double tick_ns;          /* of a timer sample */
	double sample_ns;        /* of an allocation sample */
	uint64_t cpu_ns;         /* CPU time of the programs so far while calls were traced */
	unsigned most;           /* highest level of the controller */
	struct throttle_level applied;
	int err; /* why tracing of system calls could not resume, or 0 */
};

/* 0 or a negative errno. */
int throttle_begin(struct throttle *throttle);

/* How long to sleep until throttle_step() is due, at most `ms`. */
int throttle_timeout(const struct throttle *throttle, int ms);

/* Time during which the recording was paused, ns, does not count. */
void throttle_skip(struct throttle *throttle, uint64_t ns);

/* Does what is due. A negative errno means that the profile cannot be written. */
int throttle_step(struct throttle *throttle);

/* Brings the costs so far up to date. -ENODATA: without a limit they are not measured. */
int throttle_measure(struct throttle *throttle);

struct throttle_level throttle_level(const struct throttle *throttle, unsigned number);

/* Power of two by which timer or allocation samples become rarer after this many of them. At the
 * full rate they would take `excess` times what they may take of a CPU. */
unsigned throttle_slower(uint64_t samples, double excess);

/* CPU time so far of the recorder and of the processes that it started for itself, ns. */
double recorder_cpu_ns(void);

#endif
