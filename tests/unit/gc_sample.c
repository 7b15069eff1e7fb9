/* SPDX-License-Identifier: BSD-2-Clause */
/* gc_sample.c: tests of the sampler: exact hits, estimates, periods, ceiling, announcements. */
#include "control_rows.h"
#include "gc_test.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <time.h>

enum { MAX_SEEN = 200000 };

/* What the observer saw, in order. */
static struct probe_sample samples[MAX_SEEN];
static struct probe_period periods[1000];
static uint32_t n_samples, n_periods, n_types, n_codes, n_announced, n_attached, n_detached;

static void observe(enum probe_number probe, const void *arguments)
{
	switch (probe) {
	case PROBE_sample:
		if (n_samples < MAX_SEEN)
			samples[n_samples++] = *(const struct probe_sample *)arguments;
		break;
	case PROBE_period:
		if (n_periods < 1000)
			periods[n_periods++] = *(const struct probe_period *)arguments;
		break;
	case PROBE_type:
		n_types++;
		break;
	case PROBE_code:
		n_codes++;
		break;
	case PROBE_thread: {
		uint32_t event = ((const struct probe_thread *)arguments)->event;

		n_announced += event == GCPROF_THREAD_ANNOUNCE;
		n_attached += event == GCPROF_THREAD_ATTACH;
		n_detached += event == GCPROF_THREAD_DETACH;
		break;
	}
	default:
		break;
	}
}

static struct gc_options sampling_options(uint64_t period)
{
	struct gc_options options = small_options();

	options.sampling.always_sample = 1;
	options.sampling.period = period;
	options.sampling.ceiling = UINT64_MAX;
	options.sampling.seed = 1;
	return options;
}

/* Allocates one object of `size` bytes, header included: a node or a byte array. */
static uint32_t allocate(struct fixture *f, size_t size)
{
	if (size == sizeof(struct node)) {
		GC_NEW(f->thread, f->node, struct node);
		return f->node;
	}
	gc_alloc_array(f->thread, f->bytes, size - sizeof(struct bytes));
	return f->bytes;
}

static uint64_t type_id(const struct fixture *f, gc_type type)
{
	return type_probe_id(f->heap, type);
}

TEST(gc_sample_fixed_stride_hits_exactly_the_objects_that_contain_a_point)
{
	const uint64_t stride = 1000;
	struct gc_options options = sampling_options(stride);
	uint64_t random = test_seed(), at = 0, next = stride, expected = 0;
	struct fixture f;

	options.sampling.fixed_stride = 1;
	probe_observer = observe;
	fixture_open(&f, &options);
	/* Small, medium and large ones, through many collections. */
	for (int i = 0; i < 60000; i++) {
		uint64_t words = test_random(&random) % (i % 500 ? 40 : 5000);
		size_t size = 16 + 8 * words;
		uint32_t type = allocate(&f, size);
		bool hit = next <= at + size;

		/* Points are byte numbers from 1; the object has the bytes at + 1 to at + size. */
		if (hit) {
			CHECK_EQ(n_samples, expected + 1);
			CHECK_EQ(samples[expected].sample, expected + 1);
			CHECK_EQ(samples[expected].size, size);
			CHECK_EQ(samples[expected].type, type_id(&f, (gc_type)type));
			CHECK_EQ(samples[expected].period, stride);
			CHECK_EQ(samples[expected].kind, size >= options.large_size
								 ? GCPROF_SAMPLE_LARGE
								 : GCPROF_SAMPLE_NURSERY);
			CHECK(samples[expected].anchor == &f.thread->head.anchor);
			expected++;
		}
		CHECK_EQ(n_samples, expected);
		while (next <= at + size)
			next += stride;
		at += size;
	}
	CHECK(expected > 5000);
	fixture_close(&f);
}

TEST(gc_sample_every_object_at_period_one)
{
	struct gc_options options = sampling_options(1);
	struct fixture f;

	options.sampling.fixed_stride = 1;
	probe_observer = observe;
	fixture_open(&f, &options);
	for (uint32_t i = 0; i < 5000; i++) {
		allocate(&f, 16 + i % 300 * 8);
		CHECK_EQ(n_samples, i + 1);
	}
	fixture_close(&f);
}

