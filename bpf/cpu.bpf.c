/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* cpu.bpf.c: a timer tick on a CPU: what is the thread there doing? */
#include "stack.h"

static __always_inline void cpu_regs(const struct pt_regs *from, struct user_regs *out)
{
	regs_user(from, out);
	if (config.copy_bytes)
		regs_user_rest(from, out);
}

/*
 * Registers of user mode: those of the tick if it came there, else those that
 * the thread had when it entered the kernel. None (0) when it has left its
 * memory behind, is about to get another, or has none as a thread of the kernel:
 * the registers mean nothing there.
 */
static __always_inline bool cpu_user_regs(const struct task_state *state, const struct pt_regs *at,
					  struct user_regs *out)
{
	struct task_struct *task = bpf_get_current_task_btf();

	cpu_regs(at, out);
	/* The context and the task's registers are different kinds of pointers to the verifier,
	 * which refuses one load for both: keep the compiler from merging them. */
	asm volatile("" ::: "memory");
	if (regs_user_mode(at))
		return 1;
	if (task->flags & (PF_EXITING | PF_KTHREAD))
		return 0;
	if (state->start && (state->number == CALL_EXECVE || state->number == CALL_EXECVEAT))
		return 0;
	cpu_regs((const struct pt_regs *)bpf_task_pt_regs(task), out);
	return 1;
}

SEC("perf_event")
int cpu_tick(struct bpf_perf_event_data *ctx)
{
	struct task_state *state = filter_active();
	const struct pt_regs *at = &ctx->regs;
	struct scratch *scratch;
	struct event_cpu *event;
	bool user;

	if (!state)
		return 0;
	scratch = scratch_take();
	if (!scratch)
		return 0;
	user = regs_user_mode(at);
	event = (struct event_cpu *)scratch->data;
	__builtin_memset(event, 0, sizeof(*event));
	emit_header(&event->header, EVENT_cpu, 0, state, bpf_ktime_get_ns());
	event->mode = user ? CPU_MODE_USER : CPU_MODE_KERNEL;
	scratch->size = sizeof(*event);
	if (!user)
		stack_kernel(scratch, ctx);
	if (cpu_user_regs(state, at, &scratch->regs))
		stack_user(scratch, state);
	else
		stack_count_losses(event->stack.quality);
	stack_emit(scratch, &ring_cpu, LOSS_CPU_RING);
	return 0;
}
