/* SPDX-License-Identifier: BSD-2-Clause */
/* session_parts.h: private to session*.c: the state of a session. They include session.h first. */
#ifndef GCPROF_SESSION_PARTS_H
#define GCPROF_SESSION_PARTS_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

#include "../../../bpf/shares.h"
#include "gcprof.skel.h"
#include "setup.h"

/* BPF programs at perf events of each CPU. */

struct bpf_program;
struct cpu_events;

/*
 * A program that sleeps by timers would run in step with a regular timer of ours: the kernel wakes
 * it in our interrupts, and the next one always finds it asleep, or never. Each CPU therefore has
 * several timers whose periods are redrawn at random, so that intervals between ticks keep
 * changing.
 */
#define CPU_TIMERS 4 /* in pairs with opposite deviations: see cpu_events.c */

#define CPU_EVENTS_MAX (CPU_TIMERS + 2) /* kinds of events in a session */

struct cpu_events *cpu_events_create(int n_cpus); /* NULL: no memory */

/*
 * Runs the program at each such event, on each online CPU. A negative errno if one of them refuses;
 * what was attached is released by cpu_events_free().
 */
int cpu_events_attach(struct cpu_events *events, const struct bpf_program *program,
		      const struct perf_event_attr *attr);

/* Runs the program at timers, every `ns` on average on each CPU; errors as above. */
int cpu_events_time(struct cpu_events *events, const struct bpf_program *program, uint64_t ns);

/* What a tick without a program takes of a CPU, ns, measured in 1.5 ms: 1000 on most machines, 10
 * to 20 times that on a virtual one that has to ask its host for each timer. 0: unknown. */
double cpu_events_tick_ns(void);

/* Changes the average period of the program's timers. */
void cpu_events_period(struct cpu_events *events, const struct bpf_program *program, uint64_t ns);

/* To be called often. After enough ticks, draws new periods for two timers of each CPU, in turn. */
void cpu_events_draw(struct cpu_events *events, const struct bpf_program *program, uint64_t ns);

/* Stops or resumes all events. */
void cpu_events_enable(const struct cpu_events *events, bool on);

/* Detaches. NULL is allowed. */
void cpu_events_free(struct cpu_events *events);

enum { SYSTEM_LINKS = 24 };

struct session {
	struct gcprof_bpf *skeleton;
	bool multi; /* all places of a file share one link */
	struct attach *probes;
	struct stream_state streams[STREAM_END];
	struct bpf_link *links[SYSTEM_LINKS];
	size_t n_links;
	struct call_tracing calls;
	struct bpf_link *waits[2];     /* NULL: waits are not traced */
	struct bpf_link *threads;      /* an iterator: registers existing threads */
	struct bpf_link *rest, *usage; /* report what is open at the end, or usage so far */
	struct bpf_link *stops;        /* stops programs that copy their code; or NULL */
	struct bpf_link *pause;        /* before a pause, and at its end */
	struct bpf_link *ran, *cpu;    /* report CPU time, or add it up; NULL: not needed */
	uint32_t moved;                /* processes moved into the cgroup before the last search */
	struct cpu_events *cpu_events;
	struct own_code *own_code;
	uint64_t frequency; /* of the timers; 0: none */
	double tick_ns;     /* see session_tick_ns() */
};

/* The two halves of session_leave_calls(): no call counts any more; the tracepoints are detached,
 * which takes milliseconds. */
void session_close_window(struct session *session);
void session_detach_calls(struct session *session);

/* Runs a BPF iterator once: 0 or a negative errno. */
int iterate_once(const struct bpf_link *iterator);

#endif
