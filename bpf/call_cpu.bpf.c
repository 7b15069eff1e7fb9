/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* call_cpu.bpf.c: at both ends of a tracing window: CPU time of all threads, and calls they are in.
 */
#include "call_cpu.h"
#include "lock.h"
#include "syscall.h"

/* 1 while a tracing window is being closed. */
uint32_t calls_closing = 0;

/* CPU time of all processes so far while calls were traced, ns. */
uint64_t traced_ns = 0;

/* The recorder has just slept, and the scheduler updated its clock on waking. */
static __always_inline void cpu_compare_clocks(uint64_t now)
{
	struct rq *rq = cpu_queue(bpf_get_current_task_btf());

	if (rq)
		scheduler_ahead = (int64_t)(BPF_CORE_READ(rq, clock) - now);
}

/*
 * Finds the call that a thread is in at the end of a window. Returns how long it was in this
 * window. 0: in none, or unknown: the registers of a running thread may be those of an earlier
 * call.
 */
static __always_inline uint64_t call_so_far(struct task_struct *task, struct task_state *state,
					    uint64_t now)
{
	const struct pt_regs *regs;
	int64_t number;

	if (call_is_open(state))
		return syscall_since(state->start, now);
	/* In a window that saw the thread begin or end a call, it is in none now. */
	if (state->epoch == calls_epoch || !BPF_CORE_READ(task, __state))
		return 0;
	regs = (const struct pt_regs *)bpf_task_pt_regs(task);
	number = call_kind(state, regs, call_number(regs));
	if (number < 0)
		return 0;
	state->number = (uint32_t)number & ~SYSCALL_COMPAT_BIT;
	state->compat = call_is_compat(task);
	return syscall_since(calls_opened, now);
}

/*
 * Calls that last from one window to another, or end in a gap, count in each window with their time
 * in it. Otherwise the time of long calls would be missing.
 */
static __always_inline void call_add_so_far(struct task_struct *task, struct task_state *state,
					    uint64_t now)
{
	uint64_t ns = call_so_far(task, state, now);
	struct syscall_total *total = ns ? syscall_total_get(state) : NULL;

	if (total)
		__sync_fetch_and_add(&total->total_ns, ns);
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
	if (!state || !(state->flags & TASK_ACTIVE))
		return 0;
	cpu_add(task, state, now);
	if (calls_closing)
		call_add_so_far(task, state, now);
	return 0;
}
