/* SPDX-License-Identifier: BSD-2-Clause */
/* gc_steps.c: tests of the incremental major collection: colors, phases, pace, figures. */
#include "gc_test.h"

#include "cards.h"

enum { SLOTS = 12000, GROUP = 1000 };

static uint32_t n_kinds[4], n_phases, n_begun, n_ended, n_died_old;
static uint32_t phases[1000];

static void observe(enum probe_number probe, const void *arguments)
{
	const struct probe_gc_begin *begin = arguments;
	const struct probe_fate *fate = arguments;
	const struct gcprof_fate *entries;

	switch (probe) {
	case PROBE_gc_begin:
		CHECK_EQ(n_begun++, n_ended);
		n_kinds[begin->kind]++;
		break;
	case PROBE_gc_end:
		CHECK_EQ(++n_ended, n_begun);
		break;
	case PROBE_phase:
		CHECK_EQ(n_begun, n_ended + 1);
		phases[n_phases++ % 1000] = ((const struct probe_phase *)arguments)->phase;
		break;
	case PROBE_fate:
		entries = fate->entries;
		for (uint32_t i = 0; i < fate->count; i++)
			n_died_old += entries[i].outcome == GCPROF_DIED_OLD;
		break;
	default:
		break;
	}
}

/* A table of tables of nodes, each node with its number. */
static struct cells *make_table(struct fixture *f)
{
	struct cells *result;

	GC_FRAME(f->thread, frame, 0, struct cells * table; struct cells * group;);
	frame.root.table = gc_alloc_array(f->thread, f->cells, SLOTS / GROUP);
	for (uint64_t i = 0; i < SLOTS / GROUP; i++) {
		frame.root.group = gc_alloc_array(f->thread, f->cells, GROUP);
		gc_write(f->thread, frame.root.table, &frame.root.table->items[i],
			 frame.root.group);
		for (uint64_t n = 0; n < GROUP; n++) {
			struct node *node = GC_NEW(f->thread, f->node, struct node);

			node->value = i * GROUP + n + 1;
			gc_write(f->thread, frame.root.group, &frame.root.group->items[n], node);
		}
	}
	result = frame.root.table;
	GC_FRAME_END(f->thread, frame);
	return result;
}

static void **slot(struct cells *table, uint64_t i, struct cells **group)
{
	*group = table->items[i / GROUP];
	return &(*group)->items[i % GROUP];
}

static void check_table(struct cells *table)
{
	static uint8_t found[SLOTS + 1];
	struct cells *group;

	memset(found, 0, sizeof(found));
	for (uint64_t i = 0; i < SLOTS; i++) {
		struct node *node = *slot(table, i, &group);

		CHECK(node && node->value >= 1 && node->value <= SLOTS);
		CHECK_EQ(found[node->value]++, 0);
	}
}

/*
 * Takes two nodes out of the table, allocates for a while, and puts them back
 * the other way round: what marking has not seen yet hides on the stack, and
 * comes back where marking has been.
 */
static void exchange(struct fixture *f, struct cells **table, uint64_t *random)
{
	uint64_t a = test_random(random) % SLOTS, b = test_random(random) % SLOTS;
	struct cells *group;

	GC_FRAME(f->thread, frame, 0, struct node * a; struct node * b;);
	frame.root.a = *slot(*table, a, &group);
	frame.root.b = *slot(*table, b, &group);
	gc_write(f->thread, group, slot(*table, b, &group), NULL);
	slot(*table, a, &group);
	gc_write(f->thread, group, slot(*table, a, &group), NULL);
	for (uint64_t n = test_random(random) % 40; n; n--)
		gc_alloc_array(f->thread, f->bytes, test_random(random) % 500);
	slot(*table, a, &group);
	gc_write(f->thread, group, slot(*table, a, &group), frame.root.b);
	slot(*table, b, &group);
	gc_write(f->thread, group, slot(*table, b, &group), a == b ? frame.root.b : frame.root.a);
	/* Replace some, so that there is always something to promote and to sweep. */
	for (int i = 0; i < 3; i++) {
		struct node *node = GC_NEW(f->thread, f->node, struct node);
		uint64_t at = test_random(random) % SLOTS;

		node->value = ((struct node *)*slot(*table, at, &group))->value;
		gc_write(f->thread, group, slot(*table, at, &group), node);
	}
	GC_FRAME_END(f->thread, frame);
}

