// SPDX-License-Identifier: BSD-2-Clause
/* gc_bag.c: pins and global roots, as many as an embedder may have, are found at once. */
#include "gc_test.h"

enum { MANY = 100000 };

static size_t times_of(const struct gc_bag *bag, const void *word)
{
	for (size_t i = 0; i < bag->count; i++)
		if (bag->words[i].word == word)
			return bag->words[i].times;
	return 0;
}

TEST(gc_bag_counts_what_was_put_in)
{
	enum { WORDS = 600 };
	uint64_t words[WORDS], seed = test_seed();
	size_t model[WORDS] = {0}, different;
	struct gc_bag bag = {0};

	bag_remove(&bag, words);
	for (int i = 0; i < 60000; i++) {
		size_t at = test_random(&seed) % WORDS;

		/* It grows, and shrinks to nothing now and then. */
		if (test_random(&seed) % 1000 < (i / 3000 % 2 ? 300u : 700u)) {
			bag_add(&bag, &words[at]);
			model[at]++;
		} else {
			bag_remove(&bag, &words[at]);
			model[at] -= model[at] != 0;
		}
		if (i % 100)
			continue;
		different = 0;
		for (at = 0; at < WORDS; at++) {
			different += model[at] != 0;
			CHECK_EQ(times_of(&bag, &words[at]), model[at]);
		}
		CHECK_EQ(bag.count, different);
	}
	for (size_t at = 0; at < WORDS; at++)
		while (model[at]--)
			bag_remove(&bag, &words[at]);
	CHECK_EQ(bag.count, 0);
	for (size_t i = 0; i < bag.n_places; i++)
		CHECK_EQ(bag.places[i], 0);
	bag_free(&bag);
}

/* The most places in a row that a search may have to look at. */
static size_t longest_search(const struct gc_bag *bag)
{
	size_t longest = 0, run = 0;

	for (size_t i = 0; i < 2 * bag->n_places; i++) {
		run = bag->places[i & (bag->n_places - 1)] ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	return longest;
}

TEST(gc_root_of_many_is_found_at_once)
{
	struct gc_options options = small_options();
	void **roots = calloc(MANY, sizeof(*roots));
	struct gc_stats stats;
	struct fixture f;

	fixture_open(&f, &options);
	for (uint64_t i = 0; i < MANY; i++) {
		CHECK_EQ(gc_root_add(f.heap, &roots[i]), 0);
		roots[i] = new_node(&f, i);
	}
	CHECK(longest_search(&f.heap->roots) < 500);
	gc_collect(f.thread, GC_COLLECT_FULL);
	for (uint64_t i = 0; i < MANY; i++)
		CHECK_EQ(((struct node *)roots[i])->value, i);
	/* The oldest first: what was added last is no nearer than the rest. */
	for (uint64_t i = 0; i < MANY - 10; i++)
		gc_root_remove(f.heap, &roots[i]);
	gc_collect(f.thread, GC_COLLECT_FULL);
	gc_stats(f.heap, &stats);
	CHECK_EQ(stats.live_bytes, 10 * sizeof(struct node));
	for (uint64_t i = MANY - 10; i < MANY; i++)
		CHECK_EQ(((struct node *)roots[i])->value, i);
	fixture_close(&f);
	free(roots);
}

TEST(gc_pin_of_many_is_found_at_once)
{
	struct gc_options options = small_options();
	struct node **pinned = calloc(MANY, sizeof(*pinned));
	struct gc_stats stats;
	struct fixture f;

	fixture_open(&f, &options);
	GC_FRAME(f.thread, frame, 0, struct node * list; struct node * node;);
	frame.root.list = make_list(&f, MANY);
	gc_collect(f.thread, GC_COLLECT_MINOR);
	frame.root.node = frame.root.list;
	for (int i = 0; i < MANY; i++, frame.root.node = frame.root.node->left) {
		pinned[i] = frame.root.node;
		CHECK_EQ(gc_pin(f.thread, (void **)&frame.root.node), 0);
	}
	frame.root.list = NULL;
	CHECK(longest_search(&f.heap->pins) < 500);
	/* The oldest first. Each refers to the next one: what is left holds itself. */
	for (int i = 0; i < MANY - 10; i++)
		gc_unpin(f.thread, pinned[i]);
	gc_collect(f.thread, GC_COLLECT_FULL);
	gc_stats(f.heap, &stats);
	CHECK_EQ(stats.live_bytes, 10 * sizeof(struct node));
	for (int i = MANY - 10; i < MANY; i++)
		CHECK_EQ(pinned[i]->value, MANY - i);
	GC_FRAME_END(f.thread, frame);
	fixture_close(&f);
	free(pinned);
}
