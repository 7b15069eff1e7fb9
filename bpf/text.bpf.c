/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* text.bpf.c: stops a program that replaces code with breakpoints, until its copy has none. */
/*
 * A copy of code contains the breakpoints, and would end the program. Nothing fires when code is
 * copied, but when it replaces the original, the kernel flushes address translations in the call
 * that does so. The program stops at the end of that call. The attacher lets it go on
 * (record/kernel/stopped.h).
 */
#include "emit.h"
#include "filter.h"
#include "preempt.h"
#include "task.h"
#include "text.h"

enum {
	FLUSH_LOCAL = 2, /* and above: by the thread that changes the mapping */
	MAP_ANONYMOUS_FIXED = 0x30,
	MOVE_FIXED = 2,
	EXECUTABLE = 4,
	STOP = 19, /* SIGSTOP */
};

static __always_inline bool text_overlaps(const struct probed_text *text, uint64_t start,
					  uint64_t end)
{
	for (uint32_t i = 0; i < PROBED_RANGES; i++)
		if (i < text->count && start < text->ranges[i].end && text->ranges[i].start < end)
			return 1;
	return !text->count || text->count > PROBED_RANGES;
}

static __always_inline void text_report(struct task_state *state,
					const struct stopped_text *stopped)
{
	struct event_replaced *event =
		EMIT_RESERVE(ring_process, event_replaced, LOSS_PROCESS_RING);

	if (!event)
		return;
	emit_header(&event->header, EVENT_replaced, sizeof(*event), state, stopped->since);
	event->start = stopped->start;
	event->end = stopped->end;
	emit_submit(event, &ring_process);
}

/* `complete`: the program stops. */
static __always_inline void text_replace(struct task_state *state, uint64_t start, uint64_t end,
					 bool complete)
{
	const struct stopped_text *before = bpf_map_lookup_elem(&stopped_texts, &state->process);
	struct task_struct *task = bpf_get_current_task_btf();
	struct stopped_text now = {
		.pid = task_proc_id(BPF_CORE_READ(task, group_leader)),
		.tid = task_proc_id(task),
		.since = bpf_ktime_get_ns(),
		.start = start,
		.end = end,
		.stopped = complete,
		.user = task_user(task),
	};

	/* Without a process id the attacher could not continue it. */
	if ((before && before->stopped) || !now.pid ||
	    bpf_map_update_elem(&stopped_texts, &state->process, &now, BPF_ANY) || !complete)
		return;
	bpf_ringbuf_output(&ring_stopped, &state->process, sizeof(state->process),
			   BPF_RB_FORCE_WAKEUP);
	text_report(state, &now);
	bpf_send_signal(STOP);
}

/* A copy is either moved over the code, or put into memory mapped over it and made executable. */
static __always_inline void text_changes(struct task_state *state, const struct probed_text *text)
{
	const struct pt_regs *regs =
		(const struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());
	int64_t number = call_number(regs);
	uint64_t args[3], rest[2], start, end;
	const struct stopped_text *filled;
	bool maps, moves;

	call_args(regs, 0, args);
	call_args_rest(regs, rest);
	maps = number == CALL_MMAP && (rest[0] & MAP_ANONYMOUS_FIXED) == MAP_ANONYMOUS_FIXED;
	moves = number == CALL_MREMAP && rest[0] & MOVE_FIXED;
	start = moves ? rest[1] : args[0];
	end = start + (moves ? args[2] : args[1]);
	if (maps || moves) {
		if (text_overlaps(text, start, end))
			text_replace(state, start, end, moves);
		return;
	}
	if ((number != CALL_MPROTECT && number != CALL_PKEY_MPROTECT) || !(args[2] & EXECUTABLE))
		return;
	filled = bpf_map_lookup_elem(&stopped_texts, &state->process);
	if (filled && start < filled->end && filled->start < end)
		text_replace(state, filled->start, filled->end, 1);
}

/* Nobody else could let it go on. */
static __always_inline bool text_may_stop(void)
{
	return config.signals_all || (uint32_t)bpf_get_current_uid_gid() == recorder_user;
}

static __always_inline void text_flushed(int reason)
{
	struct task_struct *task = bpf_get_current_task_btf();
	const struct probed_text *text;
	struct task_state *state;

	if (reason < FLUSH_LOCAL || !texts_known)
		return;
	/* Also when the recording has ended, until the attacher has removed the breakpoints. */
	state = bpf_task_storage_get(&tasks, task, NULL, 0);
	text = state ? bpf_map_lookup_elem(&probed_text, &state->process) : NULL;
	if (text && text_may_stop())
		text_changes(state, text);
}

SEC("tp_btf/tlb_flush")
int BPF_PROG(text_replaced, int reason)
{
	return PREEMPT_OFF(text_flushed(reason));
}
