/* SPDX-License-Identifier: BSD-2-Clause */
/* clock.c: the time, and proof of how the machine's clocks relate. */
#include "clock.h"

#include <time.h>

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

uint64_t clock_now(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

struct record_clock clock_read(void)
{
	struct record_clock best = {0};

	/* An interrupt between the readings widens the bracket: take the one without. */
	for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
		struct record_clock clock;

		clock.before = read_clock(CLOCK_MONOTONIC);
		clock.realtime = read_clock(CLOCK_REALTIME);
		clock.tsc = read_tsc();
		clock.after = read_clock(CLOCK_MONOTONIC);
		if (attempt == 0 || clock.after - clock.before < best.after - best.before)
			best = clock;
	}
	return best;
}
