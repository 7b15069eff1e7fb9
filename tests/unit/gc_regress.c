/* SPDX-License-Identifier: BSD-2-Clause */
/* gc_regress.c: faults of other allocation samplers that this one must not have: which objects. */
/*
 * Samplers that were folded into a nursery's limit before, or that count the
 * bytes of malloc, had faults that were hard to see: profiles that looked right
 * and were not. Each test is named after one. The letter says where it was:
 *
 *	p	in the algorithm as it was published
 *	b	in a collector's or profiler's code
 *	d	in the history of a sampler of malloc
 *
 * Here are those that decide which objects are sampled, and what sampling does
 * to the collector; gc_regress_events.c has those in what is reported about them.
 */
#include "gc_regress.h"

enum {
	EXPONENTIAL = GCPROF_STRIDE_EXPONENTIAL,
	FIXED = GCPROF_STRIDE_FIXED,
	EVERY = GCPROF_STRIDE_EVERY
};

/* Bump allocation that was undone half-way gave out memory twice. */
TEST(p1_objects_never_overlap)
{
	static bool taken[(64 << 10) / 8];
	uint64_t random = test_seed(), collections = 0, bytes = 0;
	struct gc_stats stats;
	struct fixture f;

	seen_open(&f, FIXED, 512);
	for (int i = 0; i < 60000; i++) {
		size_t size = random_size(&random, i % 100 ? 40 : 900);
		struct bytes *object = new_bytes(&f, size);
		size_t word = (size_t)((char *)object - f.heap->nursery.base) / 8;

		bytes += size;
		if (minors(&f) != collections)
			memset(taken, 0, sizeof(taken));
		collections = minors(&f);
		CHECK((word + size / 8) * 8 <= sizeof(taken) * 8);
		for (size_t k = word; k < word + size / 8; k++) {
			CHECK(!taken[k]);
			taken[k] = true;
		}
		CHECK_EQ(object->length, size - sizeof(*object));
		for (size_t k = 0; k < object->length; k++)
			CHECK_EQ(object->items[k], 0);
		memset(object->items, 0xa5, object->length);
	}
	gc_stats(f.heap, &stats);
	CHECK_EQ(stats.allocated_bytes, bytes);
	CHECK(collections > 100 && seen.last > 10000);
	fixture_close(&f);
}

/* The point moved by one period only, so the object still did not seem to fit. */
TEST(p2_an_object_larger_than_the_period_starts_no_collection)
{
	struct points points = points_begin(64);
	struct fixture f;

	seen_open(&f, FIXED, 64);
	for (int round = 0; round < 3; round++) {
		uint64_t before = minors(&f);

		for (int i = 0; i < 8; i++)
			CHECK(new_checked(&f, &points, 8000));
		CHECK_EQ(minors(&f), before);
		CHECK(new_checked(&f, &points, 8000));
		CHECK_EQ(minors(&f), before + 1);
		gc_collect(f.thread, GC_COLLECT_MINOR);
	}
	CHECK_EQ(seen.last, 27);
	fixture_close(&f);
}

/* The object that did not fit was allocated behind the collection without another look. */
TEST(p3_an_object_behind_a_collection_is_sampled_itself)
{
	struct points points = points_begin(1000);
	uint64_t random = test_seed();
	uint32_t both = 0;
	struct fixture f;

	seen_open(&f, FIXED, 1000);
	for (int i = 0; i < 200000; i++) {
		uint64_t before = minors(&f);
		bool hit = new_checked(&f, &points, random_size(&random, 40));

		both += hit && minors(&f) != before;
	}
	printf("%u of %llu samples behind a collection\n", both, (unsigned long long)seen.last);
	CHECK(both > 40);
	fixture_close(&f);
}

/* What an object went past the point was dropped: the period was longer than asked for. */
TEST(p4_the_overshoot_is_carried_over)
{
	struct fixture f;

	seen_open(&f, FIXED, 1000);
	for (int i = 0; i < 100000; i++)
		new_bytes(&f, 96);
	CHECK_EQ(seen.last, 9600);
	fixture_close(&f);
}