TEST(gc_sample_one_record_for_an_object_larger_than_the_period)
{
	struct gc_options options = sampling_options(512);
	struct fixture f;

	probe_observer = observe;
	fixture_open(&f, &options);
	for (uint32_t i = 0; i < 100; i++) {
		allocate(&f, 8000);
		allocate(&f, 100000);
	}
	/* 8000 bytes are missed with probability exp(-15). */
	CHECK(n_samples >= 199 && n_samples <= 200);
	fixture_close(&f);
}

/* The estimate of all bytes and its standard deviation. */
static double estimate(double *sigma)
{
	double sum = 0, variance = 0;

	for (uint32_t i = 0; i < n_samples; i++) {
		double size = (double)samples[i].size;
		double p = 1 - exp(-size / (double)samples[i].period);

		sum += size / p;
		variance += (1 - p) * (size / p) * (size / p);
	}
	*sigma = sqrt(variance);
	return sum;
}

/* Within 6 deviations: chance alone refuses one in 10^8, and a seed is drawn each time. */
static void check_estimate(double truth)
{
	double sigma, sum = estimate(&sigma);

	printf("estimate %.0f sigma %.0f truth %.0f samples %u\n", sum, sigma, truth, n_samples);
	CHECK(fabs(sum - truth) < 6 * sigma);
}

TEST(gc_sample_exponential_gaps_do_not_alias_with_a_loop)
{
	struct gc_type_desc a = {.name = "a", .size = 32}, b = {.name = "b", .size = 32};
	struct gc_options options = sampling_options(4096);
	uint32_t of_a = 0;
	gc_type type_a, type_b;
	struct fixture f;

	options.sampling.seed = test_seed() | 1;
	probe_observer = observe;
	fixture_open(&f, &options);
	CHECK_EQ(gc_type_register(f.heap, &a, &type_a), 0);
	CHECK_EQ(gc_type_register(f.heap, &b, &type_b), 0);
	for (int i = 0; i < 1000000; i++) {
		gc_alloc(f.thread, type_a, 32);
		gc_alloc(f.thread, type_b, 32);
	}
	for (uint32_t i = 0; i < n_samples; i++)
		of_a += samples[i].type == type_id(&f, type_a);
	/* 15564 expected of both together, half of them of each: 6 sigma are 750, and 375. */
	CHECK(n_samples > 15564 - 750 && n_samples < 15564 + 750);
	CHECK(of_a > n_samples / 2 - 375 && of_a < n_samples / 2 + 375);
	check_estimate(64e6);
	fixture_close(&f);
}

TEST(gc_sample_estimates_hold_for_mixed_sizes)
{
	struct gc_options options = sampling_options(20000);
	uint64_t seed = test_seed(), random = seed;
	double truth = 0;
	struct fixture f;

	options.sampling.seed = seed | 1;
	probe_observer = observe;
	fixture_open(&f, &options);
	for (int i = 0; i < 300000; i++) {
		size_t size = 16 + 8 * (test_random(&random) % (i % 200 ? 30 : 6000));

		truth += (double)size;
		allocate(&f, size);
	}
	check_estimate(truth);
	fixture_close(&f);
}

TEST(gc_sample_estimates_hold_while_the_period_changes)
{
	struct gc_options options = sampling_options(1000);
	uint64_t seed = test_seed(), random = seed;
	double truth = 0;
	struct fixture f;

	options.sampling.seed = seed | 1;
	probe_observer = observe;
	fixture_open(&f, &options);
	for (int i = 0; i < 400000; i++) {
		size_t size = 16 + 8 * (test_random(&random) % 60);

		truth += (double)size;
		allocate(&f, size);
		if (i % 100 == 0) {
			row_ask(0, i % 200 ? 1000 : 30000);
		}
	}
	CHECK(n_periods > 100);
	check_estimate(truth);
	for (uint32_t i = 1; i < n_periods; i++) {
		CHECK_EQ(periods[i].old_period, periods[i - 1].new_period);
		CHECK_EQ(periods[i].reason, GCPROF_PERIOD_REQUEST);
	}
	fixture_close(&f);
}

