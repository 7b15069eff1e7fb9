/* SPDX-License-Identifier: BSD-2-Clause */
/* gc_endings.c: tests of what ephemerons and ordered finalizers cost, in things visited. */
#include "gc_test.h"

/* N: many steps' worth, see major.c. */
enum { N = 6000, A_STEP = 1000, YOUNG = 500 };

/* Numbers 0 to n - 1 in an order that is neither up nor down. */
static uint64_t shuffled(uint64_t i, uint64_t n)
{
	return i * 7 % n;
}

/* Nodes 0 to n, the table's items. */
static void make_nodes(struct fixture *f, struct cells **table, uint64_t n)
{
	*table = gc_alloc_array(f->thread, f->cells, n + 1);
	for (uint64_t i = 0; i <= n; i++) {
		struct node *node = new_node(f, i);

		gc_array_write(f->thread, *table, (*table)->items, i, node);
	}
}

/* A chain: the value of each pair is the key of the next one. Made in the order that is worst. */
static void make_chain(struct fixture *f, struct cells *table, struct gc_weak **pairs, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		uint64_t at = shuffled(n - 1 - i, n);

		CHECK_EQ(gc_weak_create(f->thread, table->items[at], table->items[at + 1],
					&pairs[at]),
			 0);
	}
}

static void check_chain(struct gc_weak **pairs, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		CHECK_EQ(((struct node *)gc_weak_get(pairs[i]))->value, i);
		CHECK_EQ(((struct node *)gc_weak_value(pairs[i]))->value, i + 1);
	}
}

static void destroy_all(struct fixture *f, struct gc_weak **pairs, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		gc_weak_destroy(f->thread, pairs[i]);
}

/* Steps through a major collection; returns how often a pair was visited, and the most in a step.
 */
static uint64_t step_through(struct fixture *f, uint64_t *most)
{
	const uint64_t *visits = &f->heap->weak.visits;
	uint64_t begin = *visits, before;
	int more = 1;

	for (*most = 0; more;) {
		before = *visits;
		more = gc_collect_step(f->thread);
		if (*visits - before > *most)
			*most = *visits - before;
	}
	return *visits - begin;
}

TEST(gc_chain_of_ephemerons_takes_two_visits_of_each)
{
	struct gc_options options = small_options();
	static struct gc_weak *pairs[N];
	uint64_t begin, most;
	struct fixture f;

	fixture_open(&f, &options);
	GC_FRAME(f.thread, frame, 0, struct cells * table; struct node * first;);
	make_nodes(&f, &frame.root.table, N);
	gc_collect(f.thread, GC_COLLECT_FULL);
	make_chain(&f, frame.root.table, pairs, N);
	gc_collect(f.thread, GC_COLLECT_MINOR);
	frame.root.first = frame.root.table->items[0];
	frame.root.table = NULL;
	CHECK(step_through(&f, &most) <= 2 * N);
	CHECK(most <= 4 * A_STEP);
	check_chain(pairs, N);
	begin = f.heap->weak.visits;
	gc_collect(f.thread, GC_COLLECT_FULL);
	CHECK(f.heap->weak.visits - begin <= 2 * N);
	check_chain(pairs, N);
	frame.root.first = NULL;
	CHECK(step_through(&f, &most) <= 2 * N);
	CHECK(most <= A_STEP);
	for (uint64_t i = 0; i < N; i++)
		CHECK(!gc_weak_get(pairs[i]) && !gc_weak_value(pairs[i]));
	destroy_all(&f, pairs, N);
	FIXTURE_END(f, frame);
}

