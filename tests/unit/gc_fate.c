/* SPDX-License-Identifier: BSD-2-Clause */
/* gc_fate.c: tests of what is reported about sampled objects and collections. */
#include "gc_test.h"

enum { MAX_FATES = 100000 };

static struct gcprof_fate fates[MAX_FATES];
static uint64_t ids[MAX_FATES];
static uint32_t n_fates, n_pieces, n_ids, n_begun, n_ended, largest_piece;
static struct probe_gc_begin last_begin;
static struct gcprof_gc_stats last_stats;
static uint32_t phases[16], n_phases;

static void observe_fate(const struct probe_fate *a)
{
	CHECK(a->count >= 1 && a->count <= GCPROF_FATE_MAX);
	CHECK(n_fates + a->count <= MAX_FATES);
	/* Within a collection, before its end. */
	CHECK_EQ(n_begun, n_ended + 1);
	memcpy(fates + n_fates, a->entries, a->count * sizeof(*fates));
	n_fates += (uint32_t)a->count;
	n_pieces++;
	if (a->count > largest_piece)
		largest_piece = (uint32_t)a->count;
}

static void observe(enum probe_number probe, const void *arguments)
{
	const struct probe_gc_end *end = arguments;

	switch (probe) {
	case PROBE_sample:
		ids[n_ids++ % MAX_FATES] = ((const struct probe_sample *)arguments)->sample;
		break;
	case PROBE_fate:
		observe_fate(arguments);
		break;
	case PROBE_gc_begin:
		CHECK_EQ(n_begun++, n_ended);
		last_begin = *(const struct probe_gc_begin *)arguments;
		break;
	case PROBE_gc_end:
		CHECK_EQ(++n_ended, n_begun);
		CHECK_EQ(end->cycle, last_begin.cycle);
		CHECK_EQ(end->kind, last_begin.kind);
		CHECK_EQ(end->heap, last_begin.heap);
		last_stats = *(const struct gcprof_gc_stats *)end->stats;
		break;
	case PROBE_phase:
		phases[n_phases++ % 16] = ((const struct probe_phase *)arguments)->phase;
		break;
	default:
		break;
	}
}

/* Every object is sampled: ids count the allocations. */
static void open_sampling(struct fixture *f)
{
	struct gc_options options = small_options();

	options.sampling.always_sample = 1;
	options.sampling.fixed_stride = 1;
	options.sampling.period = 1;
	options.sampling.ceiling = UINT64_MAX;
	options.nursery_size = 1 << 20;
	probe_observer = observe;
	fixture_open(f, &options);
}

TEST(gc_fate_of_the_dead_and_the_promoted)
{
	struct fixture f;

	open_sampling(&f);
	GC_FRAME(f.thread, frame, 0, struct node * kept;);
	GC_NEW(f.thread, f.node, struct node);                   /* 1: dies */
	frame.root.kept = GC_NEW(f.thread, f.node, struct node); /* 2: promoted */
	gc_alloc_array(f.thread, f.bytes, 100);                  /* 3: dies */
	CHECK_EQ(n_ids, 3);
	gc_collect(f.thread, GC_COLLECT_MINOR);
	CHECK_EQ(n_fates, 3);
	for (uint32_t i = 0; i < 3; i++)
		CHECK_EQ(fates[i].sample, i + 1);
	CHECK_EQ(fates[0].outcome, GCPROF_DIED_YOUNG);
	CHECK_EQ(fates[1].outcome, GCPROF_PROMOTED);
	CHECK_EQ(fates[2].outcome, GCPROF_DIED_YOUNG);
	/* Ages: what was allocated after each. */
	CHECK_EQ(fates[0].age, 32 + 120);
	CHECK_EQ(fates[1].age, 120);
	CHECK_EQ(fates[2].age, 0);
	CHECK_EQ(fates[0].collections, 0);
	CHECK_EQ(fates[1].collections, 1);
	gc_collect(f.thread, GC_COLLECT_FULL);
	CHECK_EQ(n_fates, 3);
	frame.root.kept = NULL;
	GC_NEW(f.thread, f.node, struct node); /* 4 */
	gc_collect(f.thread, GC_COLLECT_FULL);
	CHECK_EQ(n_fates, 5);
	CHECK_EQ(fates[3].sample, 4);
	CHECK_EQ(fates[4].sample, 2);
	CHECK_EQ(fates[4].outcome, GCPROF_DIED_OLD);
	CHECK_EQ(fates[4].age, 120 + 32);
	CHECK_EQ(fates[4].collections, 3);
	FIXTURE_END(f, frame);
}

TEST(gc_fate_of_large_objects)
{
	struct fixture f;

	open_sampling(&f);
	GC_FRAME(f.thread, frame, 0, struct bytes * kept;);
	frame.root.kept = gc_alloc_array(f.thread, f.bytes, 50000);
	gc_alloc_array(f.thread, f.bytes, 50000);
	gc_collect(f.thread, GC_COLLECT_MINOR);
	CHECK_EQ(n_fates, 2);
	CHECK_EQ(fates[0].outcome, GCPROF_PROMOTED);
	CHECK_EQ(fates[1].outcome, GCPROF_DIED_YOUNG);
	CHECK_EQ(last_stats.large_bytes, 50016);
	frame.root.kept = NULL;
	gc_collect(f.thread, GC_COLLECT_FULL);
	CHECK_EQ(n_fates, 3);
	CHECK_EQ(fates[2].sample, 1);
	CHECK_EQ(fates[2].outcome, GCPROF_DIED_OLD);
	CHECK_EQ(last_stats.large_bytes, 0);
	CHECK_EQ(last_stats.freed_bytes, 50016);
	FIXTURE_END(f, frame);
}

