/* SPDX-License-Identifier: BSD-2-Clause */
/* burn.c: the functions of `known` that use CPU time, in the proportion 1:2:3. */
#include "known.h"

/* Between two looks at the clock, which is a system call: some 100 microseconds. */
enum { SPIN_STEPS = 50000 };

/* Inlined into the burn functions: the time must be theirs. Returns what it really used. */
__attribute__((always_inline)) static inline uint64_t spin(uint64_t ns)
{
	uint64_t start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	uint64_t used = 0;
	uint64_t x = start | 1;
	while (used < ns) {
		for (int i = 0; i < SPIN_STEPS; i++) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
		}
		used = clock_ns(CLOCK_THREAD_CPUTIME_ID) - start;
	}
	__asm__ volatile("" : : "r"(x)); /* keeps the arithmetic from being optimised away */
	return used;
}

NAMED_FUNCTION static uint64_t burn_a(uint64_t ns)
{
	return spin(ns);
}

NAMED_FUNCTION static uint64_t burn_b(uint64_t ns)
{
	return spin(ns);
}

NAMED_FUNCTION static uint64_t burn_c(uint64_t ns)
{
	return spin(ns);
}

void burn_all(struct worker *worker)
{
	uint64_t part = worker->known->burn_ns / worker->known->threads / 6;
	if (!part)
		return;
	worker->cpu_ns[BURN_A] += burn_a(1 * part);
	worker->cpu_ns[BURN_B] += burn_b(2 * part);
	worker->cpu_ns[BURN_C] += burn_c(3 * part);
}