/* All within one nursery, in the order that takes most rounds through the pairs. */
TEST(gc_chain_of_young_ephemerons_takes_a_bounded_number_of_visits)
{
	struct gc_options options = small_options();
	static struct gc_weak *pairs[YOUNG];
	struct fixture f;
	uint64_t begin;

	fixture_open(&f, &options);
	GC_FRAME(f.thread, frame, 0, struct cells * table; struct node * first;);
	make_nodes(&f, &frame.root.table, YOUNG);
	make_chain(&f, frame.root.table, pairs, YOUNG);
	frame.root.first = frame.root.table->items[0];
	frame.root.table = NULL;
	begin = f.heap->weak.visits;
	gc_collect(f.thread, GC_COLLECT_MINOR);
	CHECK(f.heap->weak.visits - begin <= 20 * YOUNG);
	check_chain(pairs, YOUNG);
	gc_collect(f.thread, GC_COLLECT_FULL);
	check_chain(pairs, YOUNG);
	frame.root.first = NULL;
	gc_collect(f.thread, GC_COLLECT_FULL);
	for (uint64_t i = 0; i < YOUNG; i++)
		CHECK(!gc_weak_get(pairs[i]));
	destroy_all(&f, pairs, YOUNG);
	FIXTURE_END(f, frame);
}

TEST(gc_many_ephemerons_of_one_key_have_their_turn_in_steps)
{
	struct gc_options options = small_options();
	static struct gc_weak *pairs[N];
	struct gc_weak *to_key;
	struct fixture f;
	uint64_t most;

	fixture_open(&f, &options);
	GC_FRAME(f.thread, frame, 0, struct cells * table; struct node * first; struct node * key;);
	make_nodes(&f, &frame.root.table, N);
	frame.root.first = new_node(&f, 0);
	frame.root.key = new_node(&f, 1);
	gc_collect(f.thread, GC_COLLECT_FULL);
	for (uint64_t i = 0; i < N; i++)
		CHECK_EQ(gc_weak_create(f.thread, frame.root.key, frame.root.table->items[i],
					&pairs[i]),
			 0);
	/* Behind the others, so that they wait when the key becomes known to live. */
	CHECK_EQ(gc_weak_create(f.thread, frame.root.first, frame.root.key, &to_key), 0);
	gc_collect(f.thread, GC_COLLECT_MINOR);
	frame.root.key = NULL;
	frame.root.table = NULL;
	CHECK(step_through(&f, &most) <= 2 * N + 2);
	CHECK(most <= 4 * A_STEP);
	for (uint64_t i = 0; i < N; i++)
		CHECK_EQ(((struct node *)gc_weak_value(pairs[i]))->value, i);
	gc_weak_destroy(f.thread, to_key);
	destroy_all(&f, pairs, N);
	gc_collect(f.thread, GC_COLLECT_FULL);
	CHECK_EQ(f.heap->weak.all.count, 0);
	FIXTURE_END(f, frame);
}

static struct gc_weak *random_pairs[N];

/* Some get new values, some are made anew. */
static void change_pairs(struct fixture *f, struct cells *table, uint64_t round)
{
	for (uint64_t i = round % 5; i < N; i += 50) {
		struct gc_weak **pair = &random_pairs[shuffled(i, N)];
		struct node *node;

		if (i % 3 == 0) {
			gc_weak_destroy(f->thread, *pair);
			CHECK_EQ(gc_weak_create(f->thread, table->items[i], NULL, pair), 0);
		}
		node = new_node(f, i);
		gc_weak_set_value(f->thread, *pair, node);
		if (gc_weak_get(*pair))
			CHECK_EQ(((struct node *)gc_weak_value(*pair))->value, i);
	}
}