static struct gc_options step_options(void)
{
	struct gc_options options = small_options();

	options.growth = 1.2;
	return options;
}

static void churn_table(struct fixture *f, struct cells **table, int rounds)
{
	uint64_t random = test_seed();

	for (int i = 0; i < rounds; i++) {
		exchange(f, table, &random);
		if (i % 500 == 0)
			check_table(*table);
	}
	check_table(*table);
}

TEST(gc_steps_lose_nothing_that_moves_between_colors)
{
	struct gc_options options = step_options();
	struct gc_stats stats;
	struct fixture f;

	fixture_open(&f, &options);
	GC_FRAME(f.thread, frame, 0, struct cells * table;);
	frame.root.table = make_table(&f);
	churn_table(&f, &frame.root.table, 8000);
	gc_stats(f.heap, &stats);
	CHECK(stats.full_collections > 4);
	CHECK(stats.steps > 20 * stats.full_collections);
	gc_collect(f.thread, GC_COLLECT_FULL);
	check_table(frame.root.table);
	gc_stats(f.heap, &stats);
	CHECK_EQ(stats.live_bytes,
		 SLOTS * sizeof(struct node) +
			 SLOTS / GROUP * (sizeof(struct cells) + GROUP * sizeof(void *)) +
			 sizeof(struct cells) + SLOTS / GROUP * sizeof(void *));
	FIXTURE_END(f, frame);
}

TEST(gc_steps_go_through_the_phases_in_order)
{
	static const uint32_t order[] = {GCPROF_PHASE_MARKING, GCPROF_PHASE_SWEEPING,
					 GCPROF_PHASE_FINALIZING, GCPROF_PHASE_SCANNING};
	struct gc_options options = step_options();
	struct fixture f;

	probe_observer = observe;
	fixture_open(&f, &options);
	GC_FRAME(f.thread, frame, 0, struct cells * table;);
	frame.root.table = make_table(&f);
	churn_table(&f, &frame.root.table, 3000);
	CHECK(n_phases > 8 && n_phases < 1000);
	for (uint32_t i = 0; i < n_phases; i++)
		CHECK_EQ(phases[i], order[i % 4]);
	CHECK(n_kinds[GCPROF_GC_MINOR] > 20);
	CHECK(n_kinds[GCPROF_GC_STEP] > 20);
	CHECK_EQ(n_kinds[GCPROF_GC_FULL], 0);
	FIXTURE_END(f, frame);
}

TEST(gc_steps_can_be_turned_off)
{
	struct gc_options options = step_options();
	struct gc_stats stats;
	struct fixture f;

	options.stop_the_world = 1;
	probe_observer = observe;
	fixture_open(&f, &options);
	GC_FRAME(f.thread, frame, 0, struct cells * table;);
	frame.root.table = make_table(&f);
	churn_table(&f, &frame.root.table, 3000);
	gc_stats(f.heap, &stats);
	CHECK_EQ(stats.steps, 0);
	CHECK_EQ(stats.full_collections, n_kinds[GCPROF_GC_FULL]);
	CHECK(n_kinds[GCPROF_GC_FULL] > 2);
	CHECK_EQ(n_kinds[GCPROF_GC_STEP], 0);
	FIXTURE_END(f, frame);
}

/* Allocates garbage until a major collection is in `phase`. */
static void run_until(struct fixture *f, struct cells **table, uint32_t phase)
{
	uint64_t random = test_seed();

	for (int i = 0; f->heap->major.phase != phase; i++) {
		CHECK(i < 100000);
		exchange(f, table, &random);
	}
}

