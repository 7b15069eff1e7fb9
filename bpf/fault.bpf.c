/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* fault.bpf.c: page faults with their stacks: where memory is first touched. */
/*
 * The kernel has already counted the fault. A record stands for all faults since the thread's last
 * record, so the sum is right however many are recorded. Faults after the last record are in
 * `usage`.
 */
#include "ceiling.h"
#include "cost.h"
#include "interrupted.h"
#include "viewer.h"

/* Fills in the faults that the record stands for; they count as reported from now on. */
static __always_inline void fault_fill(struct event_fault *event, struct task_state *state)
{
	struct task_faults now;

	task_faults(bpf_get_current_task_btf(), &now);
	event->minor = now.minor - state->faults_reported.minor;
	event->major = now.major - state->faults_reported.major;
	state->faults_reported = now;
}

static __always_inline int fault_emit(struct bpf_perf_event_data *ctx)
{
	struct task_state *state = filter_active();
	uint64_t now = bpf_ktime_get_ns();
	struct scratch *scratch;
	struct event_fault *event;

	if (!state)
		return 0;
	if (!ceiling_below(CEILING_FAULT, config.fault_rate, now)) {
		loss_count(LOSS_FAULT_CEILING);
		return 0;
	}
	scratch = scratch_take();
	if (!scratch)
		return 0;
	event = (struct event_fault *)scratch->data;
	__builtin_memset(&event->stack, 0, sizeof(event->stack));
	emit_header(&event->header, EVENT_fault, 0, state, now);
	event->address = viewer_is_denied(bpf_get_current_task_btf()) ? 0 : ctx->addr;
	fault_fill(event, state);
	scratch->size = sizeof(*event);
	if (interrupted_regs(state, &ctx->regs, &scratch->regs))
		stack_user(scratch, state);
	stack_emit(scratch, &ring_fault, LOSS_FAULT_RING);
	return 0;
}

SEC("perf_event")
int fault_taken(struct bpf_perf_event_data *ctx)
{
	return COST_OF(COST_FAULT, COST_EACH, fault_emit(ctx));
}
