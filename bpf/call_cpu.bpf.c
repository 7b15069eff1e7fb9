/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* call_cpu.bpf.c: adds up the CPU time of all threads where a tracing window begins or ends. */
#include "call_cpu.h"

/* The recorder has just slept, and the scheduler updated its clock on waking. */
static __always_inline void cpu_compare_clocks(uint64_t now)
{
	struct rq *rq = cpu_queue(bpf_get_current_task_btf());

	if (rq)
		scheduler_ahead = (int64_t)(BPF_CORE_READ(rq, clock) - now);
}

SEC("iter/task")
int call_cpu_iterate(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	uint64_t now = bpf_ktime_get_ns();
	struct task_state *state;

	if (!task)
		return 0;
	if (!ctx->meta->seq_num)
		cpu_compare_clocks(now);
	state = bpf_task_storage_get(&tasks, task, NULL, 0);
	if (state && state->flags & TASK_ACTIVE)
		cpu_add(task, state, now);
	return 0;
}