TEST(gc_fate_is_handed_over_in_pieces)
{
	enum { N = 5 * GCPROF_FATE_MAX + 3 };
	struct fixture f;

	open_sampling(&f);
	GC_FRAME(f.thread, frame, 0, struct cells * all;);
	frame.root.all = gc_alloc_array(f.thread, f.cells, N);
	for (int i = 0; i < N; i++) {
		struct node *node = GC_NEW(f.thread, f.node, struct node);

		if (i % 3)
			gc_write(f.thread, frame.root.all, &frame.root.all->items[i], node);
	}
	gc_collect(f.thread, GC_COLLECT_MINOR);
	CHECK_EQ(n_fates, N + 1);
	CHECK_EQ(n_pieces, 6);
	CHECK_EQ(largest_piece, GCPROF_FATE_MAX);
	for (int i = 0; i < N; i++) {
		CHECK_EQ(fates[i + 1].sample, i + 2);
		CHECK_EQ(fates[i + 1].outcome, i % 3 ? GCPROF_PROMOTED : GCPROF_DIED_YOUNG);
	}
	frame.root.all = NULL;
	gc_collect(f.thread, GC_COLLECT_FULL);
	/* Every sample has come to its end. */
	CHECK_EQ(n_fates, N + 1 + 1 + (N - (N + 2) / 3));
	FIXTURE_END(f, frame);
}

TEST(gc_fate_every_sample_ends_once)
{
	struct fixture f;
	uint64_t random = test_seed();
	static uint8_t ended[MAX_FATES];
	uint32_t died = 0;

	open_sampling(&f);
	GC_FRAME(f.thread, frame, 0, struct cells * all;);
	frame.root.all = gc_alloc_array(f.thread, f.cells, 500);
	for (int i = 0; i < 40000; i++) {
		struct node *node = GC_NEW(f.thread, f.node, struct node);
		uint64_t at = test_random(&random) % 2000;

		if (at < 500)
			gc_write(f.thread, frame.root.all, &frame.root.all->items[at], node);
		if (i % 10000 == 0)
			gc_collect(f.thread, GC_COLLECT_FULL);
	}
	frame.root.all = NULL;
	gc_collect(f.thread, GC_COLLECT_FULL);
	for (uint32_t i = 0; i < n_fates; i++) {
		CHECK(fates[i].sample >= 1 && fates[i].sample <= 40001);
		/* Nothing comes after death; promotion comes once, before it. */
		CHECK(ended[fates[i].sample] < 2);
		if (fates[i].outcome == GCPROF_PROMOTED) {
			CHECK_EQ(ended[fates[i].sample]++, 0);
			continue;
		}
		CHECK_EQ(ended[fates[i].sample], fates[i].outcome == GCPROF_DIED_OLD);
		ended[fates[i].sample] = 2;
		died++;
	}
	CHECK_EQ(died, 40001);
	FIXTURE_END(f, frame);
}

TEST(gc_end_carries_the_figures_of_its_collection)
{
	struct fixture f;

	open_sampling(&f);
	GC_FRAME(f.thread, frame, 0, struct node * a; struct node * b;);
	frame.root.a = GC_NEW(f.thread, f.node, struct node);
	frame.root.b = GC_NEW(f.thread, f.node, struct node);
	GC_NEW(f.thread, f.node, struct node);
	gc_collect(f.thread, GC_COLLECT_MINOR);
	CHECK_EQ(last_begin.kind, GCPROF_GC_MINOR);
	CHECK_EQ(last_begin.reason, GCPROF_REASON_EXPLICIT);
	CHECK_EQ(last_begin.cycle, 1);
	CHECK_EQ(last_stats.promoted_bytes, 64);
	CHECK_EQ(last_stats.promoted_objects, 2);
	CHECK_EQ(last_stats.nursery_used, 96);
	CHECK_EQ(last_stats.allocated_bytes, 96);
	CHECK_EQ(last_stats.live_bytes, 64);
	CHECK_EQ(last_stats.threads, 1);
	CHECK_EQ(last_stats.phase, GCPROF_PHASE_SCANNING);
	CHECK(last_stats.arena_bytes >= 512 << 10);
	CHECK_EQ(n_phases, 0);
	frame.root.a = NULL;
	gc_collect(f.thread, GC_COLLECT_FULL);
	CHECK_EQ(n_begun, 3);
	CHECK_EQ(last_begin.kind, GCPROF_GC_FULL);
	CHECK_EQ(last_stats.live_bytes, 32);
	CHECK_EQ(last_stats.freed_bytes, 32);
	CHECK_EQ(n_phases, 4);
	CHECK_EQ(phases[0], GCPROF_PHASE_MARKING);
	CHECK_EQ(phases[1], GCPROF_PHASE_SWEEPING);
	CHECK_EQ(phases[2], GCPROF_PHASE_FINALIZING);
	CHECK_EQ(phases[3], GCPROF_PHASE_SCANNING);
	FIXTURE_END(f, frame);
}
