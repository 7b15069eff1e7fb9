/* SPDX-License-Identifier: BSD-2-Clause */
/* paced.c: works at a steady pace, and says how much it had done when: paced SECONDS. */
/*
 * Every 5 ms it allocates, calls getppid, works and touches new pages. The lines that it prints at
 * its end, which SIGTERM brings sooner, have CLOCK_MONOTONIC, then what it had done by then: calls,
 * bytes allocated, CPU time in ns.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "gc.h"

enum { CALLS = 50, OBJECTS = 400, STEP_US = 5000, LINES_MAX = 40000 };

struct object {
	struct gc_header header;
	uint64_t room[31];
};

static const struct gc_type_desc object_desc = {.name = "object", .size = sizeof(struct object)};

static struct line {
	uint64_t time, calls, bytes, cpu_ns;
} lines[LINES_MAX];

static volatile sig_atomic_t is_over;

static void end_soon(int signal)
{
	(void)signal;
	is_over = 1;
}

static uint64_t now(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

__attribute__((noinline)) static void step(struct gc_thread *thread, gc_type type)
{
	uint64_t end = now(CLOCK_PROCESS_CPUTIME_ID) + STEP_US * 300;

	for (int i = 0; i < OBJECTS; i++)
		GC_NEW(thread, type, struct object);
	for (int i = 0; i < CALLS; i++)
		getppid();
	while (now(CLOCK_PROCESS_CPUTIME_ID) < end)
		;
	usleep(STEP_US);
}

int main(int argc, char **argv)
{
	uint64_t end =
		now(CLOCK_MONOTONIC) + (argc > 1 ? strtoul(argv[1], NULL, 10) : 1) * 1000000000;
	struct gc_heap *heap;
	struct gc_thread *thread;
	gc_type type;
	int count = 0;

	signal(SIGTERM, end_soon);
	if (gc_heap_create(NULL, &heap) || gc_type_register(heap, &object_desc, &type) ||
	    gc_thread_attach(heap, &thread))
		return 1;
	while (now(CLOCK_MONOTONIC) < end && count < LINES_MAX && !is_over) {
		lines[count] = (struct line){now(CLOCK_MONOTONIC), (uint64_t)count * CALLS,
					     (uint64_t)count * OBJECTS * sizeof(struct object),
					     now(CLOCK_PROCESS_CPUTIME_ID)};
		count++;
		step(thread, type);
	}
	for (int i = 0; i < count; i++)
		printf("%lu %lu %lu %lu\n", lines[i].time, lines[i].calls, lines[i].bytes,
		       lines[i].cpu_ns);
	gc_thread_detach(thread);
	gc_heap_destroy(heap);
	return 0;
}
