/* SPDX-License-Identifier: BSD-2-Clause */
/* emitter.c: fires probes by hand, each object a sample, so that all figures are exact. */
/*
 *	emitter freed	objects are freed by address, but for one in four
 */
#include <stdint.h>
#include <string.h>

#define _SDT_HAS_SEMAPHORES     1
#define STAP_SDT_ARG_CONSTRAINT nr
#include <sys/sdt.h>

#include "provider/probe_args.h"

volatile uint16_t gcprof_sample_semaphore __attribute__((section(".probes"), used));
volatile uint16_t gcprof_type_semaphore __attribute__((section(".probes"), used));
volatile uint16_t gcprof_freed_semaphore __attribute__((section(".probes"), used));

enum { OBJECTS = 1000, SIZE = 64 };

__attribute__((noinline)) static void fire_type(uint64_t type, const char *name)
{
	STAP_PROBE2(gcprof, type, type, name);
}

__attribute__((noinline)) static void fire_sample(uint64_t type, uint64_t stack, uint64_t address)
{
	static uint64_t last;
	uint64_t id = ++last, size = SIZE, period = 1, anchor = 0;
	uint32_t kind = GCPROF_SAMPLE_FOREIGN;

	STAP_PROBE8(gcprof, sample, id, type, size, period, kind, anchor, stack, address);
}

__attribute__((noinline)) static void fire_freed(uint64_t address, uint64_t age)
{
	STAP_PROBE2(gcprof, freed, address, age);
}

static void freed(void)
{
	fire_type(1, "placed");
	for (uint64_t i = 0; i < OBJECTS; i++) {
		uint64_t address = 4096 + i * SIZE;

		fire_sample(1, 0, address);
		if (i % 4)
			fire_freed(address, 70000);
		fire_freed(1, 1); /* no sample was there */
	}
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "freed"))
		freed();
	else
		return 2;
	return 0;
}
