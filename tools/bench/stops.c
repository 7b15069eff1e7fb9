/* SPDX-License-Identifier: BSD-2-Clause */
/* stops.c: linked around the collector's entries, tells how long a program's threads stood still.
 */
/*
 * A stop is all that an allocation does before the program goes on: a minor
 * collection, and the step or the full collection behind it. It is
 * measured in CPU time of the thread, because on a busy machine the longest by
 * the clock is somebody else's work.
 *
 * At the end the file that STOPS names gets a line for each, in order:
 *
 *	ENTRY TENTHS	collect or step; tenths of microseconds
 *
 * Collections that the program asks for do not count. For one thread. A program
 * that does the same each time is stopped as often each time, so the least that
 * a stop took in several runs is what it takes without other work on the machine.
 */
#include "collect.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MAX_STOPS = 1 << 22 };

enum entry { COLLECT, STEP };

struct stop {
	uint32_t entry;
	uint32_t tenths; /* of microseconds */
};

static struct stop stops[MAX_STOPS];
static size_t n_stops;

static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void count_stop(enum entry entry, uint64_t begin)
{
	if (n_stops < MAX_STOPS)
		stops[n_stops++] = (struct stop){entry, (uint32_t)((cpu_ns() - begin) / 100)};
}

void __real_collect_run(struct gc_thread *self, enum collect_kind kind, uint32_t reason,
			uint64_t seen);
void __real_collect_step(struct gc_thread *self, uint32_t reason, uint64_t seen);
void __real_gc_heap_destroy(struct gc_heap *heap);

void __wrap_collect_run(struct gc_thread *self, enum collect_kind kind, uint32_t reason,
			uint64_t seen)
{
	uint64_t begin = cpu_ns();

	__real_collect_run(self, kind, reason, seen);
	count_stop(COLLECT, begin);
}

void __wrap_collect_step(struct gc_thread *self, uint32_t reason, uint64_t seen)
{
	uint64_t begin = cpu_ns();

	__real_collect_step(self, reason, seen);
	count_stop(STEP, begin);
}

void __wrap_gc_heap_destroy(struct gc_heap *heap)
{
	static const char *const names[] = {"collect", "step"};
	FILE *out = heap && n_stops && getenv("STOPS") ? fopen(getenv("STOPS"), "w") : NULL;

	if (out) {
		for (size_t i = 0; i < n_stops; i++)
			fprintf(out, "%s %u\n", names[stops[i].entry], stops[i].tenths);
		fclose(out);
	}
	__real_gc_heap_destroy(heap);
}
