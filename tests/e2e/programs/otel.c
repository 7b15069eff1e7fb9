/* SPDX-License-Identifier: BSD-2-Clause */
/* otel.c: an allocator's sampler with the probes of OpenTelemetry's contract for heap profiles. */
/*
 *	otel BLOCKS INTERVAL	small blocks and, one in a hundred, blocks of up to four times the
 *				interval; one in eight of all is not freed
 *
 * Prints the number and bytes of all blocks, and the bytes of those that are alive. GCPROF_SEED
 * seeds the sampler.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define _SDT_HAS_SEMAPHORES     1
#define STAP_SDT_ARG_CONSTRAINT nr
#include <sys/sdt.h>

volatile uint16_t otel_memory_alloc_semaphore __attribute__((section(".probes"), used));
volatile uint16_t otel_memory_free_semaphore __attribute__((section(".probes"), used));

static unsigned short state[3];
static double left; /* bytes to the next sampling point */

static double next_gap(double interval)
{
	return -log(1 - erand48(state)) * interval;
}

/* How many sampling points there are in so many more bytes. */
static unsigned points(uint64_t size, double interval)
{
	unsigned n = 0;

	for (left -= (double)size; left < 0; left += next_gap(interval))
		n++;
	return n;
}

__attribute__((noinline)) static void fire_alloc(uint64_t address, uint64_t size, uint64_t weight)
{
	STAP_PROBE3(otel_memory, alloc, address, size, weight);
}

__attribute__((noinline)) static void fire_free(uint64_t address)
{
	STAP_PROBE1(otel_memory, free, address);
}

__attribute__((noinline)) static void take(uint64_t address, uint64_t size, uint64_t interval,
					   int keep)
{
	unsigned n = points(size, (double)interval);

	if (!n)
		return;
	if (otel_memory_alloc_semaphore)
		fire_alloc(address, size, n * interval);
	if (otel_memory_free_semaphore && !keep)
		fire_free(address);
}

int main(int argc, char **argv)
{
	uint64_t blocks = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000;
	uint64_t interval = argc > 2 ? strtoull(argv[2], NULL, 10) : 65536;
	uint64_t bytes = 0, alive = 0, address = 4096;
	const char *seed = getenv("GCPROF_SEED");

	state[2] = (unsigned short)(seed ? atoi(seed) : 1);
	left = next_gap((double)interval);
	for (uint64_t i = 0; i < blocks; i++) {
		uint64_t size = i % 100 ? 16 + i * 7 % 1000 : 1 + i / 100 * 7919 % (4 * interval);
		int keep = i % 8 == 0;

		take(address, size, interval, keep);
		address += size;
		bytes += size;
		alive += keep ? size : 0;
	}
	printf("{\"blocks\": %llu, \"bytes\": %llu, \"alive\": %llu}\n", (unsigned long long)blocks,
	       (unsigned long long)bytes, (unsigned long long)alive);
	return 0;
}
