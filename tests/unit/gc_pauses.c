/* SPDX-License-Identifier: BSD-2-Clause */
/* gc_pauses.c: tests of what a pause may not depend on: how much is old, and was written to. */
#include "gc_test.h"

enum { N = 20000 };

/* Turns the list round, with nothing but stores of old references into old objects. */
static struct node *reverse(struct fixture *f, struct node *list)
{
	struct node *done = NULL, *next;

	for (; list; list = next) {
		next = list->left;
		gc_write(f->thread, list, &list->left, done);
		done = list;
	}
	return done;
}

static void check_list(const struct node *list, uint64_t first, int64_t step)
{
	for (uint64_t i = 0; i < N; i++, list = list->left)
		CHECK_EQ(list->value, (uint64_t)((int64_t)first + step * (int64_t)i));
	CHECK(!list);
}

TEST(gc_stores_of_old_references_are_not_remembered)
{
	struct gc_options options = small_options();
	struct node *young;
	struct fixture f;

	fixture_open(&f, &options);
	GC_FRAME(f.thread, frame, 0, struct node * list; struct cells * large;);
	frame.root.list = make_old_list(&f, N);
	frame.root.list = reverse(&f, frame.root.list);
	CHECK_EQ(f.thread->remembered.count, 0);
	/* Young ones are, once an object, be they in the nursery or large. */
	young = GC_NEW(f.thread, f.node, struct node);
	young->value = 7;
	gc_write(f.thread, frame.root.list, &frame.root.list->right, young);
	gc_write(f.thread, frame.root.list, &frame.root.list->right, young);
	CHECK_EQ(f.thread->remembered.count, 1);
	frame.root.large = gc_alloc_array(f.thread, f.cells, 10000);
	gc_write(f.thread, frame.root.list->left, &frame.root.list->left->right, frame.root.large);
	frame.root.large = NULL;
	CHECK_EQ(f.thread->remembered.count, 2);
	gc_collect(f.thread, GC_COLLECT_MINOR);
	CHECK_EQ(((struct node *)frame.root.list->right)->value, 7);
	CHECK_EQ(((struct cells *)frame.root.list->left->right)->length, 10000);
	check_list(frame.root.list, 1, 1);
	FIXTURE_END(f, frame);
}

/* What a store hides from the marking becomes gray with it, in any phase of any cycle. */
TEST(gc_stores_while_marking_hide_nothing)
{
	struct gc_options options = small_options();
	uint64_t shaded = 0, cycles;
	struct fixture f;

	options.growth = 1.2;
	fixture_open(&f, &options);
	GC_FRAME(f.thread, frame, 0, struct node * list;);
	frame.root.list = make_old_list(&f, N);
	cycles = f.heap->stats.full_collections;
	for (int i = 1; f.heap->stats.full_collections < cycles + 4; i++) {
		CHECK(i < 1000000);
		for (int k = 0; k < 40; k++)
			gc_alloc_array(f.thread, f.bytes, 100);
		gc_collect_step(f.thread);
		frame.root.list = reverse(&f, frame.root.list);
		shaded += f.thread->shaded.count;
		if (i % 2)
			check_list(frame.root.list, 1, 1);
		else
			check_list(frame.root.list, N, -1);
	}
	CHECK(shaded > N);
	FIXTURE_END(f, frame);
}

/* A large array that survives as each minor collection comes would put off the end of marking. */
TEST(gc_marking_ends_though_each_minor_collection_finds_a_large_array)
{
	enum { LENGTH = 20000, ROUNDS = GC_CHECK ? 300 : 1000 };
	struct gc_options options = small_options();
	uint64_t seen, tries = 0;
	struct fixture f;

	options.min_heap = 4 << 20;
	fixture_open(&f, &options);
	GC_FRAME(f.thread, frame, 0, struct node * list; struct cells * array;);
	frame.root.list = make_old_list(&f, N);
	for (uint64_t i = 0; i < ROUNDS; i++) {
		frame.root.array = gc_alloc_array(f.thread, f.cells, LENGTH);
		for (uint64_t k = 0; k < LENGTH; k++)
			gc_write(f.thread, frame.root.array, &frame.root.array->items[k],
				 frame.root.list);
		seen = f.heap->stats.minor_collections;
		while (f.heap->stats.minor_collections == seen)
			gc_alloc_array(f.thread, f.bytes, 100);
		tries += f.heap->major.tries;
		CHECK(f.heap->large.bytes + f.heap->old.bytes < 2 * f.heap->threshold);
	}
	CHECK(tries > 0);
	CHECK(f.heap->stats.full_collections >= ROUNDS / 50);
	check_list(frame.root.list, N, -1);
	FIXTURE_END(f, frame);
}

