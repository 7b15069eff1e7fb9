/* SPDX-License-Identifier: BSD-2-Clause */
/* protocol.h: what the peers' programs have in common: their arguments and what they print. */
/*
 *	PROGRAM gcbench N	the benchmark of Ellis, Kovac and Boehm, N times
 *	PROGRAM short N		20 million objects of 32 bytes, N times
 *	PROGRAM churn N T	4 million objects in each of T threads, N times
 *
 * One line for each time: wall-clock and CPU nanoseconds. All is done in one
 * process, so the later lines are those of a warm one. The programs in other
 * languages take the same arguments and do the same work.
 */
#ifndef BENCH_PROTOCOL_H
#define BENCH_PROTOCOL_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	STRETCH_DEPTH = 18,
	LONG_LIVED_DEPTH = 16,
	ARRAY_SIZE = 500000,
	MIN_DEPTH = 4,
	MAX_DEPTH = 16,
	SHORT_OBJECTS = 20000000,
	SHORT_KEPT = 1024, /* one in so many is published: it must not be optimised away */
	CHURN_OBJECTS = 4000000,
	CHURN_SIZES = 7,
	CHURN_RING = 256,
	CHURN_KEPT = 64, /* one in so many goes into the ring */
	MAX_THREADS = 64,
};

static inline uint64_t protocol_clock(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static inline void protocol_repeat(long times, void (*work)(void *context), void *context)
{
	for (; times > 0; times--) {
		uint64_t wall = protocol_clock(CLOCK_MONOTONIC);
		uint64_t cpu = protocol_clock(CLOCK_PROCESS_CPUTIME_ID);

		work(context);
		printf("%llu %llu\n", (unsigned long long)(protocol_clock(CLOCK_MONOTONIC) - wall),
		       (unsigned long long)(protocol_clock(CLOCK_PROCESS_CPUTIME_ID) - cpu));
		fflush(stdout);
	}
}

/* As many trees of this depth as make up two stretch trees. */
static inline int protocol_trees(int depth)
{
	return 2 * ((1 << (STRETCH_DEPTH + 1)) - 1) / ((1 << (depth + 1)) - 1);
}

#endif
