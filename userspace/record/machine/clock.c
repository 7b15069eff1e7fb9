/* SPDX-License-Identifier: BSD-2-Clause */
/* clock.c: the time, how the machine's clocks relate, and how long a system call takes. */
#include "clock.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S UINT64_C(1000000000)

enum { ATTEMPTS = 5 };

static uint64_t read_clock(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static uint64_t read_tsc(void)
{
#ifdef __x86_64__
	return __builtin_ia32_rdtsc();
#else
	return 0;
#endif
}

/* The offset of this process's time namespace from the clock in the kernel's records. */
static uint64_t offset;
static pthread_once_t offset_once = PTHREAD_ONCE_INIT;

static void read_offset(void)
{
	FILE *file = fopen("/proc/self/timens_offsets", "re");
	int64_t seconds = 0, ns = 0;

	if (file && fscanf(file, "monotonic %" SCNd64 " %" SCNd64, &seconds, &ns) == 2)
		offset = (uint64_t)seconds * NS_PER_S + (uint64_t)ns;
	if (file)
		fclose(file);
}

static uint64_t read_monotonic(void)
{
	pthread_once(&offset_once, read_offset);
	return read_clock(CLOCK_MONOTONIC) - offset;
}

uint64_t clock_now(void)
{
	return read_monotonic();
}

struct record_clock clock_read(void)
{
	struct record_clock best = {0};

	/* An interrupt between the readings widens the bracket: take the narrowest. */
	for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
		struct record_clock clock;

		clock.before = read_monotonic();
		clock.realtime = read_clock(CLOCK_REALTIME);
		clock.tsc = read_tsc();
		clock.after = read_monotonic();
		if (attempt == 0 || clock.after - clock.before < best.after - best.before)
			best = clock;
	}
	return best;
}

double clock_call_ns(void)
{
	enum { BATCHES = 16, CALLS = 64 };
	uint64_t least = UINT64_MAX;

	/* The fastest batch counts: others were interrupted, or found cold caches. */
	for (int i = 0; i < BATCHES; i++) {
		uint64_t begin = clock_now(), ns;

		for (int j = 0; j < CALLS; j++)
			syscall(SYS_getppid);
		ns = clock_now() - begin;
		least = ns < least ? ns : least;
	}
	return (double)least / CALLS;
}