/* Large objects brought the point nearer and left the limit where it was. */
TEST(p5_large_objects_move_the_limit_of_small_ones)
{
	struct points points = points_begin(100000);
	struct fixture f;

	seen_open(&f, FIXED, 100000);
	for (int i = 0; i < 10; i++)
		new_checked(&f, &points, 32);
	CHECK(!new_checked(&f, &points, 99000));
	CHECK_EQ(points.next - points.at, 680);
	CHECK(f.thread->head.limit - f.thread->head.free < 680);
	for (int i = 0; i < 21; i++)
		CHECK(!new_checked(&f, &points, 32));
	CHECK(new_checked(&f, &points, 32));
	/* Through many points at once, and on. */
	CHECK(new_checked(&f, &points, 1000000));
	for (int i = 0; i < 20000; i++)
		new_checked(&f, &points, i % 50 ? 32 : 20000);
	fixture_close(&f);
}

/* Some comparisons were `<` where others were `<=`. */
TEST(p6_a_point_on_the_last_byte_belongs_to_that_object)
{
	struct points points = points_begin(64);
	uint64_t random = test_seed();
	uint32_t last_byte = 0, next_byte = 0;
	struct fixture f;

	seen_open(&f, FIXED, 64);
	for (int i = 0; i < 100000; i++) {
		size_t size = random_size(&random, 6);

		last_byte += points.next == points.at + size;
		next_byte += points.next == points.at + size + 8;
		new_checked(&f, &points, size);
	}
	CHECK(last_byte > 5000 && next_byte > 5000);
	fixture_close(&f);
}

/* The next point was kept as a pointer, which may leave the address space. */
TEST(p6_a_distant_point_leaves_the_limit_in_the_buffer)
{
	static const uint32_t strides[] = {EXPONENTIAL, FIXED};

	for (int i = 0; i < 2; i++) {
		struct fixture f;

		seen_open(&f, strides[i], UINT64_C(1) << 40);
		for (int k = 0; k < 20000; k++) {
			new_bytes(&f, 64);
			CHECK(f.thread->head.limit == f.thread->zeroed);
		}
		CHECK_EQ(seen.last, 0);
		CHECK(minors(&f) > 10 && minors(&f) < 25);
		fixture_close(&f);
	}
}

/* Each period that an object crossed was a sample with a stack of its own. */
TEST(b2_a_large_object_is_one_sample)
{
	struct fixture f;

	seen_open(&f, EXPONENTIAL, 32 << 10);
	for (uint32_t i = 1; i <= 5; i++) {
		CHECK(new_bytes(&f, 64 << 20));
		CHECK_EQ(seen.last, i);
		CHECK_EQ(seen.of[i].sample.size, 64 << 20);
		CHECK_EQ(seen.of[i].sample.kind, GCPROF_SAMPLE_LARGE);
	}
	fixture_close(&f);
}

/* How often the generator was asked on the way from one state to another. */
static int draws_between(const uint64_t from[4], const uint64_t to[4], int most)
{
	uint64_t state[4];

	memcpy(state, from, sizeof(state));
	for (int n = 0; n <= most; n++) {
		if (memcmp(state, to, sizeof(state)) == 0)
			return n;
		random_next(state);
	}
	return most + 1;
}

/* And so an object took a time in proportion to its size. */
TEST(b2_the_work_for_a_sample_does_not_grow_with_the_object)
{
	uint64_t before[4];
	struct fixture f;

	seen_open(&f, EXPONENTIAL, 1);
	for (size_t size = 1 << 10; size <= 256 << 20; size <<= 3) {
		memcpy(before, f.thread->sampler->random, sizeof(before));
		CHECK(new_bytes(&f, size));
		CHECK_EQ(draws_between(before, f.thread->sampler->random, 4), 1);
	}
	fixture_close(&f);
}

/* After which allocations a collection was made, in a mix with many large objects. */
static uint32_t collections_at(const struct gc_options *options, uint32_t *at, uint32_t most)
{
	uint64_t random = 7, before = 0;
	uint32_t n = 0;
	struct fixture f;

	fixture_open(&f, options);
	for (uint32_t i = 0; i < 40000; i++) {
		new_bytes(&f, random_size(&random, i % 37 ? 40 : 3000));
		if (minors(&f) != before && n < most)
			at[n++] = i;
		before = minors(&f);
	}
	fixture_close(&f);
	return n;
}

