/* SPDX-License-Identifier: BSD-2-Clause */
/* monotonic.h: a clock for timeouts and delays. */
#ifndef GCPROF_MONOTONIC_H
#define GCPROF_MONOTONIC_H

#include <stdint.h>
#include <time.h>

/* CLOCK_MONOTONIC in this process's time namespace, ns; recordings use clock_now(). */
static inline uint64_t monotonic_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * UINT64_C(1000000000) + (uint64_t)time.tv_nsec;
}

#endif
