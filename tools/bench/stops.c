/* SPDX-License-Identifier: BSD-2-Clause */
/* stops.c: linked around the collector's entries, tells how long a program's threads stood still.
 */
/*
 * A stop is all that an allocation does before the program goes on: a survey or
 * a minor collection, and the step or the full collection behind it. It is
 * measured in CPU time of the thread, because on a busy machine the longest by
 * the clock is somebody else's work. Memory that is got ready for the next
 * collection is told apart: it is the kernel that takes this time.
 *
 * At the end one line is appended to the file that STOPS names:
 *
 *	COUNT MEDIAN P99 LONGEST PREPARE	in microseconds; PREPARE is the longest one
 *
 * Collections that the program asks for do not count. For one thread.
 */
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MAX_STOPS = 1 << 22 };

static uint32_t stops[MAX_STOPS]; /* in tenths of microseconds */
static size_t n_stops;
static uint64_t longest_prepare;

static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void count_stop(uint64_t begin)
{
	if (n_stops < MAX_STOPS)
		stops[n_stops++] = (uint32_t)((cpu_ns() - begin) / 100);
}

void __real_heap_collect(struct gc_thread *self, enum collect_kind kind, uint32_t reason,
			 uint64_t seen);
void __real_heap_step(struct gc_thread *self, uint32_t reason, uint64_t seen);
void __real_heap_survey(struct gc_thread *self, const char *slice, uint64_t seen);
void __real_heap_prepare(struct gc_thread *self);
void __real_gc_heap_destroy(struct gc_heap *heap);

void __wrap_heap_collect(struct gc_thread *self, enum collect_kind kind, uint32_t reason,
			 uint64_t seen)
{
	uint64_t begin = cpu_ns();

	__real_heap_collect(self, kind, reason, seen);
	count_stop(begin);
}

void __wrap_heap_step(struct gc_thread *self, uint32_t reason, uint64_t seen)
{
	uint64_t begin = cpu_ns();

	__real_heap_step(self, reason, seen);
	count_stop(begin);
}

void __wrap_heap_survey(struct gc_thread *self, const char *slice, uint64_t seen)
{
	uint64_t begin = cpu_ns();

	__real_heap_survey(self, slice, seen);
	count_stop(begin);
}

void __wrap_heap_prepare(struct gc_thread *self)
{
	uint64_t begin = cpu_ns(), took;

	__real_heap_prepare(self);
	took = cpu_ns() - begin;
	if (longest_prepare < took)
		longest_prepare = took;
}

static int compare(const void *left, const void *right)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	return (a > b) - (a < b);
}

void __wrap_gc_heap_destroy(struct gc_heap *heap)
{
	FILE *out = heap && n_stops && getenv("STOPS") ? fopen(getenv("STOPS"), "a") : NULL;

	if (out) {
		qsort(stops, n_stops, sizeof(*stops), compare);
		fprintf(out, "%zu %.1f %.1f %.1f %.1f\n", n_stops, stops[n_stops / 2] / 10.0,
			stops[n_stops * 99 / 100] / 10.0, stops[n_stops - 1] / 10.0,
			(double)longest_prepare / 1000);
		fclose(out);
	}
	__real_gc_heap_destroy(heap);
}
