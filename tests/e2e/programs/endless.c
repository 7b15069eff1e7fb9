// SPDX-License-Identifier: BSD-2-Clause
/* endless.c: concurrent cycles that never end, in any number of heaps, with ends of others, and
 * with names and reasons without an end or without a text. */
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "../../../gc/provider/probe_args.h"

#define _SDT_HAS_SEMAPHORES     1
#define STAP_SDT_ARG_CONSTRAINT nr
#include <sys/sdt.h>

#define SEMAPHORE(name) \
	volatile uint16_t gcprof_##name##_semaphore __attribute__((section(".probes"), used))

SEMAPHORE(cycle_begin);
SEMAPHORE(cycle_end);
SEMAPHORE(gc_name);

static const uint64_t wild[] = {0,         1, 4095, UINT64_C(0xdead00000000beef), UINT64_MAX - 7,
				UINT64_MAX};

enum { N_WILD = sizeof(wild) / sizeof(wild[0]) };

static __attribute__((noinline)) void fire_name(uint64_t number, uint64_t name)
{
	STAP_PROBE2(gcprof, gc_name, number, name);
}

static __attribute__((noinline)) void fire_begin(uint64_t heap, uint64_t cycle, uint64_t name,
						 uint64_t reason)
{
	STAP_PROBE5(gcprof, cycle_begin, heap, cycle, name, reason, cycle);
}

static __attribute__((noinline)) void fire_end(uint64_t heap, uint64_t cycle, uint64_t bytes)
{
	STAP_PROBE4(gcprof, cycle_end, heap, cycle, bytes, bytes);
}

int main(void)
{
	const size_t size = 1 << 20;
	char *endless =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t names = (uint64_t)(uintptr_t)endless;

	if (endless == MAP_FAILED)
		return 1;
	memset(endless, 'n', size);
	for (uint64_t i = 0; i < 50000; i++) {
		uint64_t number = i % (GCPROF_GC_NAMES_END + 2);

		fire_name(number, i % 3 ? names + i % size : wild[i % N_WILD]);
		fire_begin(1 + i % 1000, i, number, GCPROF_GC_NAMES_END - 1 - number % 100);
		fire_end(1 + i % 1000, i + 1, UINT64_MAX);
	}
	for (int i = 0; i < N_WILD; i++) {
		fire_name(wild[i], names);
		fire_begin(wild[i], wild[i], wild[i], wild[i]);
		fire_begin(wild[i], wild[i], 0, 0);
		fire_end(wild[i], wild[i], wild[i]);
	}
	return 0;
}
