/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* syscall.bpf.c: pairs the begin and the end of system calls, thread by thread. */
#include "syscall.h"

/* Armed threads too: the exec that makes the program the program belongs to it. */
SEC("tp_btf/sys_enter")
int BPF_PROG(syscall_enter, struct pt_regs *regs, long number)
{
	struct task_state *state = filter_followed();
	uint64_t now;

	if (!state || number < 0)
		return 0;
	now = bpf_ktime_get_ns();
	state->number = (uint32_t)number & ~SYSCALL_COMPAT_BIT;
	state->compat = call_is_compat(bpf_get_current_task_btf());
	state->gc_ns = process_gc_time(state->process, now);
	call_args(regs, state->compat, state->args);
	state->start = now;
	return 0;
}

static __always_inline void syscall_mapped_code(uint32_t index)
{
	struct process_state *process = bpf_map_lookup_elem(&processes, &index);

	if (process)
		process->mapped = bpf_ktime_get_ns();
}

SEC("tp_btf/sys_exit")
int BPF_PROG(syscall_exit, struct pt_regs *regs, long result)
{
	struct task_state *state = filter_followed();

	if (!state || !state->start)
		return 0;
	if (!(state->flags & TASK_ACTIVE)) {
		state->start = 0;
		return 0;
	}
	/* After exec these are the first registers of the new program: there is no stack yet. */
	if (state->number == CALL_EXECVE || state->number == CALL_EXECVEAT)
		regs = NULL;
	if (state->number == CALL_MMAP && state->args[2] & PROT_EXEC && !state->compat)
		syscall_mapped_code(state->process);
	syscall_end(state, result, 0, regs);
	return 0;
}
