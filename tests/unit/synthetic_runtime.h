/* SPDX-License-Identifier: BSD-2-Clause */
/* synthetic_runtime.h: a profile of a runtime that has its own names, and collects concurrently. */
#ifndef GCPROF_SYNTHETIC_RUNTIME_H
#define GCPROF_SYNTHETIC_RUNTIME_H

#include "synthetic.h"

/*
 * Two concurrent cycles of 40 and 20 ms, with three stops of 1 ms that one thread begins and
 * another ends, and a young collection of 5 ms outside of them. Times are ns from 1 s on.
 */
struct synthetic_runtime {
	struct synthetic synthetic;
	uint64_t time;
};

enum { RUNTIME_MS = 1000000 };

static inline void name_in_runtime(struct synthetic *synthetic, uint64_t number, const char *name)
{
	PUT(synthetic, gc_name, .process = 1, .number = number,
	    .name = synthetic_string(synthetic, name));
}

static inline void pause_in_runtime(struct synthetic *synthetic, uint64_t begin, uint64_t end,
				    uint64_t kind, uint64_t name, uint64_t reason)
{
	PUT(synthetic, gc_begin, .time = begin, .thread = 1, .heap = 1, .kind = kind, .name = name);
	PUT(synthetic, gc_end, .time = end, .thread = 2, .heap = 1, .kind = kind, .batched = 1,
	    .reason = reason, .heap_before = 64 << 20, .heap_after = 16 << 20,
	    .heap_size = 256 << 20);
	PUT(synthetic, heap_area, .time = end, .process = 1, .heap = 1, .name = 21, .flags = 1 | 2,
	    .before = 64 << 20, .after = 16 << 20, .size = 256 << 20, .limit = 512 << 20);
}

static inline void cycle_in_runtime(struct synthetic *synthetic, uint64_t end, uint64_t number,
				    uint64_t span)
{
	PUT(synthetic, gc_cycle, .time = end, .process = 1, .heap = 1, .cycle = number,
	    .span = span, .name = 18, .reason = 19, .heap_before = 48 << 20, .heap_after = 32 << 20,
	    .live = 24 << 20);
	PUT(synthetic, heap_area, .time = end, .process = 1, .heap = 1, .cycle = number, .name = 21,
	    .flags = 1 | 2 | 4, .before = 48 << 20, .after = 32 << 20, .size = 256 << 20);
}

/* Two threads of the runtime's own, one of which the system's threads 1 and 2 have run. */
static inline void worker_in_runtime(struct synthetic *synthetic, uint64_t time)
{
	uint64_t exit = synthetic_function(synthetic, "/bin/app", 1, "runtime.goexit");
	uint64_t work = synthetic_function(synthetic, "/bin/app", 2, "main.work");
	uint64_t serve = synthetic_function(synthetic, "/bin/app", 3, "main.serve.func1");
	uint64_t main = synthetic_function(synthetic, "/bin/app", 4, "runtime.main");
	uint64_t stacks[] = {synthetic_stack(synthetic, (uint64_t[]){exit, serve, work, 0}),
			     synthetic_stack(synthetic, (uint64_t[]){exit, main, work, 0}),
			     synthetic_stack(synthetic, (uint64_t[]){exit, 0})};

	PUT(synthetic, cpu, .time = time, .thread = 1, .stack = stacks[0], .mode = 1, .fiber = 7);
	PUT(synthetic, cpu, .time = time + 1, .thread = 2, .stack = stacks[0], .mode = 1,
	    .fiber = 7);
	PUT(synthetic, cpu, .time = time + 2, .thread = 2, .stack = stacks[1], .mode = 1,
	    .fiber = 9);
	PUT(synthetic, cpu, .time = time + 3, .thread = 2, .stack = stacks[2], .mode = 1,
	    .fiber = 7);
	PUT(synthetic, alloc, .time = time + 4, .thread = 2, .stack = stacks[1], .sample = 1,
	    .type = 1, .size = 1000000, .period = 1, .kind = 1, .fiber = 11);
}

static inline void synthetic_runtime(struct synthetic_runtime *runtime, const char *name)
{
	const uint64_t start = 1000 * (uint64_t)RUNTIME_MS;
	struct synthetic *synthetic = &runtime->synthetic;

	synthetic_program(synthetic, start);
	PUT(synthetic, stream, .stream = 2, .attached = 1, .name = bytes_of("gc"));
	PUT(synthetic, thread, .id = 2, .process = 1, .tid = 101);
	PUT(synthetic, runtime, .process = 1, .name = synthetic_string(synthetic, name),
	    .version = synthetic_string(synthetic, "1.2.3"),
	    .note = synthetic_string(synthetic, "What is never freed is not seen."));
	PUT(synthetic, runtime, .process = 1, .name = synthetic_string(synthetic, "agent"),
	    .version = synthetic_string(synthetic, "4.5"), .provider = 2);
	name_in_runtime(synthetic, 16, "pause young");
	name_in_runtime(synthetic, 17, "allocation failure");
	name_in_runtime(synthetic, 18, "mark and sweep");
	name_in_runtime(synthetic, 19, "heap has doubled");
	name_in_runtime(synthetic, 20, "mark termination");
	name_in_runtime(synthetic, 21, "old space");
	pause_in_runtime(synthetic, start + 10 * RUNTIME_MS, start + 11 * RUNTIME_MS, 5, 20, 0);
	pause_in_runtime(synthetic, start + 40 * RUNTIME_MS, start + 41 * RUNTIME_MS, 5, 20, 0);
	cycle_in_runtime(synthetic, start + 50 * RUNTIME_MS, 1, 40 * RUNTIME_MS);
	pause_in_runtime(synthetic, start + 60 * RUNTIME_MS, start + 65 * RUNTIME_MS, 1, 16, 17);
	pause_in_runtime(synthetic, start + 70 * RUNTIME_MS, start + 71 * RUNTIME_MS, 5, 20, 0);
	cycle_in_runtime(synthetic, start + 90 * RUNTIME_MS, 2, 20 * RUNTIME_MS);
	worker_in_runtime(synthetic, start + 91 * RUNTIME_MS);
	runtime->time = start + 100 * RUNTIME_MS;
}

#endif
