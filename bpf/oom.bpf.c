/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* oom.bpf.c: memory is short, and the kernel has chosen a process to end. */
#include "emit.h"
#include "preempt.h"

/* The thread that wanted memory chooses: the victim may be another process. */
static __always_inline void oom_chosen(struct task_struct *task)
{
	struct task_state *state = recording ? bpf_task_storage_get(&tasks, task, NULL, 0) : NULL;
	struct event_oom *event;

	if (!state || !(state->flags & TASK_ACTIVE))
		return;
	event = EMIT_RESERVE(ring_process, event_oom, LOSS_PROCESS_RING);
	if (!event)
		return;
	emit_header(&event->header, EVENT_oom, sizeof(*event), state, bpf_ktime_get_ns());
	event->header.pid = task->tgid;
	event->header.tid = task->pid;
	emit_submit(event, &ring_process);
}

SEC("tp_btf/mark_victim")
int BPF_PROG(oom_victim, struct task_struct *task)
{
	return PREEMPT_OFF(oom_chosen(task));
}
