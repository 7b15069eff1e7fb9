/* SPDX-License-Identifier: BSD-2-Clause */
/* sample_path.c: the path of an allocation sample, many times; e2e/instructions.bats counts its
 * instructions. */
/* Plain: the instructions are those without sanitizers. */
#include "test.h"

#include "provider/data.h"

enum { TIMES = 20000, PERIOD = 1000 };

static uint64_t reported;

static void observe(enum probe_number probe, const void *arguments)
{
	const struct probe_samples *samples = arguments;

	if (probe == PROBE_sample)
		reported++;
	else if (probe == PROBE_samples)
		reported += samples->count;
}

static void take_samples(uint32_t no_batching)
{
	const struct gcprof_options options = {.period = PERIOD,
					       .ceiling = UINT64_MAX,
					       .fixed_stride = GCPROF_STRIDE_FIXED,
					       .no_batching = no_batching,
					       .always_sample = 1};
	struct gcprof_provider *provider;
	struct gcprof_thread *thread;
	uint64_t type;

	reported = 0;
	probe_observer = observe;
	CHECK_EQ(gcprof_open(&options, &provider), 0);
	CHECK_EQ(gcprof_thread_attach(provider, NULL, &thread), 0);
	type = gcprof_type(provider, "thing");
	for (int i = 0; i < TIMES; i++)
		CHECK(gcprof_alloc(thread, PERIOD, type, GCPROF_SAMPLE_FOREIGN));
	gcprof_thread_detach(thread);
	gcprof_close(provider);
	CHECK_EQ(reported, TIMES);
}

TEST(samples_one_by_one)
{
	take_samples(1);
}

TEST(samples_in_batches)
{
	take_samples(0);
}
