/* SPDX-License-Identifier: BSD-2-Clause */
/* gc_regress_events.c: faults of other samplers that this one must not have: what is reported. */
/*
 * See gc_regress.c for where these come from and what the names mean. Here are
 * the faults in what a profiler gets: samples, fates, figures of collections.
 */
#include "gc_regress.h"

#include <math.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include "model/world/estimate.h"

enum {
	EXPONENTIAL = GCPROF_STRIDE_EXPONENTIAL,
	FIXED = GCPROF_STRIDE_FIXED,
	EVERY = GCPROF_STRIDE_EVERY
};

static bool is_announced(uint64_t type)
{
	for (uint32_t i = 0; i < seen.n_types; i++)
		if (seen.typed[i] == type)
			return true;
	return false;
}

static void observe_types(enum probe_number probe, const void *arguments)
{
	const struct probe_sample *sample = arguments;

	if (probe == PROBE_sample)
		CHECK(is_announced(sample->type));
	seen_observe(probe, arguments);
}

/* The type was read at the next collection, when the object was perhaps gone. */
TEST(p7_the_type_is_known_at_the_sample)
{
	struct fixture f;

	seen_open(&f, EVERY, 1);
	probe_observer = observe_types;
	for (uint64_t i = 0; i < 3000; i += 3) {
		GC_NEW(f.thread, f.node, struct node);
		CHECK_EQ(seen.of[i + 1].sample.type, type_probe_id(f.heap, f.node));
		gc_alloc_array(f.thread, f.cells, i % 2 ? 5 : 5000);
		CHECK_EQ(seen.of[i + 2].sample.type, type_probe_id(f.heap, f.cells));
		new_bytes(&f, i % 5 ? 48 : 40000);
		CHECK_EQ(seen.of[i + 3].sample.type, type_probe_id(f.heap, f.bytes));
	}
	CHECK_EQ(seen.n_types, 3);
	fixture_close(&f);
}

/* A buffer for a thousand samples was not checked: more of them in a nursery overran it. */
TEST(b1_a_nursery_full_of_samples_is_reported_whole)
{
	enum { NURSERY = 4 << 20, OBJECTS = NURSERY / sizeof(struct bytes) };
	struct gc_options options = seen_options(EVERY, 1);
	struct fixture f;

	options.nursery_size = NURSERY;
	fixture_open(&f, &options);
	for (int i = 0; i < OBJECTS; i++)
		new_bytes(&f, sizeof(struct bytes));
	CHECK_EQ(minors(&f), 0);
	CHECK_EQ(seen.last, OBJECTS);
	gc_collect(f.thread, GC_COLLECT_MINOR);
	CHECK_EQ(seen.n_fates, OBJECTS);
	CHECK_EQ(seen.n_pieces, OBJECTS / GCPROF_FATE_MAX);
	for (int i = 1; i <= OBJECTS; i++)
		CHECK_EQ(seen.of[i].died, 1);
	fixture_close(&f);
}

static int refuse(void *context, struct gc_thread *thread, size_t size)
{
	(void)thread;
	(void)size;
	++*(uint32_t *)context;
	return 0;
}

/* An allocation that failed had a sample already: from then on all were taken for their
 * neighbours. */
TEST(b7_refused_allocations_leave_no_sample)
{
	struct gc_options options = seen_options(EVERY, 1);
	uint32_t refused = 0;
	struct fixture f;

	options.max_heap = 1 << 20;
	fixture_open(&f, &options);
	gc_on_out_of_memory(f.heap, refuse, &refused);
	GC_FRAME(f.thread, frame, 0, struct node * list;);
	for (uint64_t id = 1; id <= 6000; id++) {
		struct node *node = GC_NEW(f.thread, f.node, struct node);

		CHECK_EQ(seen.last, id);
		if (id % 3 == 0) {
			gc_write(f.thread, node, &node->left, frame.root.list);
			frame.root.list = node;
		}
		if (id % 20 == 0)
			CHECK(!new_bytes(&f, 2000000));
		CHECK_EQ(seen.last, id);
	}
	CHECK_EQ(refused, 300);
	gc_collect(f.thread, GC_COLLECT_FULL);
	for (uint64_t id = 1; id <= 6000; id++) {
		CHECK_EQ(seen.of[id].promoted, id % 3 == 0);
		CHECK_EQ(seen.of[id].died, id % 3 != 0);
	}
	FIXTURE_END(f, frame);
}

