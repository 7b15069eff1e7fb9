/* SPDX-License-Identifier: BSD-2-Clause */
/* model_estimate.c: tests of estimates and their intervals by simulation. */
#include <math.h>

#include "model/world/estimate.h"
#include "test.h"

/* Fixed seeds make the results reproducible. */
enum { SEED = 1, RUNS = 2000 };

static double uniform(uint64_t *state)
{
	return ((double)(test_random(state) >> 11) + 0.5) / 9007199254740992.0;
}

/* How many of `objects` are sampled with this probability. */
static int sampled(uint64_t *state, int objects, double probability)
{
	double step = log1p(-probability), at = 0;
	int count = 0;

	if (probability >= 1)
		return objects;
	while ((at += floor(log(uniform(state)) / step) + 1) <= objects)
		count++;
	return count;
}

enum { PERIOD = 65536, SIZES = 12 };

/* A type, with a number of objects of each size. */
struct mix {
	uint64_t sizes[SIZES];
	int objects[SIZES];
};

/* The intervals from many sets of samples. Sets without samples have none. */
struct outcome {
	int made, bytes, objects; /* intervals made; how many of them hold */
	double bytes_mean, objects_mean, width;
};

static void one_run(uint64_t *state, const struct mix *mix, struct outcome *outcome)
{
	struct object_tally objects = {0};
	struct estimate bytes, number;
	double true_bytes = 0, truth = 0;
	struct tally tally = {0};

	for (int i = 0; i < SIZES; i++) {
		double p = sample_probability(mix->sizes[i], PERIOD);
		int count = sampled(state, mix->objects[i], p);

		true_bytes += (double)mix->sizes[i] * mix->objects[i];
		truth += mix->objects[i];
		while (count--) {
			tally_add(&tally, (double)mix->sizes[i], p);
			object_tally_add(&objects, mix->sizes[i], PERIOD, p);
		}
	}
	bytes = tally_estimate(&tally);
	number = object_tally_estimate(&objects);
	CHECK(bytes.low <= bytes.value && bytes.value <= bytes.high);
	CHECK(number.low <= number.value && number.value <= number.high);
	outcome->bytes_mean += bytes.value / true_bytes / RUNS;
	outcome->objects_mean += number.value / truth / RUNS;
	if (!tally.value)
		return;
	outcome->made++;
	outcome->width += (number.high - number.low) / truth;
	outcome->bytes += bytes.low <= true_bytes && true_bytes <= bytes.high;
	outcome->objects += number.low <= truth && truth <= number.high;
}

static struct outcome outcome_of(uint64_t *state, const char *what, const struct mix *mix)
{
	struct outcome outcome = {0};

	for (int run = 0; run < RUNS; run++)
		one_run(state, mix, &outcome);
	CHECK(outcome.made > 0);
	outcome.width /= outcome.made;
	printf("%s: of %d bytes %.3f objects %.3f, mean %.3f %.3f, width of objects %.2f\n", what,
	       outcome.made, (double)outcome.bytes / outcome.made,
	       (double)outcome.objects / outcome.made, outcome.bytes_mean, outcome.objects_mean,
	       outcome.width);
	return outcome;
}

/*
 * 93 to 97 of 100 should hold. With few samples coverage has coarse steps and may be higher. It
 * may also be higher if the smallest objects may be missing.
 */
static void check_held(int held, int made, double most)
{
	double share = (double)held / made, chance = 3 * sqrt(0.05 * 0.95 / made);

	CHECK(share >= 0.94 - chance);
	CHECK(share <= most + chance);
}

TEST(intervals_of_equal_objects)
{
	static const double expected[] = {0.5, 1, 1.5, 2, 3, 4, 5, 7, 10, 20, 50, 200, 1000};
	uint64_t state = SEED;

	for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
		struct mix mix = {{64}, {(int)(expected[i] * PERIOD / 64)}};
		struct outcome outcome = outcome_of(&state, "equal", &mix);

		check_held(outcome.bytes, outcome.made, expected[i] < 20 ? 0.99 : 0.97);
		check_held(outcome.objects, outcome.made, expected[i] < 20 ? 0.99 : 0.97);
		/* Not wider than the uncertainty of the count itself. */
		CHECK(expected[i] < 4 || outcome.width < 5 / sqrt(expected[i]));
	}
}

/* Two sizes with equal bytes; `expected` samples on average. */
static struct mix two_sizes(double expected)
{
	int bytes = (int)(expected * PERIOD / 2);

	return (struct mix){{32, 512}, {bytes / 32, bytes / 512}};
}

