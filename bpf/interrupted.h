/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* interrupted.h: user registers of a thread that a tick or a fault interrupted. */
#ifndef GCPROF_INTERRUPTED_H
#define GCPROF_INTERRUPTED_H

#include "stack.h"

static __always_inline void interrupted_copy(const struct pt_regs *from, struct user_regs *out)
{
	regs_user(from, out);
	if (config.copy_bytes)
		regs_user_rest(from, out);
}

/*
 * User registers: those at the interruption if it hit user mode, else those at the entry into the
 * kernel. False if they mean nothing: the thread has released its memory, is about to replace it,
 * or is a kernel thread.
 */
static __always_inline bool interrupted_regs(const struct task_state *state,
					     const struct pt_regs *at, struct user_regs *out)
{
	struct task_struct *task = bpf_get_current_task_btf();

	interrupted_copy(at, out);
	/* The context and the task's registers are different pointer types for the verifier, which
	 * refuses one load for both. This keeps the compiler from merging them. */
	asm volatile("" ::: "memory");
	if (regs_user_mode(at))
		return 1;
	if (task->flags & (PF_EXITING | PF_KTHREAD))
		return 0;
	if (call_is_open(state) && (state->number == CALL_EXECVE || state->number == CALL_EXECVEAT))
		return 0;
	interrupted_copy((const struct pt_regs *)bpf_task_pt_regs(task), out);
	return 1;
}

#endif
