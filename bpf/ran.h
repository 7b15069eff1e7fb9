/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* ran.h: CPU time of threads, from the scheduler. */
#ifndef GCPROF_RAN_H
#define GCPROF_RAN_H

#include "emit.h"

/* CPU time of the thread since the last call, which counts as reported. See struct event_ran. */
static __always_inline int64_t ran_take(struct task_struct *task, struct task_state *state)
{
	uint64_t now = task_ran(task);
	int64_t ran = (int64_t)(now - __sync_lock_test_and_set(&state->ran, now));
	struct process_state *process;
	uint32_t index = state->process;

	process = fates_known ? bpf_map_lookup_elem(&processes, &index) : NULL;
	if (process)
		__sync_fetch_and_add(&process->ran, ran);
	return ran;
}

/* The time could not be reported: the next report will include it. */
static __always_inline void ran_give_back(struct task_state *state, int64_t ran)
{
	__sync_fetch_and_add(&state->ran, -ran);
}

static __always_inline void ran_emit(struct task_struct *task, struct task_state *state)
{
	int64_t ran = config.timers ? ran_take(task, state) : 0;
	struct event_ran *event;

	if (!ran || is_paused())
		return;
	event = EMIT_RESERVE(ring_cpu, event_ran, LOSS_CPU_RING);
	if (!event) {
		ran_give_back(state, ran);
		return;
	}
	emit_header(&event->header, EVENT_ran, sizeof(*event), state, bpf_ktime_get_ns());
	event->header.pid = BPF_CORE_READ(task, tgid);
	event->header.tid = BPF_CORE_READ(task, pid);
	event->ran = ran;
	emit_submit(event, &ring_cpu);
}

#endif