/* Returns a digest of how many collections and steps there were behind each allocation. */
static uint64_t list_and_garbage(struct fixture *f, struct gc_stats *stats)
{
	uint64_t random = 1, digest = 0;

	GC_FRAME(f->thread, frame, 0, struct node * list;);
	for (int i = 0; i < 100000; i++) {
		struct node *node = GC_NEW(f->thread, f->node, struct node);

		if (i % 8 == 0) {
			gc_write(f->thread, node, &node->left, frame.root.list);
			frame.root.list = node;
		}
		allocate(f, 16 + 8 * (test_random(&random) % 100));
		if (i % 3000 == 0)
			allocate(f, 60000);
		digest = (digest ^ heap_cycle(f->heap)) * UINT64_C(0x100000001b3);
	}
	GC_FRAME_END(f->thread, frame);
	gc_stats(f->heap, stats);
	return digest;
}

TEST(gc_sample_changes_nothing_for_the_collector)
{
	struct gc_options options = sampling_options(300);
	struct gc_stats without, with;
	uint64_t schedule;
	struct fixture f;

	options.sampling.always_sample = 0;
	options.min_heap = 64 << 10;
	options.growth = 1.1;
	fixture_open(&f, &options);
	schedule = list_and_garbage(&f, &without);
	fixture_close(&f);
	CHECK_EQ(without.samples, 0);
	options.sampling.always_sample = 1;
	fixture_open(&f, &options);
	CHECK_EQ(list_and_garbage(&f, &with), schedule);
	fixture_close(&f);
	CHECK(with.samples > 10000);
	CHECK(with.minor_collections > 500);
	CHECK_EQ(with.minor_collections, without.minor_collections);
	CHECK(with.steps > 500);
	CHECK_EQ(with.steps, without.steps);
	CHECK_EQ(with.full_collections, without.full_collections);
	CHECK_EQ(with.promoted_bytes, without.promoted_bytes);
	CHECK_EQ(with.allocated_bytes, without.allocated_bytes);
	CHECK_EQ(with.arena_bytes, without.arena_bytes);
}