/* At any moment of marking; the heap check knows what must be so then. */
TEST(gc_ephemerons_change_while_others_wait)
{
	struct gc_options options = small_options();
	struct fixture f;

	fixture_open(&f, &options);
	GC_FRAME(f.thread, frame, 0, struct cells * table;);
	make_nodes(&f, &frame.root.table, N);
	gc_collect(f.thread, GC_COLLECT_FULL);
	make_chain(&f, frame.root.table, random_pairs, N);
	for (uint64_t round = 0; round < 40; round++) {
		for (uint64_t i = round % 11; i < N; i += 11) {
			struct node *node = new_node(&f, i);

			gc_array_write(f.thread, frame.root.table, frame.root.table->items, i,
				       node);
		}
		gc_collect_step(f.thread);
		change_pairs(&f, frame.root.table, round);
		if (round % 13 == 12)
			gc_collect(f.thread, GC_COLLECT_FULL);
	}
	destroy_all(&f, random_pairs, N);
	gc_collect(f.thread, GC_COLLECT_FULL);
	CHECK_EQ(f.heap->weak.all.count, 0);
	FIXTURE_END(f, frame);
}

/* A pair that waits is destroyed, and the next one made for another key that is unmarked as well.
 * The heap check knows by which key it must be found. */
TEST(gc_pairs_that_wait_are_not_used_again)
{
	struct gc_options options = small_options();
	struct gc_weak *first, *second, *other;
	struct fixture f;

	fixture_open(&f, &options);
	GC_FRAME(f.thread, frame, 0, struct node * keys[2]; struct node * value;);
	frame.root.keys[0] = new_node(&f, 1);
	frame.root.keys[1] = new_node(&f, 2);
	frame.root.value = new_node(&f, 3);
	CHECK_EQ(gc_weak_create(f.thread, frame.root.keys[0], frame.root.value, &first), 0);
	CHECK_EQ(gc_weak_create(f.thread, frame.root.keys[1], NULL, &other), 0);
	gc_collect(f.thread, GC_COLLECT_FULL);
	memset(&frame.root, 0, sizeof(frame.root));
	CHECK(gc_collect_step(f.thread));
	while (pairs_to_walk(f.heap))
		CHECK(gc_collect_step(f.thread));
	CHECK(first->waits_for);
	gc_weak_destroy(f.thread, first);
	frame.root.value = new_node(&f, 4);
	CHECK_EQ(gc_weak_create(f.thread, gc_weak_get(other), frame.root.value, &second), 0);
	gc_collect(f.thread, GC_COLLECT_MINOR);
	CHECK(!gc_weak_get(other) && !gc_weak_get(second) && !gc_weak_value(second));
	gc_weak_destroy(f.thread, second);
	gc_weak_destroy(f.thread, other);
	FIXTURE_END(f, frame);
}

static uint32_t n_finalized[N];

static void finalize(struct gc_thread *thread, void *object, void *context)
{
	(void)thread;
	CHECK(context == n_finalized);
	n_finalized[((struct node *)object)->value]++;
}

/* Pairs of dead objects refer to each other, the rest of the first half lives. */
static void add_ordered(struct fixture *f, struct cells *table)
{
	for (uint64_t i = 0; i < N; i++) {
		struct node *node = table->items[i];

		gc_write(f->thread, node, &node->left, table->items[i ^ 1]);
		CHECK_EQ(gc_finalizer_add(f->thread, node, GC_FINALIZER_ORDERED, finalize,
					  n_finalized),
			 0);
	}
	gc_collect(f->thread, GC_COLLECT_MINOR);
	for (uint64_t i = N / 2; i < N; i++)
		table->items[i] = NULL;
}

/* Of each two that refer to each other the second one, which was added last; then the other. */
static void check_ordered(const struct cells *table, uint32_t other)
{
	for (uint64_t i = 0; i < N; i++) {
		CHECK_EQ(n_finalized[i], i < N / 2 ? 0 : i % 2 ? 1 : other);
		if (i < N / 2)
			CHECK_EQ(((struct node *)table->items[i])->value, i);
	}
}

static size_t count_finalizers(const struct gc_finalizer *entry)
{
	size_t n = 0;

	/* The link is its first member, private to finalize.c. */
	for (; entry; memcpy(&entry, entry, sizeof(entry)))
		n++;
	return n;
}

static size_t count_ordered(const struct fixture *f)
{
	const struct gc_final *final = &f->heap->final;

	return count_finalizers(final->young[GC_FINALIZER_ORDERED]) +
	       count_finalizers(final->old[GC_FINALIZER_ORDERED]);
}

