/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* syscall.bpf.c: pairs the begin and the end of system calls, thread by thread. */
#include "syscall.h"
#include "wait.h"

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
	if (config.waits)
		state->waits.call_count = state->waits.call_ns = 0;
	place_forget();
	state->start = now;
	return 0;
}

static __always_inline void syscall_mapped_code(uint32_t index)
{
	struct process_state *process = bpf_map_lookup_elem(&processes, &index);

	if (process)
		process->mapped = bpf_ktime_get_ns();
}

/* After exec the registers are the first ones of the new program: there is no stack yet. */
static __always_inline bool syscall_is_exec(uint32_t number)
{
	return number == CALL_EXECVE || number == CALL_EXECVEAT;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(syscall_exit, struct pt_regs *regs, long result)
{
	struct task_state *state = filter_followed();

	if (!state)
		return 0;
	if (config.waits && state->waits.ended)
		wait_tell(state, syscall_is_exec(state->waits.number) ? NULL : regs,
			  bpf_ktime_get_ns());
	if (!state->start)
		return 0;
	if (!(state->flags & TASK_ACTIVE)) {
		state->start = 0;
		return 0;
	}
	if (state->number == CALL_MMAP && state->args[2] & PROT_EXEC && !state->compat)
		syscall_mapped_code(state->process);
	syscall_end(state, result, 0, syscall_is_exec(state->number) ? NULL : regs);
	return 0;
}