/* Sizes that double, with equal bytes each, or with `fewer` times as many objects each. */
static struct mix doubling(double expected, double fewer)
{
	double bytes = 0, share = 1;
	struct mix mix;

	for (int i = 0; i < SIZES; i++, share *= fewer)
		bytes += share * (double)(mix.sizes[i] = 16u << i);
	share = expected * PERIOD / bytes;
	for (int i = 0; i < SIZES; i++, share *= fewer)
		mix.objects[i] = (int)(share + 0.5);
	return mix;
}

TEST(intervals_of_mixed_objects)
{
	static const double expected[] = {7, 10, 20, 50, 200, 1000};
	uint64_t state = SEED;

	for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
		struct mix mixes[] = {two_sizes(expected[i]), doubling(expected[i], 0.5),
				      doubling(expected[i], 0.35)};

		for (int k = 0; k < 3; k++) {
			struct outcome outcome = outcome_of(&state, "mixed", &mixes[k]);

			check_held(outcome.bytes, outcome.made, 0.98);
			check_held(outcome.objects, outcome.made, 0.985);
			CHECK(outcome.width < 13 / sqrt(expected[i]));
			CHECK(fabs(outcome.bytes_mean - 1) < 0.05);
		}
	}
}

/* Arrays of very different sizes, equally many of each. The small ones are hardly ever sampled. */
TEST(intervals_with_rarely_sampled_small_objects)
{
	uint64_t state = SEED;

	for (int objects = 100; objects <= 12800; objects *= 2) {
		struct mix mix = {{100, 5000, 200000}, {objects, objects, objects}};
		struct outcome outcome = outcome_of(&state, "arrays", &mix);

		check_held(outcome.bytes, outcome.made, 0.97);
		check_held(outcome.objects, outcome.made, 1);
		CHECK(fabs(outcome.bytes_mean - 1) < 0.05);
	}
}

/* If the smallest sampled object has the minimum size, nothing is added for smaller ones. */
TEST(missed_objects_are_weighted_by_sampled_sizes)
{
	struct object_tally narrow = {0}, wide = {0}, merged = {0};
	struct tally plain = {0};

	for (int i = 0; i < 20; i++) {
		object_tally_add(&narrow, 5000, PERIOD, sample_probability(5000, PERIOD));
		tally_add(&plain, 1, sample_probability(5000, PERIOD));
	}
	CHECK(object_tally_estimate(&narrow).high == tally_estimate(&plain).high);
	object_tally_add(&wide, 200000, PERIOD, sample_probability(200000, PERIOD));
	CHECK(object_tally_estimate(&wide).high < 2);
	object_tally_merge(&merged, &narrow);
	object_tally_merge(&merged, &wide);
	/*
	 * 5000 / 40 = 125 bytes: each such object stands for 524, and 3.84 of them may be
	 * missing.
	 */
	CHECK(object_tally_estimate(&merged).high > 3.84 * 524);
	CHECK(object_tally_estimate(&merged).high < 3.84 * 524 + 600);
	CHECK(object_tally_estimate(&merged).value < 300);
	CHECK(object_tally_estimate(&merged).low <= object_tally_estimate(&merged).value);
}

TEST(certain_samples_are_exact)
{
	struct tally tally = {0};
	struct estimate estimate;

	tally_add(&tally, 1e9, sample_probability(1000000000, 1000));
	tally_add(&tally, 1e9, sample_probability(1000000000, 1000));
	estimate = tally_estimate(&tally);
	CHECK(estimate.value == 2e9 && estimate.low == 2e9 && estimate.high == 2e9);
	/* If period or size is unknown, the sample stands for itself. */
	CHECK(sample_probability(100, 0) == 1);
	CHECK(sample_probability(0, 100) == 1);
}

TEST(low_is_never_below_the_samples)
{
	struct tally tally = {0};

	tally_add(&tally, 50000, sample_probability(50000, 65536));
	CHECK(tally_estimate(&tally).low >= 50000);
}

TEST(shares_have_sane_intervals)
{
	enum { OBJECTS = 20000 };
	uint64_t state = SEED;
	struct share none = {0}, certain = {0};
	int held = 0;

	CHECK(share_estimate(&none).value < 0);
	share_add(&certain, true, 1);
	share_add(&certain, false, 1);
	CHECK(share_estimate(&certain).value == 0.5 && share_estimate(&certain).high == 0.5);
	for (int run = 0; run < RUNS; run++) {
		struct share share = {0};
		struct estimate estimate;

		/* Small objects survive with probability 0.2, large ones with 0.6: 0.3 overall. */
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
