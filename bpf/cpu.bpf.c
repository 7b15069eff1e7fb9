/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* cpu.bpf.c: a timer tick on a CPU: what is the thread there doing? */
#include "cost.h"
#include "interrupted.h"

static __always_inline int tick_tell(struct bpf_perf_event_data *ctx)
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
	event->ticks = tick_stands;
	scratch->size = sizeof(*event);
	if (!user)
		stack_kernel(scratch, ctx);
	if (interrupted_regs(state, at, &scratch->regs))
		stack_user(scratch, state);
	else
		stack_count_losses(event->stack.quality);
	stack_emit(scratch, &ring_cpu, LOSS_CPU_RING);
	return 0;
}

SEC("perf_event")
int cpu_tick(struct bpf_perf_event_data *ctx)
{
	return COST_OF(COST_TICK, COST_SELDOM, tick_tell(ctx));
}