/* The stale limit behind a sampled large object was taken for the nursery's end. */
TEST(b3_sampled_large_objects_bring_no_collection_forward)
{
	enum { MOST = 1000 };
	static uint32_t without[MOST], with[MOST];
	static const uint64_t periods[] = {100, 8 << 10, 60 << 10, 1 << 20};
	struct gc_options options = seen_options(FIXED, 8 << 10);
	uint32_t n;

	options.sampling.always_sample = 0;
	probe_observer = NULL;
	n = collections_at(&options, without, MOST);
	CHECK(n > 100 && n < MOST);
	for (int i = 0; i < 4; i++) {
		options = seen_options(FIXED, periods[i]);
		CHECK_EQ(collections_at(&options, with, MOST), n);
		CHECK(memcmp(without, with, n * sizeof(*with)) == 0);
	}
	CHECK(seen.last > 1000);
}

struct busy {
	struct fixture *f;
	uint32_t finalized;
};

/* Allocates and collects, in the middle of somebody's slow path. */
static void finalize_busily(struct gc_thread *thread, void *object, void *context)
{
	struct busy *busy = context;

	(void)object;
	for (int i = 0; i < 300; i++)
		GC_NEW(thread, busy->f->node, struct node);
	gc_collect(thread, GC_COLLECT_MINOR);
	for (int i = 0; i < 3; i++)
		GC_NEW(thread, busy->f->node, struct node);
	busy->finalized++;
}

/* A collection inside the slow path moved the next point by an address: no sample ever came. */
TEST(b4_collections_inside_the_slow_path_do_not_stop_sampling)
{
	struct busy busy = {0};
	struct gc_stats stats;
	struct fixture f;

	seen_open(&f, FIXED, 1000);
	busy.f = &f;
	GC_FRAME(f.thread, frame, 0, struct node * list;);
	for (int i = 0; i < 60000; i++) {
		struct node *node = GC_NEW(f.thread, f.node, struct node);

		if (i % 100 == 0) {
			CHECK_EQ(gc_finalizer_add(f.thread, node, GC_FINALIZER_ORDERED,
						  finalize_busily, &busy),
				 0);
			continue;
		}
		/* Grows until there are major collections, which begin and end in slow paths. */
		gc_write(f.thread, node, &node->left, frame.root.list);
		frame.root.list = i % 15000 > 99 ? node : NULL;
		CHECK(f.thread->sampler->head.budget >= 1 &&
		      f.thread->sampler->head.budget <= 1000);
	}
	gc_stats(f.heap, &stats);
	printf("%u finalized, %llu bytes\n", busy.finalized,
	       (unsigned long long)stats.allocated_bytes);
	CHECK(busy.finalized > 100);
	CHECK_EQ(stats.allocated_bytes, 32 * (60000 + 303 * (uint64_t)busy.finalized));
	/* No object is as large as the stride: one sample for each point. */
	CHECK_EQ(seen.last, stats.allocated_bytes / 1000);
	FIXTURE_END(f, frame);
}

/* To get a collection the nursery was said to be used up, which looked like allocated bytes. */
TEST(b5_memory_pressure_collects_and_samples_nothing)
{
	struct points points = points_begin(1000);
	uint64_t random = test_seed(), before;
	struct fixture f;

	seen_open(&f, FIXED, 1000);
	for (int i = 0; i < 2000; i++) {
		for (int k = 0; k < 10; k++)
			new_checked(&f, &points, random_size(&random, 10));
		before = minors(&f);
		gc_memory_pressure(f.thread, 512 << 10);
		CHECK_EQ(minors(&f), before + 1);
		CHECK_EQ(seen.last, (points.next - 1) / 1000);
	}
	fixture_close(&f);
}

/* Stopping forgot the period, which was what starting looked for. */
TEST(b6_sampling_resumes_after_every_pause)
{
	struct fixture f;

	seen_open(&f, FIXED, 1000);
	gc_sampling_resume(f.heap);
	for (int round = 0; round < 20; round++) {
		uint64_t before = seen.last;

		for (int i = 0; i < 100; i++)
			new_bytes(&f, 200);
		CHECK(seen.last >= before + 19 && seen.last <= before + 20);
		gc_sampling_pause(f.heap);
		if (round % 2)
			gc_sampling_pause(f.heap);
		if (round % 3)
			gc_collect(f.thread, GC_COLLECT_FULL);
		new_bytes(&f, 16);
		before = seen.last;
		for (int i = 0; i < 1000; i++)
			new_bytes(&f, 200);
		CHECK_EQ(seen.last, before);
		CHECK_EQ(f.heap->provider->base_period, 1000);
		gc_sampling_resume(f.heap);
	}
	fixture_close(&f);
}

