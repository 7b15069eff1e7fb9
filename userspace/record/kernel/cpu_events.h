/* SPDX-License-Identifier: BSD-2-Clause */
/* cpu_events.h: BPF programs at perf events of each CPU. */
#ifndef GCPROF_CPU_EVENTS_H
#define GCPROF_CPU_EVENTS_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

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

#endif