static volatile sig_atomic_t ticks;

static void tick(int signal)
{
	(void)signal;
	ticks++;
}

static void observe_signals(enum probe_number probe, const void *arguments)
{
	sigset_t mask;

	CHECK_EQ(sigprocmask(SIG_BLOCK, NULL, &mask), 0);
	CHECK_EQ(sigismember(&mask, SIGPROF), 0);
	seen_observe(probe, arguments);
}

/* Signals stayed ignored after an error, and there were messages in the program's output. */
TEST(b11_sampling_lets_signals_and_output_alone)
{
	struct itimerval fast = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
	int output = memfd_create("output", 0), saved = dup(STDOUT_FILENO);
	struct gc_options options = seen_options(EXPONENTIAL, 500);
	uint32_t refused = 0;
	struct fixture f;

	options.max_heap = 1 << 20;
	probe_observer = observe_signals;
	fixture_open(&f, &options);
	gc_on_out_of_memory(f.heap, refuse, &refused);
	fflush(NULL);
	CHECK(dup2(output, STDOUT_FILENO) >= 0 && dup2(output, STDERR_FILENO) >= 0);
	signal(SIGPROF, tick);
	CHECK_EQ(setitimer(ITIMER_PROF, &fast, NULL), 0);
	for (int i = 0; i < 10000 || (ticks < 5 && i < 2000000); i++) {
		new_bytes(&f, 100);
		if (i % 1000 == 0)
			CHECK(!new_bytes(&f, 2000000));
	}
	CHECK_EQ(setitimer(ITIMER_PROF, &never, NULL), 0);
	fflush(NULL);
	CHECK(dup2(saved, STDOUT_FILENO) >= 0 && dup2(saved, STDERR_FILENO) >= 0);
	CHECK(ticks >= 5);
	CHECK_EQ(lseek(output, 0, SEEK_END), 0);
	CHECK(seen.last > 1000 && refused >= 10);
	fixture_close(&f);
}

/* Objects that were never in the nursery lacked the flag of the living. */
TEST(b16_living_large_objects_are_not_reported_dead)
{
	uint32_t marking = 0;
	struct fixture f;

	seen_open(&f, EVERY, 1);
	GC_FRAME(f.thread, frame, 0, struct cells * all;);
	frame.root.all = gc_alloc_array(f.thread, f.cells, 100);
	for (int i = 0; i < 100; i++) {
		struct bytes *large;

		marking += f.heap->major.phase == GCPROF_PHASE_MARKING;
		large = new_bytes(&f, 20000 + 8 * (size_t)i);
		gc_write(f.thread, frame.root.all, &frame.root.all->items[i], large);
		new_bytes(&f, 20000);
		gc_collect_step(f.thread);
		if (i % 7 == 0)
			gc_collect(f.thread, GC_COLLECT_MINOR);
	}
	CHECK(marking > 10);
	gc_collect(f.thread, GC_COLLECT_FULL);
	CHECK_EQ(seen.last, 201);
	for (uint64_t id = 2; id <= 201; id++) {
		bool kept = seen.of[id].sample.size != 20000 || id == 2;

		CHECK_EQ(seen.of[id].promoted, kept);
		CHECK_EQ(seen.of[id].died, !kept);
	}
	frame.root.all = NULL;
	gc_collect(f.thread, GC_COLLECT_FULL);
	for (uint64_t id = 1; id <= 201; id++)
		CHECK_EQ(seen.of[id].died, 1);
	FIXTURE_END(f, frame);
}