/* Only some of the nonsense was refused, and what was no multiple of a word went wrong. */
TEST(b8_periods_are_checked_and_any_number_will_do)
{
	static const uint64_t odd[] = {1, 3, 7, 63, 1001, 4095, 32769};
	struct gc_options options = seen_options(FIXED, (UINT64_C(1) << 40) + 1);
	struct gc_heap *heap = NULL;

	CHECK_EQ(gc_heap_create(&options, &heap), -EINVAL);
	options.sampling.period = (uint64_t)-8;
	CHECK_EQ(gc_heap_create(&options, &heap), -EINVAL);
	CHECK(!heap);
	for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++) {
		struct points points = points_begin(odd[i]);
		uint64_t random = 1 + i;
		struct fixture f;

		seen_open(&f, FIXED, odd[i]);
		for (int k = 0; k < 5000; k++)
			new_checked(&f, &points, random_size(&random, 50));
		gc_sampling_set_period(f.heap, 0);
		CHECK_EQ(f.heap->provider->period, 1);
		gc_sampling_set_period(f.heap, UINT64_MAX);
		CHECK_EQ(f.heap->provider->period, UINT64_C(1) << 40);
		gcprof_control.requests[0] =
			(struct gcprof_request){.recorder = 1, .period = UINT64_MAX - 7};
		gcprof_control.generation++;
		gc_sampling_set_period(f.heap, 5);
		gc_collect(f.thread, GC_COLLECT_MINOR);
		CHECK_EQ(f.heap->provider->period, UINT64_C(1) << 40);
		gcprof_control.requests[0] = (struct gcprof_request){.recorder = 0};
		gcprof_control.generation++;
		fixture_close(&f);
	}
}

static uint64_t period_with(struct fixture *f, uint64_t paused, uint64_t other)
{
	const struct gcprof_request none = {.recorder = 0};

	gcprof_control.requests[0] =
		(struct gcprof_request){.recorder = 1, .generation = 9, .period = paused};
	gcprof_control.requests[1] = none;
	if (other != UINT64_MAX)
		gcprof_control.requests[1] =
			(struct gcprof_request){.recorder = 2, .generation = 8, .period = other};
	gcprof_control.generation++;
	gc_collect(f->thread, GC_COLLECT_MINOR);
	gcprof_control.requests[0] = gcprof_control.requests[1] = none;
	gcprof_control.generation++;
	return f->heap->provider->period;
}

TEST(a_paused_recorder_leaves_samples_to_others)
{
	struct fixture f;

	seen_open(&f, FIXED, 4096);
	CHECK_EQ(period_with(&f, GCPROF_NO_SAMPLES, UINT64_MAX), GCPROF_NO_SAMPLES);
	CHECK_EQ(period_with(&f, GCPROF_NO_SAMPLES, 5000), 5000);
	CHECK_EQ(period_with(&f, GCPROF_NO_SAMPLES, 0), 4096);
	CHECK_EQ(period_with(&f, 6000, 5000), 5000);
	fixture_close(&f);
}

/* Without a profiler: only what the thread drew when it was attached. */
static int64_t first_gap(uint64_t seed, uint64_t period)
{
	struct gc_options options = seen_options(EXPONENTIAL, period);
	struct fixture f;
	int64_t gap;

	options.sampling.seed = seed;
	fixture_open(&f, &options);
	gap = f.thread->sampler->head.budget;
	fixture_close(&f);
	seen.n_periods = 0;
	return gap;
}