TEST(gc_ordered_finalizers_have_their_turn_in_steps)
{
	struct gc_options options = small_options();
	struct fixture f;
	unsigned steps = 0;

	fixture_open(&f, &options);
	GC_FRAME(f.thread, frame, 0, struct cells * table;);
	make_nodes(&f, &frame.root.table, N - 1);
	gc_collect(f.thread, GC_COLLECT_FULL);
	add_ordered(&f, frame.root.table);
	while (gc_collect_step(f.thread)) {
		steps += f.heap->major.stage == AFTER_MARK_ORDERED;
		/* New ones come before the others, and live. */
		if (f.heap->major.stage == AFTER_MARK_ORDERED)
			gc_finalizer_add(f.thread, frame.root.table->items[0], GC_FINALIZER_ORDERED,
					 finalize, n_finalized);
	}
	CHECK(steps >= N / A_STEP - 1);
	check_ordered(frame.root.table, 0);
	CHECK_EQ(count_ordered(&f), N / 2 + N / 4 + steps);
	gc_collect(f.thread, GC_COLLECT_FULL);
	check_ordered(frame.root.table, 1);
	FIXTURE_END(f, frame);
}

TEST(gc_full_collections_come_at_any_step_of_ordered_finalizers)
{
	struct gc_options options = small_options();
	struct fixture f;

	for (unsigned steps = 1; steps < N / A_STEP; steps++) {
		fixture_open(&f, &options);
		GC_FRAME(f.thread, frame, 0, struct cells * table;);
		memset(n_finalized, 0, sizeof(n_finalized));
		make_nodes(&f, &frame.root.table, N - 1);
		gc_collect(f.thread, GC_COLLECT_FULL);
		add_ordered(&f, frame.root.table);
		while (f.heap->major.stage != AFTER_MARK_ORDERED)
			CHECK(gc_collect_step(f.thread));
		for (unsigned i = 0; i < steps; i++)
			CHECK(gc_collect_step(f.thread));
		gc_collect(f.thread, GC_COLLECT_FULL);
		gc_collect(f.thread, GC_COLLECT_FULL);
		check_ordered(frame.root.table, 1);
		CHECK_EQ(count_ordered(&f), N / 2);
		FIXTURE_END(f, frame);
	}
}

/* Few at a time, first without major collections and then in each of their phases: those that were
 * destroyed are used again, and what is in use keeps its key and value. */
TEST(gc_weak_references_that_come_and_go_need_memory_for_few)
{
	enum { FEW = 50, TURNS = 40000 };
	struct gc_options options = small_options();
	struct gc_weak *weak[FEW] = {NULL};
	uint64_t random = test_seed(), number[FEW] = {0};
	struct fixture f;

	fixture_open(&f, &options);
	GC_FRAME(f.thread, frame, 0, struct cells * keys; struct node * value;);
	frame.root.keys = gc_alloc_array(f.thread, f.cells, FEW);
	for (uint64_t turn = 0; turn < TURNS; turn++) {
		uint64_t at = test_random(&random) % FEW;
		void *key = weak[at] ? gc_weak_get(weak[at]) : NULL;
		struct node *value = weak[at] ? gc_weak_value(weak[at]) : NULL;

		CHECK(key == frame.root.keys->items[at]);
		CHECK_EQ(value ? value->value : 0, number[at]);
		gc_weak_destroy(f.thread, weak[at]);
		weak[at] = NULL;
		number[at] = turn % 3;
		frame.root.value = turn % 3 ? new_node(&f, turn % 3) : NULL;
		key = turn % 5 ? new_node(&f, turn) : NULL;
		gc_array_write(f.thread, frame.root.keys, frame.root.keys->items, at, key);
		if (key)
			CHECK_EQ(gc_weak_create(f.thread, key, frame.root.value, &weak[at]), 0);
		else
			number[at] = 0;
		frame.root.value = NULL;
		if (turn > TURNS / 2 && turn % 64 == 0)
			gc_collect_step(f.thread);
		/* A cycle's worth is not yet freed. */
		CHECK(f.heap->weak.all.count <= 20 * FEW);
		CHECK(f.heap->weak.pairs.count <= 20 * FEW);
		CHECK(f.heap->weak.young.count <= 20 * FEW);
	}
	destroy_all(&f, weak, FEW);
	gc_collect(f.thread, GC_COLLECT_FULL);
	gc_collect(f.thread, GC_COLLECT_FULL);
	CHECK_EQ(f.heap->weak.all.count, 0);
	FIXTURE_END(f, frame);
}