/* Objects born just before a collection counted as survivors, and nothing more was known. */
TEST(b17_survivors_have_an_age_and_are_followed)
{
	struct fixture f;

	seen_open(&f, EVERY, 1);
	GC_FRAME(f.thread, frame, 0, struct node * node;);
	for (uint64_t i = 0; i < 200; i++) {
		uint64_t id = seen.last + 1, birth;
		struct gc_stats stats;

		frame.root.node = GC_NEW(f.thread, f.node, struct node);
		gc_stats(f.heap, &stats);
		birth = stats.allocated_bytes;
		new_bytes(&f, 16 + 8 * i);
		gc_collect(f.thread, GC_COLLECT_MINOR);
		CHECK_EQ(seen.of[id].fate.outcome, GCPROF_PROMOTED);
		CHECK_EQ(seen.of[id].fate.age, 16 + 8 * i);
		for (uint64_t k = 0; k < i * 20; k++)
			new_bytes(&f, 64);
		frame.root.node = NULL;
		gc_collect(f.thread, GC_COLLECT_FULL);
		gc_stats(f.heap, &stats);
		CHECK_EQ(seen.of[id].fate.outcome, GCPROF_DIED_OLD);
		CHECK_EQ(seen.of[id].fate.age, stats.allocated_bytes - birth);
		CHECK(seen.of[id].fate.collections >= 2);
	}
	FIXTURE_END(f, frame);
}

/* Collections by what is reported of them. */
static struct {
	uint64_t begun[4], ended[4], used, promoted, freed, phases;
	uint32_t phase;
	struct gcprof_gc_stats last;
} reported;

static void observe_collections(enum probe_number probe, const void *arguments)
{
	static const uint32_t next[] = {0, GCPROF_PHASE_MARKING, GCPROF_PHASE_SWEEPING,
					GCPROF_PHASE_FINALIZING, GCPROF_PHASE_SCANNING};
	const struct probe_gc_begin *begin = arguments;
	const struct probe_gc_end *end = arguments;
	const struct probe_phase *phase = arguments;

	if (probe == PROBE_gc_begin) {
		reported.begun[begin->kind]++;
	} else if (probe == PROBE_gc_end) {
		reported.ended[end->kind]++;
		CHECK_EQ(reported.ended[end->kind], reported.begun[end->kind]);
		memcpy(&reported.last, end->stats, sizeof(reported.last));
		reported.used += reported.last.nursery_used;
		reported.promoted += reported.last.promoted_bytes;
		reported.freed += reported.last.freed_bytes;
	} else if (probe == PROBE_phase) {
		CHECK_EQ(phase->phase, next[reported.phase]);
		reported.phase = phase->phase;
		reported.phases++;
	}
}

/* A list that is thrown away now and then, so that there are major collections. */
static void grow_and_drop(struct fixture *f)
{
	GC_FRAME(f->thread, frame, 0, struct node * list;);
	for (int i = 0; i < 200000; i++) {
		struct node *node = GC_NEW(f->thread, f->node, struct node);

		gc_write(f->thread, node, &node->left, frame.root.list);
		frame.root.list = i % 15000 ? node : NULL;
	}
	frame.root.list = NULL;
	/* A full collection would make one under way begin anew. */
	while (f->heap->major.phase != GCPROF_PHASE_SCANNING)
		gc_collect_step(f->thread);
	gc_collect(f->thread, GC_COLLECT_FULL);
	GC_FRAME_END(f->thread, frame);
}

/* Collections without samples were left out, and major ones that were missed ran together. */
TEST(b19_collections_without_samples_are_reported)
{
	struct gc_stats stats;
	struct fixture f;

	seen_open(&f, EXPONENTIAL, UINT64_C(1) << 40);
	probe_observer = observe_collections;
	reported.phase = GCPROF_PHASE_SCANNING;
	grow_and_drop(&f);
	gc_stats(f.heap, &stats);
	CHECK_EQ(stats.samples, 0);
	CHECK(stats.minor_collections > 50 && stats.full_collections > 3 && stats.steps > 50);
	CHECK_EQ(reported.ended[GCPROF_GC_MINOR], stats.minor_collections);
	CHECK_EQ(reported.ended[GCPROF_GC_STEP], stats.steps);
	CHECK_EQ(reported.ended[GCPROF_GC_FULL], 1);
	/* And their figures, too. */
	CHECK_EQ(reported.used, stats.allocated_bytes);
	CHECK(reported.promoted && reported.promoted == stats.promoted_bytes);
	CHECK_EQ(reported.promoted - reported.freed, stats.live_bytes);
	CHECK_EQ(reported.phase, GCPROF_PHASE_SCANNING);
	CHECK_EQ(reported.phases, 4 * stats.full_collections);
	fixture_close(&f);
}

