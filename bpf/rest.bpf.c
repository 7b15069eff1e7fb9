/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* rest.bpf.c: what is still open when a recording ends: calls, waits, and usage of threads. */
/*
 * The recorder runs rest_iterate() once, after all other programs stopped recording. Whichever
 * program ends a thread's state, this or process_exit(), accounts for it.
 */
#include "ran.h"
#include "syscall.h"
#include "task.h"
#include "wait.h"

volatile uint64_t resumed = 0;

static __always_inline void rest_wait(struct task_struct *task, struct task_state *state,
				      uint64_t now)
{
	struct task_waits *wait = &state->waits;

	if (wait_is_known(task, wait)) {
		wait_over(wait, now);
		if (wait->ended)
			place_take(task, wait->length);
		wait->flags |= WAIT_OPEN;
	}
	if (wait->ended)
		wait_report_of(task, state, now);
}

SEC("iter/task")
int rest_iterate(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct task_state *state;
	uint64_t now;

	if (!task)
		return 0;
	state = bpf_task_storage_get(&tasks, task, NULL, 0);
	if (!state)
		return 0;
	now = bpf_ktime_get_ns();
	if (!task_end(state)) {
		if (task_is_over(state))
			ran_emit(task, state);
		return 0;
	}
	if (config.waits)
		rest_wait(task, state, now);
	if (call_is_open(state))
		syscall_end_of(task, state, now);
	usage_emit(task, state, now, 0);
	if (task_is_over(state))
		ran_emit(task, state);
	return 0;
}

/* Before a pause, and at its end: what a thread uses in between does not count. */
SEC("iter/task")
int pause_iterate(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct task_state *state;
	struct task_faults before;
	uint64_t queued;

	if (!task)
		return 0;
	state = bpf_task_storage_get(&tasks, task, NULL, 0);
	if (!state)
		return 0;
	before = state->paused_faults;
	queued = state->paused_queued;
	task_faults(task, &state->paused_faults);
	state->paused_queued = task_queued(task);
	if (!is_paused())
		return 0;
	state->queued += state->paused_queued - queued;
	state->faults.minor += state->paused_faults.minor - before.minor;
	state->faults.major += state->paused_faults.major - before.major;
	state->faults_reported.minor += state->paused_faults.minor - before.minor;
	state->faults_reported.major += state->paused_faults.major - before.major;
	return 0;
}

/* The usage of threads so far, where the recording continues in another file. */
SEC("iter/task")
int usage_iterate(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct task_state *state;
	uint64_t now = bpf_ktime_get_ns(); /* before what the thread may report when it ends */

	if (!task || !recording)
		return 0;
	state = bpf_task_storage_get(&tasks, task, NULL, 0);
	if (state && state->flags == TASK_ACTIVE)
		usage_emit(task, state, now, USAGE_GOES_ON);
	return 0;
}
