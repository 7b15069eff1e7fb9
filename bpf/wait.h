/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* wait.h: off-CPU time: the duration, reason and stack of a wait. */
/*
 * When a wait ends, another thread still has the CPU and its memory, so the user stack cannot be
 * walked; begins of waits are too frequent. But a thread that waits in a system call has the same
 * user stack until it leaves the call: the wait is reported then, or when the thread waits again.
 * Waits outside of calls (page faults, preemption) are rare: their stack is walked at the begin and
 * emitted as a record of its own.
 */
#ifndef GCPROF_WAIT_H
#define GCPROF_WAIT_H

#include "ceiling.h"
#include "kernel_place.h"
#include "stack.h"
#include "wait_file.h"

/*
 * waits_opened: when waits were last traced again, ns; 0: always. waits_gaps: how often they were
 * not, in between. The recorder sets both.
 */
extern volatile uint64_t waits_opened;
extern volatile uint32_t waits_gaps;

static __always_inline uint64_t wait_switches(struct task_struct *task)
{
	return BPF_CORE_READ(task, nvcsw) + BPF_CORE_READ(task, nivcsw);
}

/*
 * What the run delay has grown by since the last wait began, ns. A thread that sleeps may stay in a
 * queue for some time (from Linux 6.12 on, SCHED_FEAT(DELAY_DEQUEUE)); if it is moved to another
 * CPU then, the kernel counts all of its sleep as run delay. So it is no more than the time since
 * it was woken.
 */
static __always_inline uint64_t wait_queued(const struct task_waits *wait, uint64_t run_delay)
{
	uint64_t grown = run_delay - wait->queued;
	/* Since then there may have been other waits, or a pause, which is left out elsewhere. */
	bool bound = wait->ready && wait->woken >= waits_opened && wait->woken >= resumed;

	return bound && grown > wait->ready ? wait->ready : grown;
}

/* Does the thread wait, since a known time? What happened to an earlier wait during a pause of the
 * recording is unknown; while waits were not traced, it went on if the thread got no CPU. */
static __always_inline bool wait_is_known(struct task_struct *task, const struct task_waits *wait)
{
	return wait->since && wait->since >= resumed &&
	       (wait->since >= waits_opened || wait->switches == wait_switches(task));
}

/* Sets the header's ids to those of a thread that is not the current one. */
static __always_inline void wait_header_of(struct event_header *header, struct task_struct *task)
{
	header->pid = BPF_CORE_READ(task, tgid);
	header->tid = BPF_CORE_READ(task, pid);
}

/* Fills in the record, including unreported waits before it. They count as reported from now on. */
static __always_inline void wait_fill(struct event_wait *event, struct task_waits *wait)
{
	uint32_t reason = wait->reason;

	__builtin_memset(&event->stack, 0, sizeof(event->stack));
	event->ended = wait->ended;
	event->duration = wait->length;
	event->reason = reason;
	event->number = wait->number;
	event->flags = wait->flags;
	event->waker = wait->waker;
	event->waker_process = wait->waker_process;
	event->held = 0;
	event->held_ns = 0;
	event->file = WAIT_NO_FILE;
	event->reserved = 0;
	if (reason >= WAIT_REASONS)
		return;
	event->held = wait->count[reason] - wait->reported_count[reason] - 1;
	event->held_ns = wait->ns[reason] - wait->reported_ns[reason] - wait->length;
	wait->reported_count[reason] = wait->count[reason];
	wait->reported_ns[reason] = wait->ns[reason];
}

/* Appends the user stack of the current thread, which has these user registers. */
static __always_inline void wait_stack(struct scratch *scratch, const struct pt_regs *regs,
				       struct task_state *state)
{
	regs_user(regs, &scratch->regs);
	stack_user(scratch, state);
	if (stack_is_copied(scratch))
		regs_user_rest(regs, &scratch->regs);
}

/*
 * User registers for a wait in a system call. NULL if calls were not traced in between: the thread
 * may be in another call.
 */
static __always_inline const struct pt_regs *wait_regs(const struct task_waits *wait,
						       const struct pt_regs *regs)
{
	return calls_traced(calls_epoch) && wait->ended >= calls_opened ? regs : NULL;
}

/*
 * The record of the wait that ended, in a scratch, without its user stack; the header names the
 * current thread. NULL if it is above the ceiling, or there is no scratch; both are counted.
 */
static __always_inline struct scratch *wait_record(struct task_struct *task,
						   struct task_state *state, uint64_t now)
{
	struct scratch *scratch;
	struct event_wait *event;

	if (!ceiling_below(CEILING_WAIT, config.wait_rate, now)) {
		loss_count(LOSS_WAIT_CEILING);
		return NULL;
	}
	scratch = scratch_take();
	if (!scratch)
		return NULL;
	event = (struct event_wait *)scratch->data;
	emit_header(&event->header, EVENT_wait, 0, state, now);
	wait_fill(event, &state->waits);
	event->queued = wait_queued(&state->waits, task_queued(task));
	scratch->size = sizeof(*event);
	place_put_last(scratch, &event->stack, task);
	return scratch;
}