TEST(gc_sample_same_seed_same_samples)
{
	struct gc_options options = sampling_options(2000);
	struct probe_sample first[1000];
	uint32_t n_first;
	struct fixture f;

	probe_observer = observe;
	for (int run = 0; run < 2; run++) {
		n_samples = 0;
		fixture_open(&f, &options);
		for (int i = 0; i < 30000; i++)
			allocate(&f, 16 + i % 37 * 8);
		fixture_close(&f);
		CHECK(n_samples > 500);
		if (!run) {
			n_first = n_samples < 1000 ? n_samples : 1000;
			memcpy(first, samples, n_first * sizeof(*first));
		}
	}
	for (uint32_t i = 0; i < n_first; i++)
		CHECK_EQ(samples[i].size, first[i].size);
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

TEST(gc_sample_ceiling_raises_the_period_and_lets_it_fall)
{
	struct gc_options options = sampling_options(100);
	double start = seconds(), truth = 0, took;
	struct fixture f;

	options.sampling.ceiling = 3000;
	probe_observer = observe;
	fixture_open(&f, &options);
	while (seconds() - start < 1.0 || n_periods < 2 || n_samples <= 500)
		for (int i = 0; i < 2000; i++, truth += 64)
			allocate(&f, 64);
	took = seconds() - start;
	printf("%u samples in %.1f s, %u periods, last %llu\n", n_samples, took, n_periods,
	       (unsigned long long)f.heap->provider->period);
	/* Without a ceiling there would be millions. */
	CHECK(n_samples > 500 && n_samples < 9000 * took);
	CHECK_EQ(periods[0].reason, GCPROF_PERIOD_START);
	CHECK_EQ(periods[1].reason, GCPROF_PERIOD_CEILING);
	CHECK(f.heap->provider->period > 1000);
	check_estimate(truth);
	/* Slowly now: 80 buffers in 0.4 s. */
	for (int i = 0; i < 800; i++) {
		struct timespec nap = {.tv_nsec = 500000};

		nanosleep(&nap, NULL);
		allocate(&f, 4000);
	}
	CHECK_EQ(periods[n_periods - 1].reason, GCPROF_PERIOD_RECOVERY);
	CHECK(f.heap->provider->period < 10000);
	fixture_close(&f);
}

TEST(gc_sample_starts_and_stops_with_the_semaphore)
{
	struct gc_options options = small_options();
	uint32_t before;
	struct gc_stats stats;
	struct fixture f;

	options.sampling.period = 1000;
	options.sampling.ceiling = UINT64_MAX;
	fixture_open(&f, &options);
	gc_code("known before", "x.c", 1);
	for (int i = 0; i < 10000; i++)
		allocate(&f, 64);
	gc_stats(f.heap, &stats);
	CHECK_EQ(stats.samples, 0);
	/* A tracer arrives in the middle of a buffer. */
	probe_observer = observe;
	for (int i = 0; i < 10000; i++)
		allocate(&f, 64);
	CHECK(n_samples > 500);
	CHECK_EQ(n_attached, 0);
	CHECK_EQ(periods[0].old_period, 0);
	CHECK_EQ(periods[0].new_period, 1000);
	CHECK_EQ(periods[0].reason, GCPROF_PERIOD_START);
	/* And leaves. */
	probe_observer = NULL;
	for (int i = 0; i < 10000; i++)
		allocate(&f, 64);
	gc_stats(f.heap, &stats);
	before = (uint32_t)stats.samples;
	CHECK(limit_wanted(f.thread) == f.thread->zeroed);
	for (int i = 0; i < 10000; i++)
		allocate(&f, 64);
	gc_stats(f.heap, &stats);
	CHECK_EQ(stats.samples, before);
	/* Names that were made before are in the table, and threads announce themselves when a
	 * recorder asks for it. */
	probe_observer = observe;
	CHECK_EQ(n_types + n_codes + n_announced, 0);
	fixture_close(&f);
	CHECK_EQ(n_detached, 1);
}

TEST(gc_sample_names_are_announced_once_and_threads_to_each_recorder)
{
	struct gc_options options = sampling_options(1000);
	uint32_t announced;
	struct fixture f;

	probe_observer = observe;
	fixture_open(&f, &options);
	CHECK_EQ(n_types, 3);
	gc_code("known", "x.c", 1);
	announced = n_announced;
	for (uint32_t arrival = 0; arrival < 3; arrival++) {
		for (int i = 0; i < 10000; i++)
			allocate(&f, 64);
		CHECK_EQ(n_types, 3);
		CHECK_EQ(n_codes, 1);
		CHECK_EQ(n_announced, announced + arrival);
		row_ask(0, 0);
	}
	fixture_close(&f);
}

TEST(gc_sample_control_block_sets_the_period_at_the_start)
{
	struct gc_options options = sampling_options(1000);
	struct fixture f;

	CHECK(gcprof_control.magic == GCPROF_CONTROL_MAGIC);
	CHECK_EQ(gcprof_control.version, GCPROF_CONTROL_VERSION);
	row_ask(0, 4000);
	probe_observer = observe;
	fixture_open(&f, &options);
	for (int i = 0; i < 10000; i++)
		allocate(&f, 64);
	CHECK_EQ(n_periods, 1);
	CHECK_EQ(periods[0].new_period, 4000);
	CHECK_EQ(samples[0].period, 4000);
	fixture_close(&f);
}

TEST(gc_sample_exponential_variates_have_mean_and_variance_one)
{
	uint64_t state[4];
	double sum = 0, squares = 0;
	int n = 2000000;

	random_seed(state, test_seed());
	for (int i = 0; i < n; i++) {
		double x = random_exponential(state);

		CHECK(x >= 0 && x < 37);
		sum += x;
		squares += x * x;
	}
	/* Standard errors: 0.0007 of the mean, 0.002 of the variance. */
	CHECK(fabs(sum / n - 1) < 0.004);
	CHECK(fabs(squares / n - 2) < 0.02);
}

static void *pause_and_resume(void *argument)
{
	struct fixture *f = argument;

	for (int i = 0; i < 200; i++) {
		gc_sampling_pause(f->heap);
		gc_sampling_set_period(f->heap, i % 2 ? 1000 : 3000);
		gc_sampling_resume(f->heap);
		sched_yield();
	}
	return NULL;
}

TEST(gc_sample_pause_and_period_take_effect_at_the_next_allocation)
{
	struct gc_options options = sampling_options(1000);
	struct gc_stats before, after;
	pthread_t other;
	struct fixture f;

	options.sampling.fixed_stride = 1;
	probe_observer = observe;
	fixture_open(&f, &options);
	for (int i = 0; i < 100; i++)
		allocate(&f, 104);
	CHECK_EQ(n_samples, 10);
	gc_stats(f.heap, &before);
	/* In the middle of a buffer. The one that notices is still charged to the old settings. */
	gc_sampling_pause(f.heap);
	for (int i = 0; i < 100; i++)
		allocate(&f, 104);
	CHECK_EQ(n_samples, 10);
	gc_sampling_resume(f.heap);
	gc_sampling_set_period(f.heap, 400);
	for (int i = 0; i < 100; i++)
		allocate(&f, 104);
	CHECK_EQ(n_samples, 36);
	CHECK_EQ(samples[35].period, 400);
	gc_sampling_set_period(f.heap, 200);
	allocate(&f, 104); /* still one of 400 */
	for (int i = 0; i < 100; i++)
		allocate(&f, 104);
	CHECK_EQ(n_samples, 88);
	gc_stats(f.heap, &after);
	CHECK_EQ(before.minor_collections, after.minor_collections);
	CHECK_EQ(periods[n_periods - 1].reason, GCPROF_PERIOD_REQUEST);
	CHECK_EQ(periods[n_periods - 1].old_period, 400);
	CHECK_EQ(periods[n_periods - 1].new_period, 200);
	CHECK_EQ(pthread_create(&other, NULL, pause_and_resume, &f), 0);
	for (int i = 0; i < 50000; i++)
		allocate(&f, 64);
	pthread_join(other, NULL);
	fixture_close(&f);
}

/* Pausing must not look ahead: an object that is in the slow path because of a hit keeps it. */
TEST(gc_sample_estimates_hold_while_sampling_is_paused_now_and_then)
{
	struct gc_options options = sampling_options(2000);
	uint64_t seed = test_seed(), random = seed;
	double truth = 0;
	bool on = true;
	struct fixture f;

	options.sampling.seed = seed | 1;
	probe_observer = observe;
	fixture_open(&f, &options);
	for (int i = 0; i < 400000; i++) {
		size_t size = 16 + 8 * (test_random(&random) % 60);
		bool was_on = f.thread->sampler->head.on;

		allocate(&f, size);
		/* What was on when the object was allocated counts, and where it came on, too. */
		if (was_on || f.thread->sampler->head.on)
			truth += (double)size;
		if (i % 50 == 0) {
			if (on)
				gc_sampling_pause(f.heap);
			else
				gc_sampling_resume(f.heap);
			on = !on;
		}
	}
	CHECK(n_samples > 10000);
	check_estimate(truth);
	fixture_close(&f);
}

TEST(gc_sample_every_allocation)
{
	struct gc_options options = sampling_options(0);
	struct fixture f;

	options.sampling.fixed_stride = 2;
	options.sampling.ceiling = 0;
	probe_observer = observe;
	fixture_open(&f, &options);
	for (uint32_t i = 0; i < 20000; i++) {
		size_t size = i % 400 ? 16 + i % 300 * 8 : 1000000;

		allocate(&f, size);
		CHECK_EQ(n_samples, i + 1);
		CHECK_EQ(samples[i].size, size);
		CHECK_EQ(samples[i].period, 1);
	}
	/* No recorder can ask for less. */
	gc_sampling_set_period(f.heap, 100000);
	for (uint32_t i = 0; i < 1000; i++)
		allocate(&f, 64);
	CHECK_EQ(n_samples, 21000);
	fixture_close(&f);
}
