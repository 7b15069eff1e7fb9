/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* cpu.bpf.c: timer ticks and CPU time. */
/*
 * Ticks show where CPU time goes; the scheduler says how much it was: a tick reports what its
 * thread used since its last report. Threads that no tick hits are visited once a second. The CPU
 * time of an exit is known when the thread leaves its CPU for the last time.
 */
#include "cost.h"
#include "interrupted.h"
#include "lock.h"
#include "ran.h"
#include "title.h"
#include "user.h"

/* The current system call, encoded as in struct event_cpu. */
static __always_inline uint16_t tick_call(const struct task_state *state)
{
	struct task_struct *task = bpf_get_current_task_btf();
	const struct pt_regs *regs;
	int64_t number;

	/* A kernel thread's registers mean nothing. */
	if (task->flags & PF_KTHREAD)
		return 0;
	regs = (const struct pt_regs *)bpf_task_pt_regs(task);
	number = call_kind(state, regs, call_number(regs));
	if (number < 0 || number >= CPU_CALL_COMPAT - 1)
		return 0;
	return (number + 1) | (call_is_compat(task) ? CPU_CALL_COMPAT : 0);
}

static __always_inline int tick_emit(struct bpf_perf_event_data *ctx, struct task_state *state)
{
	const struct pt_regs *at = &ctx->regs;
	struct scratch *scratch;
	struct event_cpu *event;
	int64_t ran;
	bool user;

	title_renew(state, bpf_ktime_get_ns());
	user_meet(bpf_get_current_task_btf());
	scratch = scratch_take();
	if (!scratch)
		return 0;
	user = regs_user_mode(at);
	event = (struct event_cpu *)scratch->data;
	__builtin_memset(event, 0, sizeof(*event));
	emit_header(&event->header, EVENT_cpu, 0, state, bpf_ktime_get_ns());
	event->mode = user ? CPU_MODE_USER : CPU_MODE_KERNEL;
	event->call = user ? 0 : tick_call(state);
	event->ticks = tick_stands;
	event->ran = ran = ran_take(bpf_get_current_task_btf(), state);
	scratch->size = sizeof(*event);
	if (!user)
		stack_kernel(scratch, ctx);
	if (interrupted_regs(state, at, &scratch->regs))
		stack_user(scratch, state);
	else
		stack_count_losses(event->stack.quality);
	if (!stack_emit(scratch, &ring_cpu, LOSS_CPU_RING))
		ran_give_back(state, ran);
	return 0;
}

SEC("perf_event")
int cpu_tick(struct bpf_perf_event_data *ctx)
{
	struct task_state *state;

	/* An idle CPU. */
	if (!bpf_get_current_pid_tgid())
		return 0;
	/* Exiting takes time that is counted, so it has samples. */
	state = filter_followed();
	if (!state || !(state->flags & (TASK_ACTIVE | TASK_ENDED)))
		return config.measured ? cost_count(COST_OTHER_TICKS) : 0;
	return COST_OF(COST_TICK, COST_SELDOM, tick_emit(ctx, state));
}

SEC("iter/task")
int ran_iterate(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct task_state *state;

	if (!task || !recording)
		return 0;
	state = bpf_task_storage_get(&tasks, task, NULL, 0);
	if (state && (state->flags & TASK_ACTIVE))
		ran_emit(task, state);
	return 0;
}

static __always_inline void thread_gone(struct task_struct *task)
{
	struct task_state *state;

	if (!recording)
		return;
	state = bpf_task_storage_get(&tasks, task, NULL, 0);
	if (state && task_is_over(state))
		ran_emit(task, state);
}

/* Runs at every switch on the machine, so its cost for other threads matters. */
SEC("tp_btf/sched_switch")
int BPF_PROG(thread_leaves, bool preempted, struct task_struct *from, struct task_struct *to,
	     unsigned int task_state)
{
	if (task_state & TASK_DEAD)
		thread_gone(from);
	return 0;
}
