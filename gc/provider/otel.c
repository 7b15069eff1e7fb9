/* SPDX-License-Identifier: BSD-2-Clause */
/* otel.c: samples for consumers of OpenTelemetry's contract for heap profiles. */
#include "otel.h"
#include "random.h"

#if GCPROF_NO_SAMPLING

bool otel_wants_samples(void)
{
	return false;
}

bool otel_wants_outcomes(void)
{
	return false;
}

void otel_sample(const struct probe_sample *sample)
{
	(void)sample;
}

void otel_outcomes(const struct gcprof_fate *fates, uint32_t count)
{
	(void)fates;
	(void)count;
}

#else

#include "probe_site.h"

static volatile uint16_t otel_memory_alloc_semaphore __attribute__((section(".probes"), used));
static volatile uint16_t otel_memory_free_semaphore __attribute__((section(".probes"), used));

/* A consumer has had a sample. An agent that follows the samples of its runtime reports none. */
static bool given;

SITE static void fire_alloc(uint64_t pointer, uint64_t size, uint64_t weight)
{
	keep_frame();
	STAP_PROBE3(otel_memory, alloc, pointer, size, weight);
}

SITE static void fire_free(uint64_t pointer)
{
	keep_frame();
	STAP_PROBE1(otel_memory, free, pointer);
}

/* A pseudo-pointer that only pairs `alloc` with `free`, since objects move. It is made of the
 * sample id, which is unique in this file, and this file's address, which differs from other
 * files'. */
static uint64_t pointer_of(uint64_t sample)
{
	return sample ^ (uint64_t)(uintptr_t)&otel_memory_alloc_semaphore << 16;
}

bool otel_wants_samples(void)
{
	return otel_memory_alloc_semaphore != 0;
}

bool otel_wants_outcomes(void)
{
	return otel_memory_free_semaphore && __atomic_load_n(&given, __ATOMIC_RELAXED);
}

void otel_sample(const struct probe_sample *sample)
{
	if (!otel_wants_samples())
		return;
	__atomic_store_n(&given, true, __ATOMIC_RELAXED);
	fire_alloc(pointer_of(sample->sample), sample->size,
		   random_weight(sample->size, sample->period));
}

void otel_outcomes(const struct gcprof_fate *fates, uint32_t count)
{
	for (uint32_t i = 0; i < count && otel_wants_outcomes(); i++)
		if (fates[i].outcome != GCPROF_PROMOTED && fates[i].outcome != GCPROF_PINNED)
			fire_free(pointer_of(fates[i].sample));
}

#endif
