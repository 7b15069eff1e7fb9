// SPDX-License-Identifier: BSD-2-Clause
/* functions.c: samples with shadow stacks as deep as they are walked, of functions without end.
 * functions [ROUNDS] */
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "../../../gc/provider/frame.h"
#include "../../../gc/provider/probe_args.h"

#define _SDT_HAS_SEMAPHORES     1
#define STAP_SDT_ARG_CONSTRAINT nr
#include <sys/sdt.h>

volatile uint16_t gcprof_sample_semaphore __attribute__((section(".probes"), used));

enum { DEPTH = 512, SAMPLES = 8000 };

static __attribute__((noinline)) void fire_sample(uint64_t id, uint64_t anchor)
{
	uint64_t type = 1, size = 64, period = 512, stack = 0;
	uint32_t kind = GCPROF_SAMPLE_NURSERY;

	STAP_PROBE7(gcprof, sample, id, type, size, period, kind, anchor, stack);
}

int main(int argc, char **argv)
{
	static struct gc_frame frames[DEPTH];
	struct gc_anchor anchor = {(uint64_t)(uintptr_t)frames};
	uint32_t samples = SAMPLES * (argc > 1 ? (uint32_t)atoi(argv[1]) : 1);

	for (uint32_t i = 0; i < samples; i++) {
		usleep(200);
		for (uint32_t k = 0; k < DEPTH; k++)
			frames[k] = (struct gc_frame){.prev = (uint64_t)(uintptr_t)&frames[k + 1],
						      .code = i * DEPTH + k + 1,
						      .pc = 1};
		frames[DEPTH - 1].prev = 0;
		fire_sample(i + 1, (uint64_t)(uintptr_t)&anchor);
	}
	return 0;
}