TEST(gc_steps_give_way_to_a_full_collection)
{
	static const uint32_t stops[] = {GCPROF_PHASE_MARKING, GCPROF_PHASE_SWEEPING};
	struct gc_options options = step_options();
	struct gc_stats stats, again;
	struct fixture f;

	for (int i = 0; i < 4; i++) {
		fixture_open(&f, &options);
		GC_FRAME(f.thread, frame, 0, struct cells * table;);
		frame.root.table = make_table(&f);
		run_until(&f, &frame.root.table, stops[i / 2]);
		/* All of it is alive, or all is dead, though some was marked already. */
		if (i % 2)
			frame.root.table = NULL;
		gc_collect(f.thread, GC_COLLECT_FULL);
		gc_stats(f.heap, &stats);
		gc_collect(f.thread, GC_COLLECT_FULL);
		gc_stats(f.heap, &again);
		CHECK_EQ(stats.live_bytes, again.live_bytes);
		CHECK_EQ(!stats.live_bytes, !frame.root.table);
		if (frame.root.table)
			check_table(frame.root.table);
		CHECK_EQ(f.heap->major.phase, GCPROF_PHASE_SCANNING);
		frame.root.table = make_table(&f);
		check_table(frame.root.table);
		FIXTURE_END(f, frame);
	}
}

TEST(gc_steps_find_every_dead_sample)
{
	struct gc_options options = step_options();
	struct fixture f;

	options.sampling.always_sample = 1;
	options.sampling.fixed_stride = 1;
	options.sampling.period = 1;
	options.sampling.ceiling = UINT64_MAX;
	probe_observer = observe;
	fixture_open(&f, &options);
	GC_FRAME(f.thread, frame, 0, struct cells * table;);
	frame.root.table = make_table(&f);
	churn_table(&f, &frame.root.table, 4000);
	CHECK(n_died_old > 100);
	frame.root.table = NULL;
	gc_collect(f.thread, GC_COLLECT_FULL);
	CHECK_EQ(f.heap->sampled_old.count, 0);
	FIXTURE_END(f, frame);
}

/* The work of a step does not depend on what there is in all. */
TEST(gc_steps_are_as_long_in_a_large_heap)
{
	struct gc_options options = step_options();
	uint64_t steps[2];

	for (int large = 0; large < 2; large++) {
		struct gc_stats before, after;
		struct fixture f;

		options.min_heap = large ? 8 << 20 : 1 << 20;
		fixture_open(&f, &options);
		GC_FRAME(f.thread, frame, 0, struct node * list;);
		/* Live data up to the threshold, and then garbage until a cycle is over. */
		gc_stats(f.heap, &before);
		do {
			struct node *node = GC_NEW(f.thread, f.node, struct node);

			gc_write(f.thread, node, &node->left, frame.root.list);
			frame.root.list = node;
		} while (f.heap->major.phase == GCPROF_PHASE_SCANNING);
		while (f.heap->major.phase != GCPROF_PHASE_SCANNING)
			gc_alloc_array(f.thread, f.bytes, 100);
		gc_stats(f.heap, &after);
		CHECK_EQ(after.full_collections, before.full_collections + 1);
		steps[large] = after.steps - before.steps;
		FIXTURE_END(f, frame);
	}
	/* Eight times the heap takes about eight times the steps. */
	CHECK(steps[1] > 5 * steps[0]);
	CHECK(steps[1] < 12 * steps[0]);
}

TEST(gc_steps_trace_large_arrays_in_pieces)
{
	struct gc_options options = step_options();
	enum { N = 60000 };
	struct fixture f;

	fixture_open(&f, &options);
	GC_FRAME(f.thread, frame, 0, struct cells * array;);
	frame.root.array = gc_alloc_array(f.thread, f.cells, N);
	for (uint64_t i = 0; i < 20 * N; i++) {
		struct node *node = GC_NEW(f.thread, f.node, struct node);

		node->value = i % N;
		if (i < N || i % 16 == 0)
			gc_array_write(f.thread, frame.root.array, frame.root.array->items, i % N,
				       node);
	}
	CHECK(f.heap->stats.full_collections >= 2);
	CHECK(f.heap->stats.steps > 100);
	for (uint64_t i = 0; i < N; i++)
		CHECK_EQ(((struct node *)frame.root.array->items[i])->value, i);
	FIXTURE_END(f, frame);
}

