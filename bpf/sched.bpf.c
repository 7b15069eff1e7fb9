/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* sched.bpf.c: threads that leave and get CPUs; see wait.h. */
#include "cost.h"
#include "lock.h"
#include "wait.h"

#define TASK_STOPPED_OR_TRACED (4 | 8) /* in task_struct.__state, in all versions */

volatile uint64_t waits_opened = 0;
volatile uint32_t waits_gaps = 0;

static __always_inline uint32_t wait_reason(bool preempted, bool in_call, uint32_t task_state)
{
	if (preempted || !task_state)
		return WAIT_PREEMPTED;
	if (task_state & TASK_STOPPED_OR_TRACED)
		return WAIT_STOPPED;
	return in_call ? WAIT_CALL : WAIT_FAULT;
}

/* Emits the stack of the current thread, which is about to wait outside of a system call. */
static __always_inline bool wait_place(struct task_state *state, const struct pt_regs *regs,
				       uint64_t now)
{
	struct scratch *scratch;
	struct event_leave *event;

	if (!ceiling_below(CEILING_LEAVE, config.wait_rate, now))
		return 0;
	scratch = scratch_take();
	if (!scratch)
		return 0;
	event = (struct event_leave *)scratch->data;
	__builtin_memset(&event->stack, 0, sizeof(event->stack));
	emit_header(&event->header, EVENT_leave, 0, state, now);
	scratch->size = sizeof(*event);
	wait_stack(scratch, regs, state);
	stack_emit(scratch, &ring_sched, LOSS_WAIT_PLACE);
	return 1;
}

/* The current thread leaves its CPU. */
static __always_inline void wait_begins(struct task_struct *task, struct task_state *state,
					bool preempted, uint32_t task_state, uint64_t now)
{
	const struct pt_regs *regs = (const struct pt_regs *)bpf_task_pt_regs(task);
	struct task_waits *wait = &state->waits;
	int64_t number = call_kind(state, regs, call_number(regs));
	uint64_t queued = task_queued(task);

	if (wait->ended)
		wait_report(state, wait_regs(wait, regs), now);
	/* What was no run delay is not reported. */
	state->queued += queued - wait->queued - wait_queued(wait, queued);
	wait->queued = queued;
	wait->woken = wait->ready = 0;
	wait->switches = wait_switches(task); /* this one included */
	wait->waker = 0;
	wait->reason = wait_reason(preempted, number >= 0, task_state);
	wait->number = number;
	wait->flags = 0;
	if (number >= 0)
		wait->flags = WAIT_IN_CALL | (call_is_compat(task) ? WAIT_COMPAT : 0);
	/* While ends of calls are not traced, the wait is reported when it ends, like all
	 * others. */
	if (number >= 0 && calls_traced(calls_epoch)) {
		wait->since = now;
		return;
	}
	wait->flags |= WAIT_AT_ONCE;
	if (wait_place(state, regs, now))
		wait->flags |= WAIT_LEFT;
	else
		loss_count(LOSS_WAIT_PLACE);
	wait->since = now;
}

static __always_inline void threads_switch(bool preempted, struct task_struct *from,
					   struct task_struct *to, unsigned int task_state)
{
	struct task_state *state;
	uint64_t now;

	if (!recording || is_paused())
		return;
	now = bpf_ktime_get_ns();
	state = bpf_task_storage_get(&tasks, to, NULL, 0);
	if (state && (state->flags & TASK_ACTIVE) && wait_is_known(to, &state->waits)) {
		wait_over(&state->waits, now);
		if (state->waits.ended)
			place_take(to, state->waits.length);
		if (state->waits.ended &&
		    (state->waits.flags & (WAIT_IN_CALL | WAIT_AT_ONCE)) != WAIT_IN_CALL)
			wait_report_of(to, state, now);
	}
	state = bpf_task_storage_get(&tasks, from, NULL, 0);
	if (state && (state->flags & TASK_ACTIVE) && !(from->flags & PF_KTHREAD))
		wait_begins(from, state, preempted, task_state, now);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(sched_switch, bool preempted, struct task_struct *from, struct task_struct *to,
	     unsigned int task_state)
{
	return COST_OF(COST_SWITCH, COST_EACH, threads_switch(preempted, from, to, task_state));
}
