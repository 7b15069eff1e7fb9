/* SPDX-License-Identifier: BSD-2-Clause */
/* cpu_events.h: BPF programs that run at perf events, which each CPU has its own of. */
#ifndef GCPROF_CPU_EVENTS_H
#define GCPROF_CPU_EVENTS_H

#include <linux/perf_event.h>
#include <stdint.h>

struct bpf_program;
struct cpu_events;

/*
 * A program that sleeps by timers runs in step with a regular timer of ours: the kernel wakes it
 * at our interrupts, and the next one finds it asleep again, or never. So each CPU has several
 * timers whose periods are drawn at random, again and again, and no two ticks in a row are as far
 * apart as the two before.
 */
#define CPU_TIMERS 4 /* two and two have opposite deviations: see cpu_events.c */

#define CPU_EVENTS_MAX (CPU_TIMERS + 2) /* kinds of events in a session */

struct cpu_events *cpu_events_create(int n_cpus); /* NULL: no memory */

/*
 * Runs the program whenever the event happens, on each CPU that is there. An errno,
 * negative, if one of them refuses; what was attached goes with cpu_events_free().
 */
int cpu_events_attach(struct cpu_events *events, const struct bpf_program *program,
		      const struct perf_event_attr *attr);

/* Runs the program at timers, each `ns` on average on each CPU; errors as above. */
int cpu_events_time(struct cpu_events *events, const struct bpf_program *program, uint64_t ns);

/* From now on timers of the program fire each `ns` on average. */
void cpu_events_period(struct cpu_events *events, const struct bpf_program *program, uint64_t ns);

/* To be called often: draws new periods for two timers of each CPU, in turn, when enough ticks have
 * passed since the last draw. */
void cpu_events_draw(struct cpu_events *events, const struct bpf_program *program, uint64_t ns);

/* Detaches. NULL is allowed. */
void cpu_events_free(struct cpu_events *events);

#endif