/* A young large array becomes gray, but the young objects in it become black: what these refer to
 * must not stay white. */
TEST(gc_steps_mark_what_a_young_large_array_leads_to)
{
	struct gc_options options = step_options();
	struct cells *group;
	struct fixture f;

	options.min_heap = 1 << 30; /* marking begins when it is told to */
	fixture_open(&f, &options);
	GC_FRAME(f.thread, frame, 0, struct cells * table; struct cells * large;
		 struct node * hidden; struct node * young;);
	frame.root.table = make_table(&f);
	gc_collect(f.thread, GC_COLLECT_FULL);
	gc_collect_step(f.thread);
	CHECK_EQ(f.heap->major.phase, GCPROF_PHASE_MARKING);
	frame.root.hidden = *slot(frame.root.table, 0, &group);
	gc_write(f.thread, group, &group->items[0], NULL);
	frame.root.large = gc_alloc_array(f.thread, f.cells, options.large_size / sizeof(void *));
	frame.root.young = GC_NEW(f.thread, f.node, struct node);
	frame.root.young->left = frame.root.hidden;
	frame.root.large->items[0] = frame.root.young;
	CHECK(!chunk_is_marked(frame.root.hidden));
	CHECK(nursery_has(&f.heap->nursery, frame.root.young));
	frame.root.young = frame.root.hidden = NULL;
	gc_collect(f.thread, GC_COLLECT_MINOR);
	CHECK(chunk_is_marked(((struct node *)frame.root.large->items[0])->left));
	FIXTURE_END(f, frame);
}

/* Items of three words, the reference in the middle: they straddle the cards' borders. */
struct triple {
	uint64_t before;
	struct node *node;
	uint64_t after;
};

struct triples {
	struct gc_header header;
	void *fixed;
	uint64_t length;
	struct triple items[];
};

TEST(gc_cards_find_every_store)
{
	static const uint32_t fixed[] = {offsetof(struct triples, fixed)};
	static const uint32_t items[] = {offsetof(struct triple, node)};
	struct gc_type_desc desc = {.name = "triples",
				    .size = sizeof(struct triples),
				    .item_size = sizeof(struct triple),
				    .length_offset = offsetof(struct triples, length),
				    .pointers = fixed,
				    .n_pointers = 1,
				    .item_pointers = items,
				    .n_item_pointers = 1};
	struct gc_options options = step_options();
	uint64_t random = test_seed();
	static uint64_t expected[7001];
	enum { N = 7001 };
	struct fixture f;
	gc_type type;

	fixture_open(&f, &options);
	CHECK_EQ(gc_type_register(f.heap, &desc, &type), 0);
	GC_FRAME(f.thread, frame, 0, struct triples * array;);
	frame.root.array = gc_alloc_array(f.thread, type, N);
	gc_collect(f.thread, GC_COLLECT_MINOR);
	for (uint64_t i = 1; i < 100000; i++) {
		struct node *node = GC_NEW(f.thread, f.node, struct node);
		uint64_t at = test_random(&random) % N;

		node->value = i;
		expected[at] = i;
		gc_write(f.thread, frame.root.array, &frame.root.array->items[at].node, node);
		if (i % 1000 == 0)
			gc_write(f.thread, frame.root.array, &frame.root.array->fixed, node);
	}
	CHECK(f.heap->stats.minor_collections > 40);
	/* And no more than every store: behind a minor collection all are clean. */
	gc_collect(f.thread, GC_COLLECT_MINOR);
	for (uint64_t i = 0; i < N; i++)
		CHECK(!cards_is_dirty(&frame.root.array->header, &frame.root.array->items[i]));
	CHECK_EQ(((struct node *)frame.root.array->fixed)->value, 99000);
	for (uint64_t i = 0; i < N; i++)
		CHECK_EQ(frame.root.array->items[i].node ? frame.root.array->items[i].node->value
							 : 0,
			 expected[i]);
	FIXTURE_END(f, frame);
}