static __always_inline void wait_emit_bare(struct scratch *scratch)
{
	stack_count_losses(stack_counts(scratch)->quality);
	scratch_emit(scratch, &ring_sched, LOSS_SCHED_RING);
}

static __always_inline uint32_t wait_file(struct task_struct *task, const struct task_waits *wait,
					  const struct pt_regs *regs, bool current)
{
	return wait->reason == WAIT_CALL ? wait_file_of(task, regs, wait->number, current)
					 : WAIT_NO_FILE;
}

/* Reports the ended wait of the current thread; `regs` are its user registers or NULL. */
static __always_inline void wait_report(struct task_state *state, const struct pt_regs *regs,
					uint64_t now)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct scratch *scratch = wait_record(task, state, now);

	if (scratch && regs) {
		((struct event_wait *)scratch->data)->file =
			wait_file(task, &state->waits, regs, 1);
		wait_stack(scratch, regs, state);
		stack_emit(scratch, &ring_sched, LOSS_SCHED_RING);
	} else if (scratch) {
		wait_emit_bare(scratch);
	}
	state->waits.ended = 0;
}

/* Reports the ended wait of another thread, without its user stack. */
static __always_inline void wait_report_of(struct task_struct *task, struct task_state *state,
					   uint64_t now)
{
	struct scratch *scratch = wait_record(task, state, now);

	if (scratch) {
		wait_header_of((struct event_header *)scratch->data, task);
		/* The kernel updates it only when the thread gets the CPU. */
		((struct event_wait *)scratch->data)->queued = 0;
		((struct event_wait *)scratch->data)->file = wait_file(
			task, &state->waits, (const struct pt_regs *)bpf_task_pt_regs(task), 0);
		wait_emit_bare(scratch);
	}
	state->waits.ended = 0;
}

/*
 * A record stands for the shorter waits before it, but not for those in other calls, which are in
 * the totals only.
 */
static __always_inline void wait_count_call(struct task_waits *wait)
{
	if (wait->held != wait->number) {
		wait->held = wait->number;
		wait->reported_count[WAIT_CALL] = wait->count[WAIT_CALL];
		wait->reported_ns[WAIT_CALL] = wait->ns[WAIT_CALL];
	}
	wait->call_count++;
	wait->call_ns += wait->length;
	if (wait->length > wait->call_max)
		wait->call_max = wait->length;
}

/* The thread begins a system call. */
static __always_inline void wait_begin_call(struct task_waits *wait)
{
	wait->call_count = wait->call_ns = wait->call_max = 0;
}

/* Counts the current wait, which ended. It is reported if it was long enough. */
static __always_inline void wait_over(struct task_waits *wait, uint64_t now)
{
	uint32_t reason = wait->reason;

	wait->length = now > wait->since ? now - wait->since : 0;
	wait->since = 0;
	if (wait->woken && reason != WAIT_PREEMPTED)
		wait->ready = now > wait->woken ? now - wait->woken : 1;
	if (reason == WAIT_CALL)
		wait_count_call(wait);
	if (reason < WAIT_REASONS) {
		wait->count[reason]++;
		wait->ns[reason] += wait->length;
		if (wait->length > wait->max[reason])
			wait->max[reason] = wait->length;
	}
	if (wait->length >= config.wait_min_ns)
		wait->ended = now;
}

/* Emits the usage of the thread so far. */
static __always_inline void usage_emit(struct task_struct *task, struct task_state *state,
				       uint64_t now, uint32_t goes_on)
{
	struct event_usage *event = EMIT_RESERVE(ring_process, event_usage, LOSS_PROCESS_RING);
	struct task_faults faults = state->paused_faults;
	uint64_t queued = state->paused_queued;

	if (!event)
		return;
	if (!is_paused()) {
		task_faults(task, &faults);
		queued = task_queued(task);
		if (wait_switches(task) == state->waits.switches)
			queued = state->waits.queued + wait_queued(&state->waits, queued);
	}
	emit_header(&event->header, EVENT_usage, sizeof(*event), state, now);
	wait_header_of(&event->header, task);
	event->minor_faults = faults.minor - state->faults.minor;
	event->major_faults = faults.major - state->faults.major;
	event->flags = (config.waits ? USAGE_WAITS : 0) | (waits_gaps ? USAGE_WAITS_PART : 0) |
		       (bpf_core_field_exists(task->sched_info.run_delay) ? USAGE_QUEUED : 0) |
		       goes_on;
	event->queued = queued - state->queued;
	event->reserved = 0;
	__builtin_memcpy(event->waits, state->waits.count, sizeof(event->waits));
	__builtin_memcpy(event->wait_ns, state->waits.ns, sizeof(event->wait_ns));
	__builtin_memcpy(event->wait_max, state->waits.max, sizeof(event->wait_max));
	emit_submit(event, &ring_process);
}

#endif