/* A counter began with its first value twice and ended before its last. */
TEST(b20_figures_of_collections_add_up)
{
	struct gc_stats stats;
	struct fixture f;

	seen_open(&f, EXPONENTIAL, 5000);
	probe_observer = observe_collections;
	reported.phase = GCPROF_PHASE_SCANNING;
	grow_and_drop(&f);
	gc_stats(f.heap, &stats);
	CHECK_EQ(stats.allocated_bytes, 200000 * sizeof(struct node));
	CHECK_EQ(reported.used, stats.allocated_bytes);
	CHECK_EQ(reported.last.allocated_bytes, stats.allocated_bytes);
	CHECK_EQ(reported.promoted, stats.promoted_bytes);
	CHECK_EQ(reported.promoted - reported.freed, stats.live_bytes);
	CHECK_EQ(stats.live_bytes, 0);
	fixture_close(&f);
}

/* Every sample was of the same kind and had no size. */
TEST(b23_samples_have_their_size_and_kind)
{
	struct fixture f;
	uint64_t id = 0;

	seen_open(&f, EVERY, 1);
	for (uint64_t length = 0; length < 17000; length += length < 100 ? 1 : 97) {
		size_t size = GC_ALIGN(sizeof(struct bytes) + length);

		gc_alloc_array(f.thread, f.bytes, length);
		CHECK_EQ(seen.of[++id].sample.size, size);
		CHECK_EQ(seen.of[id].sample.kind,
			 size < 16 << 10 ? GCPROF_SAMPLE_NURSERY : GCPROF_SAMPLE_LARGE);
	}
	new_bytes(&f, 16 << 10);
	CHECK_EQ(seen.of[++id].sample.kind, GCPROF_SAMPLE_LARGE);
	new_bytes(&f, (16 << 10) - 8);
	CHECK_EQ(seen.of[++id].sample.kind, GCPROF_SAMPLE_NURSERY);
	gc_alloc(f.thread, f.node, 29);
	CHECK_EQ(seen.of[++id].sample.size, 32);
	fixture_close(&f);
}

static void observe_periods(enum probe_number probe, const void *arguments)
{
	const struct probe_sample *sample = arguments;
	const struct probe_period *last;

	if (probe == PROBE_sample) {
		CHECK(seen.n_periods);
		last = &seen.periods[seen.n_periods - 1];
		CHECK(sample->period == last->new_period || sample->period == last->old_period);
	}
	if (probe == PROBE_period && seen.n_periods)
		CHECK_EQ(((const struct probe_period *)arguments)->old_period,
			 seen.periods[seen.n_periods - 1].new_period);
	seen_observe(probe, arguments);
}

static void check_tally(const struct tally *tally, double truth)
{
	double sigma = sqrt(tally->variance);

	printf("estimate %.0f sigma %.0f truth %.0f\n", tally->value, sigma, truth);
	/* Chance alone refuses one in 10^8. */
	CHECK(fabs(tally->value - truth) < 6 * sigma);
}

/* One period for the whole profile, asked for again at its end: others made all weights wrong. */
TEST(b27_each_sample_carries_its_period)
{
	static const uint64_t periods[] = {300, 40000, 2000, 9000};
	struct gc_options options = seen_options(EXPONENTIAL, 300);
	struct tally tallies[2] = {{0, 0, 0}, {0, 0, 0}};
	double truth[2] = {0, 0};
	struct fixture f;

	options.sampling.seed = test_seed() | 1;
	probe_observer = observe_periods;
	fixture_open(&f, &options);
	/* Much of the one type at long periods, of the other at short ones. */
	for (int i = 0; i < 400000; i++) {
		int phase = i / 500 % 4, rare = i % 8 == 0;
		int which = (phase & 1) ^ rare;

		if (i % 500 == 0)
			gc_sampling_set_period(f.heap, periods[phase]);
		truth[which] += which ? 200 : 32;
		if (which)
			new_bytes(&f, 200);
		else
			GC_NEW(f.thread, f.node, struct node);
	}
	CHECK(seen.n_periods > 700);
	for (uint64_t id = 1; id <= seen.last; id++) {
		const struct probe_sample *sample = &seen.of[id].sample;

		tally_add(&tallies[sample->size == 200], (double)sample->size,
			  sample_probability(sample->size, sample->period));
	}
	check_tally(&tallies[0], truth[0]);
	check_tally(&tallies[1], truth[1]);
	fixture_close(&f);
}

