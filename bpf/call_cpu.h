/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* call_cpu.h: CPU time of processes, separately while system calls are traced and while they are
 * not. */
/*
 * Per second of its own CPU time, though not of wall time, a program does the same amount of work
 * traced or untraced. CPU time is therefore the scale for estimating untraced calls. The scheduler
 * counts it anyway; it is added up where a tracing window begins or ends, and when a thread exits.
 */
#ifndef GCPROF_CALL_CPU_H
#define GCPROF_CALL_CPU_H

#include "emit.h"
#include "filter.h"
#include "shares.h"

extern uint64_t traced_ns;

#define CPU_UNCOUNTED_MAX 20000000 /* ns: more than the longest tick, at 100 Hz */

/* The run queue of the thread's last CPU; NULL: unknown. */
static __always_inline struct rq *cpu_queue(struct task_struct *task)
{
	if (!bpf_core_field_exists(task->se.cfs_rq) || !bpf_core_field_exists(struct cfs_rq, rq))
		return NULL;
	return BPF_CORE_READ(task, se.cfs_rq, rq);
}

/*
 * CPU time of a running thread since the scheduler's last update: up to a tick. The clock of the
 * run queue has not advanced since either; its offset from ours is known.
 */
static __always_inline uint64_t cpu_uncounted(struct task_struct *task, uint64_t now)
{
	struct rq *rq;
	int64_t ns;

	if (!scheduler_ahead || !BPF_CORE_READ(task, on_cpu))
		return 0;
	rq = cpu_queue(task);
	if (!rq)
		return 0;
	ns = (int64_t)(now - BPF_CORE_READ(rq, clock)) + scheduler_ahead +
	     (int64_t)(BPF_CORE_READ(rq, clock_task) - BPF_CORE_READ(task, se.exec_start));
	return ns > 0 && ns < CPU_UNCOUNTED_MAX ? ns : 0;
}

static __always_inline uint64_t cpu_time(struct task_struct *task, uint64_t now)
{
	return BPF_CORE_READ(task, se.sum_exec_runtime) + cpu_uncounted(task, now);
}

/* Leaves out the CPU time that the thread used so far. */
static __always_inline void cpu_begin(struct task_struct *task, struct task_state *state)
{
	if (config.measured)
		state->cpu_ns = cpu_time(task, bpf_ktime_get_ns());
}

/* Of call_cpus: entries of ended processes stay until the recorder has read and removed them. */
volatile struct shares cpu_shares = {0};

/* A process's entry, created on first use. A process that has no entry in `processes` is one of a
 * user who has too many. */
static __always_inline struct call_cpu *cpu_of(uint32_t process)
{
	struct call_cpu *cpu = bpf_map_lookup_elem(&call_cpus, &process);
	const struct process_state *of = cpu ? NULL : bpf_map_lookup_elem(&processes, &process);
	struct call_cpu zero = {};

	if (!of || !share_take(&cpu_shares, of->owner, config.processes))
		return cpu;
	zero.owner = of->owner;
	if (bpf_map_update_elem(&call_cpus, &process, &zero, BPF_NOEXIST))
		share_return(&cpu_shares, zero.owner);
	return bpf_map_lookup_elem(&call_cpus, &process);
}

/* Adds the thread's CPU time since the last call to its process. */
static __always_inline void cpu_add(struct task_struct *task, struct task_state *state,
				    uint64_t now)
{
	struct call_cpu *cpu;
	bool traced = calls_traced(calls_epoch);
	uint64_t ns, before;

	if (!config.measured)
		return;
	ns = cpu_time(task, now);
	if (ns <= *(volatile uint64_t *)&state->cpu_ns)
		return;
	before = __sync_lock_test_and_set(&state->cpu_ns, ns);
	if (ns <= before || is_paused())
		return;
	if (traced)
		__sync_fetch_and_add(&traced_ns, ns - before);
	cpu = cpu_of(state->process);
	if (cpu)
		__sync_fetch_and_add(traced ? &cpu->traced_ns : &cpu->untraced_ns, ns - before);
}

#endif