/* Spans are searched for where they may fit only, and found wherever they do. */
TEST(gc_spans_fill_the_holes_that_sweeping_found)
{
	enum { SPANS = 600, LONG = 15000, SHORT = 6000 };
	struct gc_options options = small_options();
	uint64_t arenas;
	struct fixture f;

	fixture_open(&f, &options);
	GC_FRAME(f.thread, frame, 0, struct cells * table;);
	frame.root.table = gc_alloc_array(f.thread, f.cells, SPANS);
	for (uint64_t i = 0; i < SPANS; i++)
		gc_write(f.thread, frame.root.table, &frame.root.table->items[i],
			 gc_alloc_array(f.thread, f.bytes, LONG));
	gc_collect(f.thread, GC_COLLECT_FULL);
	arenas = old_arena_bytes(&f.heap->old);
	/* Every second one dies; what takes its place is as long, or shorter. */
	for (uint64_t i = 0; i < SPANS; i += 2)
		frame.root.table->items[i] = NULL;
	gc_collect(f.thread, GC_COLLECT_FULL);
	for (uint64_t i = 0; i < SPANS; i += 2)
		gc_write(f.thread, frame.root.table, &frame.root.table->items[i],
			 gc_alloc_array(f.thread, f.bytes, i % 4 ? LONG : SHORT));
	gc_collect(f.thread, GC_COLLECT_MINOR);
	CHECK(old_arena_bytes(&f.heap->old) <= arenas);
	for (uint64_t i = 0; i < SPANS; i++)
		CHECK_EQ(((struct bytes *)frame.root.table->items[i])->length,
			 i % 4 ? LONG : SHORT);
	FIXTURE_END(f, frame);
}

/* The list, longer by so many bytes. */
static struct node *extend(struct fixture *f, struct node *list, uint64_t bytes)
{
	GC_FRAME(f->thread, frame, 0, struct node * list;);
	frame.root.list = list;
	for (uint64_t n = 0; n < bytes; n += sizeof(struct node)) {
		struct node *node = GC_NEW(f->thread, f->node, struct node);

		gc_write(f->thread, node, &node->left, frame.root.list);
		frame.root.list = node;
	}
	list = frame.root.list;
	GC_FRAME_END(f->thread, frame);
	return list;
}

/* Looking at old objects that were written to takes time, too. */
TEST(gc_nursery_is_not_used_whole_when_many_old_objects_were_written_to)
{
	enum { MANY = 50000 };
	struct gc_options options;
	struct gc_stats before, after;
	struct fixture f;

	CHECK_EQ(gc_options_default(&options), 0);
	options.nursery_size = 4 << 20;
	fixture_open(&f, &options);
	GC_FRAME(f.thread, frame, 0, struct node * list; struct node * at;);
	frame.root.list = extend(&f, NULL, MANY * sizeof(struct node));
	gc_collect(f.thread, GC_COLLECT_MINOR);
	gc_stats(f.heap, &before);
	for (frame.root.at = frame.root.list; frame.root.at; frame.root.at = frame.root.at->left) {
		struct node *node = GC_NEW(f.thread, f.node, struct node);

		gc_write(f.thread, frame.root.at, &frame.root.at->right, node);
		CHECK(f.thread->remembered.count < MANY / 4);
	}
	CHECK(MANY * sizeof(struct node) < f.heap->options.nursery_size);
	gc_stats(f.heap, &after);
	CHECK(after.minor_collections - before.minor_collections >= 4);
	FIXTURE_END(f, frame);
}
