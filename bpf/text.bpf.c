/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* text.bpf.c: stops a program that replaces code with breakpoints, until its copy has none. */
/*
 * A copy of code contains the breakpoints, and would end the program. Nothing fires when code is
 * copied, but when it replaces the original, the kernel flushes address translations in the call
 * that does so. The program stops at the end of that call.
 */
#include "emit.h"
#include "filter.h"
#include "preempt.h"

/* 1 once any process has breakpoints; until then there is no lookup. */
volatile uint32_t texts_known = 0;

/* By process; the recorder writes and removes it. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, PROCESSES_CHOSEN);
	__type(key, uint32_t);
	__type(value, struct probed_text);
} probed_text SEC(".maps");

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
		if (i < text->count && start < text->end[i] && text->start[i] < end)
			return 1;
	return !text->count;
}

static __always_inline void text_stop(struct task_state *state, struct process_state *process,
				      const struct probed_text *text)
{
	struct event_replaced *event;

	/* Stopped already. */
	if (process->stops != text->handled)
		return;
	event = EMIT_RESERVE(ring_process, event_replaced, LOSS_PROCESS_RING);
	/* Nobody would let it go on. */
	if (!event)
		return;
	process->stops++;
	emit_header(&event->header, EVENT_replaced, sizeof(*event), state, bpf_ktime_get_ns());
	event->start = process->replaced;
	event->end = process->replaced_end;
	emit_submit(event, &ring_process);
	bpf_send_signal(STOP);
}

/* A copy is either moved over the code, or put into memory mapped over it and made executable. */
static __always_inline void text_changes(struct task_state *state, struct process_state *process,
					 const struct probed_text *text)
{
	const struct pt_regs *regs =
		(const struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());
	int64_t number = call_number(regs);
	uint64_t args[3], rest[2], start, end;
	bool maps, moves;

	call_args(regs, 0, args);
	call_args_rest(regs, rest);
	maps = number == CALL_MMAP && (rest[0] & MAP_ANONYMOUS_FIXED) == MAP_ANONYMOUS_FIXED;
	moves = number == CALL_MREMAP && rest[0] & MOVE_FIXED;
	start = moves ? rest[1] : args[0];
	end = start + (moves ? args[2] : args[1]);
	if ((maps || moves) && text_overlaps(text, start, end)) {
		process->replaced = start;
		process->replaced_end = end;
	} else if ((number != CALL_MPROTECT && number != CALL_PKEY_MPROTECT) ||
		   !(args[2] & EXECUTABLE) || start >= process->replaced_end ||
		   process->replaced >= end) {
		return;
	}
	if (!maps)
		text_stop(state, process, text);
}

static __always_inline void text_flushed(int reason)
{
	struct task_state *state = reason >= FLUSH_LOCAL && texts_known ? filter_active() : NULL;
	struct process_state *process;
	struct probed_text *text;

	if (!state)
		return;
	text = bpf_map_lookup_elem(&probed_text, &state->process);
	process = text ? bpf_map_lookup_elem(&processes, &state->process) : NULL;
	if (process)
		text_changes(state, process, text);
}

SEC("tp_btf/tlb_flush")
int BPF_PROG(text_replaced, int reason)
{
	return PREEMPT_OFF(text_flushed(reason));
}
