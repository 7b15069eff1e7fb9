/* SPDX-License-Identifier: BSD-2-Clause */
/* storm.c: more busy threads than CPUs, whose probes say which stack they were fired from. */
/*
 *	storm THREADS SECONDS
 *
 * Each thread goes down one of two chains of functions, to a depth of its own, and
 * fires a sample there: `type` is the chain (1 or 2) and the depth, `sample` the
 * thread and how many it had fired. So each record can be checked by itself. Every
 * second thread runs only when no other wants to, and waits preempted most of its
 * time. Prints how many samples were fired while somebody listened.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../../../gc/provider/probe_args.h"

#define _SDT_HAS_SEMAPHORES     1
#define STAP_SDT_ARG_CONSTRAINT nr
#include <sys/sdt.h>

volatile uint16_t gcprof_sample_semaphore __attribute__((section(".probes"), used));

enum { THREADS_MAX = 64, DEPTHS = 5, CHAIN_DEPTH = 60 };

static atomic_ulong fired;
static atomic_bool over;

static __attribute__((noinline)) void fire(uint64_t sample, uint64_t type)
{
	uint64_t size = 64 * type, period = 512, anchor = 0, stack = 0;
	uint32_t kind = GCPROF_SAMPLE_NURSERY;

	STAP_PROBE7(gcprof, sample, sample, type, size, period, kind, anchor, stack);
}

static __attribute__((noinline)) void even_chain(uint64_t sample, uint64_t type, uint64_t depth)
{
	if (depth)
		even_chain(sample, type, depth - 1);
	else
		fire(sample, type);
	__asm__ volatile("" ::: "memory");
}

static __attribute__((noinline)) void odd_chain(uint64_t sample, uint64_t type, uint64_t depth)
{
	if (depth)
		odd_chain(sample, type, depth - 1);
	else
		fire(sample, type);
	__asm__ volatile("" ::: "memory");
}

static void *run(void *argument)
{
	const uint64_t self = (uint64_t)(uintptr_t)argument;
	const struct sched_param none = {0};

	if (self % 2)
		sched_setscheduler(0, SCHED_IDLE, &none);
	for (uint64_t n = 0; !over; n++) {
		uint64_t depth = (n % DEPTHS) * CHAIN_DEPTH;
		uint64_t type = 1 + self % 2 + 10 * depth;

		syscall(SYS_getppid);
		if (!gcprof_sample_semaphore)
			continue;
		fired++;
		if (self % 2)
			odd_chain(self << 32 | (n + 1), type, depth);
		else
			even_chain(self << 32 | (n + 1), type, depth);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	const int count = argc > 1 ? atoi(argv[1]) : 8, seconds = argc > 2 ? atoi(argv[2]) : 1;
	pthread_t threads[THREADS_MAX];

	if (count < 1 || count > THREADS_MAX)
		return 2;
	for (int i = 0; i < count; i++)
		if (pthread_create(&threads[i], NULL, run, (void *)(uintptr_t)(i + 1)))
			return 1;
	nanosleep(&(struct timespec){.tv_sec = seconds}, NULL);
	over = 1;
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	printf("{\"fired\":%lu}\n", fired);
	return 0;
}
