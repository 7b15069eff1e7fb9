/* SPDX-License-Identifier: BSD-2-Clause */
/* agent.c: a preloaded library that reports each malloc() of BLOCK bytes, by probes of its own. */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

#define _SDT_HAS_SEMAPHORES     1
#define STAP_SDT_ARG_CONSTRAINT nr
#include <sys/sdt.h>

#include "provider/probe_args.h"

enum { BLOCK = 96 };

__attribute__((visibility("hidden"))) volatile uint16_t gcprof_sample_semaphore
	__attribute__((section(".probes"), used));
__attribute__((visibility("hidden"))) volatile uint16_t gcprof_type_semaphore
	__attribute__((section(".probes"), used));
__attribute__((visibility("hidden"))) volatile uint16_t gcprof_provider_semaphore
	__attribute__((section(".probes"), used));
__attribute__((visibility("hidden"))) volatile uint16_t gcprof_gc_begin_semaphore
	__attribute__((section(".probes"), used));
__attribute__((visibility("hidden"))) volatile uint16_t gcprof_gc_end_semaphore
	__attribute__((section(".probes"), used));

/* Its numbers are those that any other provider begins with. */
__attribute__((noinline)) static void report(size_t size)
{
	static uint64_t last;
	static const char name[] = "block", agent[] = "agent";
	const char *version = NULL;
	uint64_t id = ++last, type = 1, period = 1, anchor = 0, stack = 0;
	uint32_t kind = GCPROF_SAMPLE_FOREIGN;

	STAP_PROBE2(gcprof, provider, agent, version);
	STAP_PROBE2(gcprof, type, type, name);
	STAP_PROBE7(gcprof, sample, id, type, size, period, kind, anchor, stack);
}

__attribute__((noinline)) static void collect(uint64_t cycle)
{
	uint64_t heap = 1, stats = 0;
	uint32_t kind = GCPROF_GC_FULL, reason = GCPROF_REASON_EXPLICIT;

	STAP_PROBE4(gcprof, gc_begin, heap, cycle, kind, reason);
	STAP_PROBE4(gcprof, gc_end, heap, cycle, kind, stats);
}

int agent_is_attached(void)
{
	return gcprof_sample_semaphore != 0;
}

void *malloc(size_t size)
{
	static void *(*next)(size_t);
	static uint64_t blocks;

	if (!next)
		next = (void *(*)(size_t))(uintptr_t)dlsym(RTLD_NEXT, "malloc");
	if (size == BLOCK) {
		report(size);
		if (++blocks % 100 == 0)
			collect(blocks / 100);
	}
	return next(size);
}
