/* SPDX-License-Identifier: BSD-2-Clause */
/* model_estimate.c: tests of estimates and their intervals against simulations. */
#include <math.h>

#include "model/estimate.h"
#include "test.h"

static double uniform(uint64_t *state)
{
	return ((double)(test_random(state) >> 11) + 0.5) / 9007199254740992.0;
}

/* Samples `objects` objects of `size` bytes as the collector does: points at exponential gaps. */
static void sample_objects(uint64_t *state, uint64_t period, uint64_t size, int objects,
			   struct tally tallies[2])
{
	double budget = -log(uniform(state)) * (double)period;
	double p = sample_probability(size, period);

	for (int i = 0; i < objects; i++) {
		if (budget > (double)size) {
			budget -= (double)size;
			continue;
		}
		tally_add(&tallies[0], (double)size, p);
		tally_add(&tallies[1], 1, p);
		budget = -log(uniform(state)) * (double)period;
	}
}

struct mix {
	uint64_t sizes[3];
	int objects[3];
};

/* How many of `runs` simulations hold the truth, of bytes and of objects. */
static void coverage(uint64_t *state, const struct mix *mix, int runs, int held[2], double mean[2])
{
	const uint64_t period = 65536;
	double truth[2] = {0, 0};

	for (int i = 0; i < 3; i++) {
		truth[0] += (double)mix->sizes[i] * mix->objects[i];
		truth[1] += mix->objects[i];
	}
	for (int run = 0; run < runs; run++) {
		struct tally tallies[2] = {{0, 0, 0}, {0, 0, 0}};

		for (int i = 0; i < 3; i++)
			sample_objects(state, period, mix->sizes[i], mix->objects[i], tallies);
		for (int k = 0; k < 2; k++) {
			struct estimate estimate = tally_estimate(&tallies[k]);

			if (!tallies[k].value)
				estimate = estimate_of_nothing(k ? period / mix->sizes[0] : period);
			CHECK(estimate.low <= estimate.value && estimate.value <= estimate.high);
			held[k] += truth[k] >= estimate.low && truth[k] <= estimate.high;
			mean[k] += estimate.value / truth[k] / runs;
		}
	}
}

TEST(intervals_hold_the_truth)
{
	static const struct mix mixes[] = {
		{{32, 48, 64}, {40000, 20000, 10000}},     /* small ones, 44 samples */
		{{24, 100, 4000}, {100000, 2000, 500}},    /* a few larger ones, many samples */
		{{100, 100, 100}, {3000, 1000, 1000}},     /* 8 samples */
		{{100, 70000, 1000000}, {10000, 100, 20}}, /* larger than the period */
	};
	enum { RUNS = 2000 };
	uint64_t state = test_seed();

	for (size_t i = 0; i < sizeof(mixes) / sizeof(*mixes); i++) {
		int held[2] = {0, 0};
		double mean[2] = {0, 0};

		coverage(&state, &mixes[i], RUNS, held, mean);
		printf("mix %zu: bytes %d objects %d of %d, mean %.4f %.4f\n", i, held[0], held[1],
		       RUNS, mean[0], mean[1]);
		/* 95 % within four deviations of 2000 runs, and not absurdly wide; a count of 8
		 * samples is coarse. Objects of mixed sizes are skewed: fewer. */
		CHECK(held[0] >= RUNS * 925 / 1000 && held[0] <= RUNS * 985 / 1000);
		CHECK(held[1] >= RUNS * 900 / 1000);
		CHECK(fabs(mean[0] - 1) < 0.05);
		CHECK(fabs(mean[1] - 1) < 0.05);
	}
}

TEST(objects_that_cannot_be_missed_are_exact)
{
	struct tally tally = {0};
	struct estimate estimate;

	tally_add(&tally, 1e9, sample_probability(1000000000, 1000));
	tally_add(&tally, 1e9, sample_probability(1000000000, 1000));
	estimate = tally_estimate(&tally);
	CHECK(estimate.value == 2e9 && estimate.low == 2e9 && estimate.high == 2e9);
	/* A period or a size that is not known: the sample stands for itself. */
	CHECK(sample_probability(100, 0) == 1);
	CHECK(sample_probability(0, 100) == 1);
}

TEST(low_is_never_below_what_was_seen)
{
	struct tally tally = {0};

	tally_add(&tally, 50000, sample_probability(50000, 65536));
	CHECK(tally_estimate(&tally).low >= 50000);
}

TEST(shares_have_sane_intervals)
{
	enum { RUNS = 2000, OBJECTS = 20000 };
	uint64_t state = test_seed();
	struct share none = {0}, certain = {0};
	int held = 0;

	CHECK(share_estimate(&none).value < 0);
	share_add(&certain, true, 1);
	share_add(&certain, false, 1);
	CHECK(share_estimate(&certain).value == 0.5 && share_estimate(&certain).high == 0.5);
	for (int run = 0; run < RUNS; run++) {
		struct share share = {0};
		struct estimate estimate;

		/* Small objects survive with 0.2, large ones with 0.6: 0.3 of all of them. */
		for (int i = 0; i < OBJECTS; i++) {
			bool large = i % 4 == 0, survives = uniform(&state) < (large ? 0.6 : 0.2);
			double p = sample_probability(large ? 800 : 200, 65536);

			if (uniform(&state) < p)
				share_add(&share, survives, p);
		}
		estimate = share_estimate(&share);
		CHECK(estimate.low >= 0 && estimate.high <= 1);
		held += estimate.low <= 0.3 && estimate.high >= 0.3;
	}
	printf("held %d of %d\n", held, RUNS);
	CHECK(held >= RUNS * 92 / 100);
}

TEST(merging_is_adding)
{
	struct tally a = {0}, b = {0}, both = {0};

	for (int i = 1; i <= 10; i++) {
		double p = sample_probability((uint64_t)i * 100, 4096);

		tally_add(i % 2 ? &a : &b, i * 100, p);
		tally_add(&both, i * 100, p);
	}
	tally_merge(&a, &b);
	CHECK(fabs(a.value - both.value) < 1e-6);
	CHECK(fabs(a.variance - both.variance) < 1e-3);
}
