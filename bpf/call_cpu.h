/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* call_cpu.h: CPU time of processes, apart while their system calls are traced and while not. */
/*
 * A program does as much for a second of its own CPU time whether it is traced or not, but not in a
 * second of a clock: so this is the scale of estimates of what was not traced. The scheduler counts
 * it anyway. It is added up when a window of tracing begins and ends, and when a thread ends.
 */
#ifndef GCPROF_CALL_CPU_H
#define GCPROF_CALL_CPU_H

#include "emit.h"
#include "filter.h"

#define CPU_UNCOUNTED_MAX \
	20000000 /* ns: more than between two ticks of the slowest clock, 100 Hz */

/* Of the CPU that the thread ran on last; NULL: not known. */
static __always_inline struct rq *cpu_queue(struct task_struct *task)
{
	if (!bpf_core_field_exists(task->se.cfs_rq) || !bpf_core_field_exists(struct cfs_rq, rq))
		return NULL;
	return BPF_CORE_READ(task, se.cfs_rq, rq);
}

/*
 * What a running thread took since the scheduler last counted: up to a tick. The run queue's clock
 * stands still meanwhile as well; how far it is behind ours is known.
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

/* The time that the thread took so far belongs to no process. */
static __always_inline void cpu_begin(struct task_struct *task, struct task_state *state)
{
	if (config.governed)
		state->cpu_ns = cpu_time(task, bpf_ktime_get_ns());
}

/* Lays what the thread took since the last time to its process. */
static __always_inline void cpu_add(struct task_struct *task, struct task_state *state,
				    uint64_t now)
{
	const struct call_cpu zero = {};
	uint32_t process = state->process;
	struct call_cpu *cpu;
	uint64_t ns, before;

	if (!config.governed)
		return;
	ns = cpu_time(task, now);
	if (ns <= *(volatile uint64_t *)&state->cpu_ns)
		return;
	before = __sync_lock_test_and_set(&state->cpu_ns, ns);
	cpu = bpf_map_lookup_elem(&call_cpus, &process);
	if (!cpu) {
		bpf_map_update_elem(&call_cpus, &process, &zero, BPF_NOEXIST);
		cpu = bpf_map_lookup_elem(&call_cpus, &process);
	}
	if (!cpu)
		loss_count(LOSS_PROCESS_STATE);
	else if (ns > before)
		__sync_fetch_and_add(calls_traced(calls_epoch) ? &cpu->traced_ns
							       : &cpu->untraced_ns,
				     ns - before);
}

#endif