/* The first point came from a few bits of the clock: the same one for every period, on any day. */
TEST(b9_the_first_gap_is_random)
{
	/* Deciles of the exponential distribution of mean 1000000. */
	static const int64_t deciles[] = {105361, 223144,  356675,  510826, 693147,
					  916291, 1203973, 1609438, 2302585};
	enum { HEAPS = 2000 };
	static bool low_bits[256];
	uint32_t bins[10] = {0}, distinct = 0;
	double chi = 0;

	for (uint64_t seed = 1; seed <= HEAPS; seed++) {
		int64_t gap = first_gap(seed, 1000000);
		int bin = 0;

		CHECK(gap >= 1);
		while (bin < 9 && gap > deciles[bin])
			bin++;
		bins[bin]++;
		distinct += !low_bits[gap & 255];
		low_bits[gap & 255] = true;
	}
	for (int i = 0; i < 10; i++)
		chi += (bins[i] - HEAPS / 10.0) * (bins[i] - HEAPS / 10.0) / (HEAPS / 10.0);
	printf("chi-square %.1f of 9 degrees, %u values of the low byte\n", chi, distinct);
	CHECK(chi < 27.9);
	CHECK(distinct > 250);
	CHECK(first_gap(5, 32 << 10) != first_gap(5, 4 << 20));
}

/* Pins were refused while sampling, or sampling waited until there were none. */
TEST(b13_pins_and_samples_do_not_mind_each_other)
{
	struct points points = points_begin(700);
	struct node *pinned[20];
	struct fixture f;

	seen_open(&f, FIXED, 700);
	GC_FRAME(f.thread, frame, 0, struct node * node;);
	for (int i = 0; i < 20; i++) {
		points_hit(&points, sizeof(struct node));
		frame.root.node = GC_NEW(f.thread, f.node, struct node);
		frame.root.node->value = (uint64_t)i;
		CHECK_EQ(gc_pin(f.thread, (void **)&frame.root.node), 0);
		pinned[i] = frame.root.node;
		frame.root.node = NULL;
		for (int k = 0; k < 1000; k++)
			new_checked(&f, &points, 16 + 8 * (size_t)(k % 50));
	}
	gc_collect(f.thread, GC_COLLECT_FULL);
	for (int i = 0; i < 20; i++) {
		CHECK_EQ(pinned[i]->value, (uint64_t)i);
		gc_unpin(f.thread, pinned[i]);
	}
	CHECK_EQ(seen.last, points.at / 700);
	FIXTURE_END(f, frame);
}

/* Objects allocated in a row were one piece of memory: all samples had the first one's type. */
TEST(b15_each_object_of_a_group_is_sampled_as_what_it_is)
{
	static const uint32_t sizes[] = {16, 32, 80};
	struct points points = points_begin(1000);
	uint32_t of[3] = {0};
	gc_type types[3];
	struct fixture f;

	seen_open(&f, FIXED, 1000);
	for (int i = 0; i < 3; i++) {
		struct gc_type_desc desc = {.name = "member", .size = sizes[i]};

		CHECK_EQ(gc_type_register(f.heap, &desc, &types[i]), 0);
	}
	for (int i = 0; i < 100000; i++) {
		int k = i % 3;

		CHECK(gc_alloc(f.thread, types[k], sizes[k]));
		if (!points_hit(&points, sizes[k]))
			continue;
		of[k]++;
		CHECK_EQ(seen.of[seen.last].sample.type, type_probe_id(f.heap, types[k]));
		CHECK_EQ(seen.of[seen.last].sample.size, sizes[k]);
	}
	CHECK_EQ(seen.last, of[0] + of[1] + of[2]);
	CHECK(of[0] > 100 && of[1] > 100 && of[2] > 100);
	fixture_close(&f);
}

/* A nursery that moved left the point behind in the old one. */
TEST(b26_samples_do_not_depend_on_where_the_nursery_lies)
{
	static const size_t nurseries[] = {64 << 10, 32 << 10, 1 << 20, 200 << 10};
	static uint64_t sizes[10000];
	uint64_t first = 0;

	for (int run = 0; run < 4; run++) {
		struct gc_options options = seen_options(EXPONENTIAL, 3000);
		uint64_t random = 99, start = seen.last;
		struct fixture f;

		options.nursery_size = nurseries[run];
		options.buffer_size = run % 2 ? 2 << 10 : 8 << 10;
		fixture_open(&f, &options);
		for (int i = 0; i < 50000; i++)
			new_bytes(&f, random_size(&random, i % 100 ? 60 : 4000));
		if (!run)
			first = seen.last;
		CHECK_EQ(seen.last - start, first);
		CHECK(first > 2000 && first < 10000);
		for (uint64_t i = 0; i < first; i++) {
			if (!run)
				sizes[i] = seen.of[i + 1].sample.size;
			CHECK_EQ(seen.of[start + i + 1].sample.size, sizes[i]);
		}
		fixture_close(&f);
	}
}
