/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* preempt.h: no other thread gets the CPU while a program runs, where the kernel allows that. */
/*
 * The kernel runs probe programs with preemption on, and newer ones programs of
 * tracepoints, too. A second run may begin on the CPU while the first waits to go on.
 *
 * - A thread of the lowest priority may wait while it has a scratch, or room in a
 *   ring. Meanwhile others have a scratch less, and the recorder gets nothing that
 *   came after it through that ring.
 * - From Linux 6.13 on large probe programs have one stack a CPU, as if they never
 *   preempted themselves. Two runs at once crash the kernel.
 *
 * What preemption costs programs of tracepoints anyway is counted by the kernel: it
 * skips a second run (LOSS_SYSCALL_SKIPPED, LOSS_PROCESS_SKIPPED).
 */
#ifndef GCPROF_PREEMPT_H
#define GCPROF_PREEMPT_H

#include "maps.h"

/* The recorder makes kernel functions of them, or nothing. No weak symbols: libbpf 1.1 would look
 * for missing ones in all modules, which CAP_BPF does not allow. */
static void (*const preempt_disable)(void) = (void *)PREEMPT_DISABLE_CALL;
static void (*const preempt_enable)(void) = (void *)PREEMPT_ENABLE_CALL;

/* Runs `body`, an expression, with preemption off. */
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

/* A program with a tail call never gets a stack that its runs share. The call finds no program, so
 * the caller goes on. */
static __always_inline void preempt_own_stack(void *ctx)
{
	if (!config.preempt_off)
		bpf_tail_call(ctx, &no_programs, 0);
}

#endif
