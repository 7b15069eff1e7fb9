/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* syscall.bpf.c: pairs the begins and ends of system calls, by thread. */
#include "cost.h"
#include "lock.h"
#include "preempt.h"
#include "syscall.h"
#include "wait.h"

/* Includes armed threads: the exec that starts the program belongs to it. */
static __always_inline void syscall_begins(struct task_struct *task, struct task_state *state,
					   const struct pt_regs *regs, long number)
{
	uint32_t epoch = calls_epoch;
	uint64_t now;

	if (number < 0 || !calls_traced(epoch))
		return;
	now = bpf_ktime_get_ns();
	state->epoch = epoch;
	state->number = (uint32_t)call_kind(state, regs, number) & ~SYSCALL_COMPAT_BIT;
	state->compat = call_is_compat(task);
	state->gc_ns = process_gc_time(state->process, now);
	call_args(regs, state->compat, state->args);
	if (config.waits)
		wait_begin_call(&state->waits);
	place_forget();
	state->start = now;
}

SEC("tp_btf/sys_enter")
int BPF_PROG(syscall_enter, struct pt_regs *regs, long number)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct task_state *state = filter_task(task);

	if (!state)
		return 0;
	return PREEMPT_OFF(
		COST_OF(COST_ENTER, COST_EACH, syscall_begins(task, state, regs, number)));
}

static __always_inline void syscall_mapped_code(uint32_t index)
{
	struct process_state *process = bpf_map_lookup_elem(&processes, &index);

	if (process)
		process->mapped = bpf_ktime_get_ns();
}

/* After exec the registers are the new program's initial ones: there is no stack yet. */
static __always_inline bool syscall_is_exec(uint32_t number)
{
	return number == CALL_EXECVE || number == CALL_EXECVEAT;
}

/*
 * A call that began while none were traced ends: only its end is known. A thread created since then
 * began none; what ends there is its creator's call.
 */
static __always_inline void syscall_is_unbegun(struct task_struct *task, struct task_state *state,
					       const struct pt_regs *regs)
{
	int64_t number = call_kind(state, regs, call_number(regs));

	state->start = number < 0 ? 0 : calls_opened;
	state->number = (uint32_t)number & ~SYSCALL_COMPAT_BIT;
	state->compat = call_is_compat(task);
	state->gc_ns = SYSCALL_UNBEGUN;
	state->args[2] = 0;
	if (config.waits)
		wait_begin_call(&state->waits);
}

static __always_inline void syscall_ends(struct task_struct *task, struct task_state *state,
					 const struct pt_regs *regs, long result)
{
	uint32_t epoch = calls_epoch;

	if (!calls_traced(epoch))
		return;
	if (config.waits && state->waits.ended)
		wait_report(state,
			    syscall_is_exec(state->waits.number) ? NULL
								 : wait_regs(&state->waits, regs),
			    bpf_ktime_get_ns());
	if (state->epoch != epoch) {
		state->epoch = epoch;
		syscall_is_unbegun(task, state, regs);
	}
	if (!state->start)
		return;
	if (!(state->flags & TASK_ACTIVE)) {
		state->start = 0;
		return;
	}
	if (state->number == CALL_MMAP && state->args[2] & PROT_EXEC && !state->compat)
		syscall_mapped_code(state->process);
	/* The registers and the memory are those of the program that was executed. */
	if (syscall_is_exec(state->number) && !result)
		regs = NULL;
	syscall_end(task, state, result, 0, regs);
}

SEC("tp_btf/sys_exit")
int BPF_PROG(syscall_exit, struct pt_regs *regs, long result)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct task_state *state = filter_task(task);

	if (!state)
		return config.measured ? cost_count(COST_OTHERS) : 0;
	return PREEMPT_OFF(COST_OF(COST_EXIT, COST_EACH, syscall_ends(task, state, regs, result)));
}