/* The object at which a change is noticed may be there because of the old period. */
TEST(b27_the_first_sample_behind_a_change_carries_the_period_it_was_drawn_with)
{
	struct fixture f;

	seen_open(&f, FIXED, 16);
	for (uint64_t i = 0; i < 2000; i++) {
		uint64_t before = i % 2 ? 40 : 16, after = i % 2 ? 16 : 40;

		new_bytes(&f, 64);
		CHECK_EQ(seen.of[seen.last].sample.period, before);
		gc_sampling_set_period(f.heap, after);
		new_bytes(&f, 64);
		CHECK_EQ(seen.of[seen.last].sample.period, before);
		CHECK_EQ(seen.last, 2 * (i + 1));
	}
	fixture_close(&f);
}

/* A table of 65536 entries was full, and no live object was seen any more. */
TEST(b31_any_number_of_live_samples_is_followed)
{
	enum { LIVE = 200000 };
	struct fixture f;

	seen_open(&f, EVERY, 1);
	GC_FRAME(f.thread, frame, 0, struct node * list;);
	for (int i = 0; i < LIVE; i++) {
		struct node *node = GC_NEW(f.thread, f.node, struct node);

		gc_write(f.thread, node, &node->left, frame.root.list);
		frame.root.list = node;
	}
	gc_collect(f.thread, GC_COLLECT_FULL);
	CHECK_EQ(f.heap->sampled_old.count, LIVE);
	for (int id = 1; id <= LIVE; id++)
		CHECK(seen.of[id].promoted == 1 && !seen.of[id].died);
	frame.root.list = NULL;
	gc_collect(f.thread, GC_COLLECT_FULL);
	for (int id = 1; id <= LIVE; id++)
		CHECK_EQ(seen.of[id].died, 1);
	FIXTURE_END(f, frame);
}

/* The largest number of a batch was one too many. */
TEST(d13_batches_are_cut_where_they_are_full)
{
	static const uint32_t counts[] = {1,
					  GCPROF_FATE_MAX - 1,
					  GCPROF_FATE_MAX,
					  GCPROF_FATE_MAX + 1,
					  2 * GCPROF_FATE_MAX - 1,
					  2 * GCPROF_FATE_MAX,
					  2 * GCPROF_FATE_MAX + 1};
	struct fixture f;

	seen_open(&f, EVERY, 1);
	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		seen.n_fates = seen.n_pieces = 0;
		for (uint32_t k = 0; k < counts[i]; k++)
			GC_NEW(f.thread, f.node, struct node);
		gc_collect(f.thread, GC_COLLECT_MINOR);
		CHECK_EQ(seen.n_fates, counts[i]);
		CHECK_EQ(seen.n_pieces, (counts[i] + GCPROF_FATE_MAX - 1) / GCPROF_FATE_MAX);
	}
	gc_collect(f.thread, GC_COLLECT_MINOR);
	CHECK_EQ(seen.n_pieces, 3);
	fixture_close(&f);
}

/* Samples of live objects were added up without their weights. */
TEST(d13_the_live_heap_is_weighted)
{
	struct gc_options options = seen_options(EXPONENTIAL, 8192);
	uint64_t random = test_seed();
	struct tally tally = {0};
	struct gc_stats stats;
	struct fixture f;

	options.sampling.seed = random | 1;
	fixture_open(&f, &options);
	GC_FRAME(f.thread, frame, 0, struct cells * all;);
	frame.root.all = gc_alloc_array(f.thread, f.cells, 20000);
	for (int i = 0; i < 100000; i++) {
		void *object = new_bytes(&f, random_size(&random, i % 100 ? 40 : 3000));
		uint64_t at = test_random(&random) % 20000;

		gc_write(f.thread, frame.root.all, &frame.root.all->items[at], object);
	}
	gc_collect(f.thread, GC_COLLECT_FULL);
	gc_stats(f.heap, &stats);
	for (uint64_t id = 1; id <= seen.last; id++) {
		const struct seen_sample *of = &seen.of[id];

		if (of->promoted && !of->died)
			tally_add(&tally, (double)of->sample.size,
				  sample_probability(of->sample.size, of->sample.period));
	}
	check_tally(&tally, (double)stats.live_bytes);
	CHECK(tally.observed < tally.value / 2);
	FIXTURE_END(f, frame);
}
