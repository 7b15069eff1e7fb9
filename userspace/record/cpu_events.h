/* SPDX-License-Identifier: BSD-2-Clause */
/* cpu_events.h: BPF programs that run at perf events, which each CPU has its own of. */
#ifndef GCPROF_CPU_EVENTS_H
#define GCPROF_CPU_EVENTS_H

#include <linux/perf_event.h>
#include <stdint.h>

struct bpf_program;
struct cpu_events;

#define CPU_EVENTS_MAX 3 /* kinds of events in a session */

struct cpu_events *cpu_events_create(int n_cpus); /* NULL: no memory */

/*
 * Runs the program whenever the event happens, on each CPU that is there. An errno,
 * negative, if one of them refuses; what was attached goes with cpu_events_free().
 */
int cpu_events_attach(struct cpu_events *events, const struct bpf_program *program,
		      const struct perf_event_attr *attr);

/*
 * From now on a timer of the program fires each `ns`. An errno, negative, if one of the CPUs
 * refuses: those before it keep what they were asked for.
 */
int cpu_events_period(struct cpu_events *events, const struct bpf_program *program, uint64_t ns);

/* Detaches. NULL is allowed. */
void cpu_events_free(struct cpu_events *events);

#endif
