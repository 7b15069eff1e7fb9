/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* wake.bpf.c: when a wait ends, and which thread ends one for a lock. */
/*
 * Interrupts wake threads too; the current thread then has nothing to do with it. Only futex waits
 * count, and only if the current thread is in a call that ends such waits.
 */
#include "cost.h"
#include "lock.h"
#include "wait.h"

static __always_inline bool wake_ends_locks(int64_t number)
{
	return number == CALL_FUTEX || number == CALL_FUTEX_WAKE || number == CALL_FUTEX_REQUEUE ||
	       number == CALL_EXIT || number == CALL_EXIT_GROUP;
}

static __always_inline void thread_woken(struct task_struct *task)
{
	struct task_struct *waker = bpf_get_current_task_btf();
	struct task_state *state, *by;
	const struct pt_regs *regs;

	state = recording ? bpf_task_storage_get(&tasks, task, NULL, 0) : NULL;
	if (!state || !state->waits.since)
		return;
	state->waits.woken = bpf_ktime_get_ns();
	if (state->waits.waker || !(state->waits.flags & WAIT_IN_CALL) ||
	    (state->waits.number != CALL_FUTEX && state->waits.number != SYSCALL_LOCK))
		return;
	if (waker->flags & PF_KTHREAD)
		return;
	regs = (const struct pt_regs *)bpf_task_pt_regs(waker);
	by = bpf_task_storage_get(&tasks, waker, NULL, 0);
	if (!by || !(by->flags & TASK_ACTIVE) || !wake_ends_locks(call_number(regs)))
		return;
	state->waits.waker = (uint32_t)bpf_get_current_pid_tgid();
	state->waits.waker_process = by->process;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(sched_waking, struct task_struct *task)
{
	return COST_OF(COST_SWITCH, COST_EACH, thread_woken(task));
}