TEST(gc_array_copy_remembers_all_that_it_copied)
{
	struct gc_options options = step_options();
	uint64_t random = test_seed();
	enum { N = 5000, PART = 300 };
	struct fixture f;

	fixture_open(&f, &options);
	GC_FRAME(f.thread, frame, 0, struct cells * large; struct cells * small;
		 struct cells * from;);
	frame.root.large = gc_alloc_array(f.thread, f.cells, N);
	frame.root.small = gc_alloc_array(f.thread, f.cells, PART);
	gc_collect(f.thread, GC_COLLECT_MINOR);
	for (uint64_t i = 1; i < 500; i++) {
		uint64_t at = test_random(&random) % (N - PART), n = test_random(&random) % PART;

		frame.root.from = gc_alloc_array(f.thread, f.cells, PART);
		for (uint64_t k = 0; k < n; k++) {
			struct node *node = GC_NEW(f.thread, f.node, struct node);

			node->value = i * PART + k;
			gc_write(f.thread, frame.root.from, &frame.root.from->items[k], node);
		}
		gc_array_copy(f.thread, frame.root.large, &frame.root.large->items[at],
			      frame.root.from->items, n * sizeof(void *));
		gc_array_copy(f.thread, frame.root.small, frame.root.small->items,
			      frame.root.from->items, n * sizeof(void *));
		frame.root.from = NULL;
		gc_collect(f.thread, GC_COLLECT_MINOR);
		for (uint64_t k = 0; k < n; k++) {
			struct node *node = frame.root.large->items[at + k];

			CHECK_EQ(node->value, i * PART + k);
			CHECK(frame.root.small->items[k] == node);
		}
	}
	FIXTURE_END(f, frame);
}

TEST(gc_large_mappings_are_used_again_and_zero)
{
	struct gc_options options = step_options();
	struct fixture f;

	fixture_open(&f, &options);
	for (uint64_t i = 0; i < 300; i++) {
		uint64_t length = 20000 + i % 7 * 500;
		struct bytes *bytes = gc_alloc_array(f.thread, f.bytes, length);

		CHECK_EQ(bytes->length, length);
		for (uint64_t n = 0; n < length; n++)
			CHECK_EQ(bytes->items[n], 0);
		memset(bytes->items, 0xff, length);
	}
	gc_collect(f.thread, GC_COLLECT_MINOR);
	CHECK(f.heap->large.spare_bytes > 0);
	CHECK(f.heap->large.spare_bytes <= f.heap->options.nursery_size);
	gc_collect(f.thread, GC_COLLECT_FULL);
	CHECK_EQ(f.heap->large.spare_bytes, 0);
	fixture_close(&f);
}

TEST(gc_empty_arenas_are_given_back_and_taken_again)
{
	enum { N = 600000 };
	struct gc_options options = step_options();
	struct gc_stats full, empty, again;
	struct fixture f;

	fixture_open(&f, &options);
	GC_FRAME(f.thread, frame, 0, struct node * list;);
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < N; i++) {
			struct node *node = GC_NEW(f.thread, f.node, struct node);

			gc_write(f.thread, node, &node->left, frame.root.list);
			frame.root.list = node;
		}
		gc_stats(f.heap, round ? &again : &full);
		frame.root.list = NULL;
		gc_collect(f.thread, GC_COLLECT_FULL);
		gc_stats(f.heap, &empty);
		/* Four arenas, and what the smallest heap needs. */
		CHECK(empty.arena_bytes <= 5 << 19);
	}
	CHECK(full.arena_bytes >= N * sizeof(struct node));
	CHECK(again.arena_bytes <= full.arena_bytes);
	FIXTURE_END(f, frame);
}