static void watch(struct fixture *f, int kind, struct node *node)
{
	struct gc_weak *weak;

	if (kind < 2)
		CHECK_EQ(gc_weak_create(f->thread, node, kind ? node : NULL, &weak), 0);
	else
		CHECK_EQ(gc_finalizer_add(f->thread, node,
					  kind == 2 ? GC_FINALIZER_LIGHT : GC_FINALIZER_ORDERED,
					  finalize, n_finalized),
			 0);
}

static size_t count_new(const struct gc_heap *heap)
{
	return heap->weak.young.count + count_finalizers(heap->final.young[GC_FINALIZER_LIGHT]) +
	       count_finalizers(heap->final.young[GC_FINALIZER_ORDERED]);
}

/* A collection goes through those that came since the last one: of many there are several. */
TEST(gc_collections_come_for_new_weak_references_and_finalizers)
{
	enum {
		MANY = 30000,
		NURSERY = 1 << 20,
		NS = 60,
		A_BUFFER = (4 << 10) / sizeof(struct node)
	};
	struct gc_options options = small_options();
	struct fixture f;

	options.nursery_size = NURSERY;
	for (int kind = 0; kind < 4; kind++) {
		fixture_open(&f, &options);
		for (int i = 0; i < MANY; i++) {
			watch(&f, kind, new_node(&f, (uint64_t)i % N));
			CHECK(i % 64 || count_new(f.heap) <= NURSERY / 9 / NS + 2 * A_BUFFER);
		}
		fixture_close(&f);
	}
}

TEST(gc_collections_do_not_visit_weak_references_to_old_objects)
{
	struct gc_options options = small_options();
	struct gc_weak *weak;
	struct fixture f;

	fixture_open(&f, &options);
	GC_FRAME(f.thread, frame, 0, struct node * old; struct bytes * large;);
	frame.root.old = new_node(&f, 1);
	frame.root.large = gc_alloc_array(f.thread, f.bytes, 100000);
	CHECK_EQ(gc_weak_create(f.thread, frame.root.large, NULL, &weak), 0);
	CHECK_EQ(f.heap->weak.young.count, 1);
	gc_collect(f.thread, GC_COLLECT_MINOR);
	CHECK_EQ(f.heap->weak.young.count, 0);
	gc_weak_set_value(f.thread, weak, frame.root.old);
	watch(&f, 0, frame.root.old);
	watch(&f, 1, frame.root.old);
	watch(&f, 2, frame.root.old);
	CHECK_EQ(f.heap->weak.young.count, 0);
	CHECK(!f.heap->final.young[GC_FINALIZER_LIGHT]);
	CHECK_EQ(f.heap->nursery.watched, 0);
	gc_weak_set_value(f.thread, weak, new_node(&f, 2));
	CHECK_EQ(f.heap->weak.young.count, 1);
	gc_collect(f.thread, GC_COLLECT_FULL);
	CHECK_EQ(((struct node *)gc_weak_value(weak))->value, 2);
	frame.root.old = NULL;
	gc_collect(f.thread, GC_COLLECT_FULL);
	CHECK_EQ(n_finalized[1], 1);
	FIXTURE_END(f, frame);
}
