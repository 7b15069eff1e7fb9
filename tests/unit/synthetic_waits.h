/* SPDX-License-Identifier: BSD-2-Clause */
/* synthetic_waits.h: writes the profile of two threads that wait, for every reason that there is.
 */
#ifndef GCPROF_SYNTHETIC_WAITS_H
#define GCPROF_SYNTHETIC_WAITS_H

#include "synthetic.h"

/* Sums over the records of waits, those that they stand for included, and over all waits. */
enum {
	WAITS_RECORDED = 6,
	WAITS_RECORDED_NS = 4950,
	WAITS_ALL_NS = 5090,
	WAITS_STACK_NS = 4900,
	WAITS_READ_NS = 600
};

/*
 * Thread 1 (100) waits in a read() that takes from 2100 to 3100, with f on its stack, and
 * for a page in its collection from 3500 to 4200; thread 2 (101), in g, for others that run
 * and then in a futex() that is never over.
 */
static inline void synthetic_waits(struct synthetic *synthetic)
{
	uint64_t f, g;

	synthetic_begin(synthetic);
	PUT(synthetic, stream, .stream = 5, .name = bytes_of("sched"), .attached = 1);
	synthetic_process(synthetic, 1000);
	PUT(synthetic, thread, .id = 2, .process = 1, .tid = 101);
	f = synthetic_stack(synthetic,
			    (uint64_t[]){synthetic_function(synthetic, "/bin/app", 1, "f"), 0});
	g = synthetic_stack(synthetic,
			    (uint64_t[]){synthetic_function(synthetic, "/bin/app", 64, "g"), 0});
	PUT(synthetic, cpu, .time = 2000, .thread = 1, .stack = f, .mode = 1);
	PUT(synthetic, cpu, .time = 2000, .thread = 2, .stack = g, .mode = 1);
	PUT(synthetic, wait, .time = 3000, .thread = 1, .duration = 500, .number = 0, .flags = 1,
	    .held = 2, .held_ns = 100, .stack = f);
	PUT(synthetic, syscall, .time = 3100, .thread = 1, .number = 0, .duration = 1000);
	PUT(synthetic, gc_begin, .time = 3500, .thread = 1, .heap = 1, .cycle = 1, .kind = 1,
	    .reason = 1);
	PUT(synthetic, wait, .time = 3900, .thread = 1, .duration = 50, .reason = 1);
	PUT(synthetic, wait, .time = 4000, .thread = 2, .duration = 300, .reason = 2, .stack = g);
	PUT(synthetic, gc_end, .time = 4200, .thread = 1, .heap = 1, .cycle = 1, .kind = 1);
	PUT(synthetic, cpu, .time = 4500, .thread = 2, .stack = g, .mode = 1);
	PUT(synthetic, wait, .time = 9000, .thread = 2, .duration = 4000, .number = 202, .flags = 9,
	    .stack = g);
	PUT(synthetic, syscall_total, .time = 9000, .process = 1, .number = 0, .count = 5,
	    .total_ns = 5000, .waits = 4, .wait_ns = 700);
	PUT(synthetic, usage, .time = 9000, .thread = 1, .flags = 1, .call_waits = 4,
	    .call_ns = 700, .fault_waits = 3, .fault_ns = 90, .minor_faults = 7, .major_faults = 2);
	PUT(synthetic, usage, .time = 9000, .thread = 2, .flags = 1, .call_waits = 1,
	    .call_ns = 4000, .preempted_waits = 1, .preempted_ns = 300, .minor_faults = 4);
	synthetic_end(synthetic, 9000);
}

#endif
