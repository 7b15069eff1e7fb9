/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* lock.h: gives system calls that wait for an interpreter's lock a number of their own. */
/*
 * Threads of CPython wait for the global lock in futex(), as for any other. It lies in _PyRuntime,
 * which contains no other lock that threads wait for in this way.
 */
#ifndef GCPROF_BPF_LOCK_H
#define GCPROF_BPF_LOCK_H

#include "filter.h"
#include "walk_rows.h"

/* The number for a futex() of the current thread on this address; `image`: exec time of its
 * program. */
__noinline uint32_t lock_call(uint64_t address, uint64_t image)
{
	uint32_t process = bpf_get_current_pid_tgid() >> 32;
	const struct interpreters *found = bpf_map_lookup_elem(&interpreters, &process);

	if (!found || found->since < image || !found->cpython.runtime)
		return CALL_FUTEX;
	address -= found->cpython.runtime + found->cpython_bias;
	return address < found->cpython.runtime_size ? SYSCALL_LOCK : CALL_FUTEX;
}

/* The number under which a system call of the current thread is counted. */
static __always_inline int64_t call_kind(const struct task_state *state, const struct pt_regs *regs,
					 int64_t number)
{
	if (number >= SYSCALL_NUMBERS)
		return SYSCALL_UNKNOWN;
	return locks_known && number == CALL_FUTEX ? lock_call(regs->rdi, state->image) : number;
}

#endif
