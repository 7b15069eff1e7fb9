/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* preempt.h: disables preemption while a program runs, where the kernel allows that. */
/*
 * The kernel runs probe programs with preemption enabled, and tracepoint programs too from Linux
 * 7.0 on at the earliest. A second run may begin on the CPU before the first one continues.
 *
 * - A thread of lowest priority may be preempted while it holds a scratch or a reservation in a
 *   ring. Meanwhile others have one scratch less, and the recorder gets nothing that comes later in
 *   that ring.
 * - From Linux 6.13 on, large probe programs have one stack per CPU, as if they never preempted
 *   themselves. Two runs at once crash the kernel.
 *
 * The kernel skips a second run of a tracepoint program and counts it (LOSS_SYSCALL_SKIPPED,
 * LOSS_PROCESS_SKIPPED).
 */
#ifndef GCPROF_PREEMPT_H
#define GCPROF_PREEMPT_H

#include "maps.h"

/* The recorder replaces these with kernel functions, or with nothing. They are not weak symbols,
 * because libbpf 1.1 would search all modules for missing ones, which CAP_BPF does not permit. */
static void (*const preempt_disable)(void) = (void *)PREEMPT_DISABLE_CALL;
static void (*const preempt_enable)(void) = (void *)PREEMPT_ENABLE_CALL;

/* Evaluates `body`, an expression, with preemption disabled. */
#define PREEMPT_OFF(body)          \
	({                         \
		preempt_disable(); \
		body;              \
		preempt_enable();  \
		0;                 \
	})

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, uint32_t);
} no_programs SEC(".maps");

/* A program with a tail call never shares a stack between its runs. The call finds no program, so
 * the caller continues. */
static __always_inline void preempt_own_stack(void *ctx)
{
	if (!config.preempt_off)
		bpf_tail_call(ctx, &no_programs, 0);
}

#endif
