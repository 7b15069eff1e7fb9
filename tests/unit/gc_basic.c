/* SPDX-License-Identifier: BSD-2-Clause */
/* gc_basic.c: tests of the collector: objects, arrays, roots, barrier, types, options. */
#include "gc_test.h"

#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

static void check_list(const struct node *list, uint64_t length)
{
	for (; list; list = list->left, length--) {
		CHECK_EQ(list->value, length);
		CHECK(!list->right);
	}
	CHECK_EQ(length, 0);
}

TEST(gc_keeps_a_list_through_many_collections)
{
	struct gc_options options = small_options();
	struct gc_stats stats;
	struct fixture f;

	fixture_open(&f, &options);
	GC_FRAME(f.thread, frame, 0, struct node * list;);
	frame.root.list = make_list(&f, 20000);
	for (int i = 0; i < 20; i++)
		make_list(&f, 5000);
	check_list(frame.root.list, 20000);
	gc_collect(f.thread, GC_COLLECT_FULL);
	check_list(frame.root.list, 20000);
	gc_stats(f.heap, &stats);
	CHECK(stats.minor_collections > 40);
	CHECK(stats.full_collections > 1);
	CHECK_EQ(stats.live_bytes, 20000 * sizeof(struct node));
	CHECK_EQ(stats.allocated_bytes, 120000 * sizeof(struct node));
	frame.root.list = NULL;
	gc_collect(f.thread, GC_COLLECT_FULL);
	gc_stats(f.heap, &stats);
	CHECK_EQ(stats.live_bytes, 0);
	FIXTURE_END(f, frame);
}

TEST(gc_moves_objects_and_updates_their_references)
{
	struct gc_options options = small_options();
	struct fixture f;
	struct node *before;

	fixture_open(&f, &options);
	GC_FRAME(f.thread, frame, 0, struct node * node;);
	frame.root.node = GC_NEW(f.thread, f.node, struct node);
	frame.root.node->left = frame.root.node; /* young: no barrier needed */
	before = frame.root.node;
	gc_collect(f.thread, GC_COLLECT_MINOR);
	CHECK(frame.root.node != before);
	CHECK(frame.root.node->left == frame.root.node);
	before = frame.root.node;
	gc_collect(f.thread, GC_COLLECT_FULL);
	CHECK(frame.root.node == before);
	FIXTURE_END(f, frame);
}

TEST(gc_barrier_finds_young_objects_in_old_ones)
{
	struct gc_options options = small_options();
	struct fixture f;

	fixture_open(&f, &options);
	GC_FRAME(f.thread, frame, 0, struct node * old;);
	frame.root.old = GC_NEW(f.thread, f.node, struct node);
	gc_collect(f.thread, GC_COLLECT_MINOR);
	CHECK(frame.root.old->header.flags & GC_FLAG_TRACK_YOUNG);
	for (uint64_t i = 1; i < 50; i++) {
		struct node *young = GC_NEW(f.thread, f.node, struct node);

		young->value = i;
		gc_write(f.thread, frame.root.old, &frame.root.old->right, young);
		CHECK(!(frame.root.old->header.flags & GC_FLAG_TRACK_YOUNG));
		/* The second store is not remembered again. */
		gc_write(f.thread, frame.root.old, &frame.root.old->left, young);
		CHECK_EQ(f.thread->remembered.count, 1);
		gc_collect(f.thread, i % 7 ? GC_COLLECT_MINOR : GC_COLLECT_FULL);
		CHECK_EQ(f.thread->remembered.count, 0);
		CHECK_EQ(frame.root.old->right->value, i);
		CHECK(frame.root.old->left == frame.root.old->right);
	}
	FIXTURE_END(f, frame);
}

TEST(gc_remembers_writes_of_threads_that_are_gone)
{
	struct gc_options options = small_options();
	struct gc_thread *second;
	struct fixture f;
	void *global = NULL;

	fixture_open(&f, &options);
	CHECK_EQ(gc_root_add(f.heap, &global), 0);
	global = GC_NEW(f.thread, f.node, struct node);
	gc_collect(f.thread, GC_COLLECT_MINOR);
	CHECK_EQ(gc_thread_attach(f.heap, &second), 0);
	gc_blocking_begin(f.thread);
	struct node *young = GC_NEW(second, f.node, struct node);
	young->value = 77;
	gc_write(second, global, &((struct node *)global)->left, young);
	gc_blocking_end(f.thread);
	gc_thread_detach(second);
	gc_collect(f.thread, GC_COLLECT_MINOR);
	CHECK_EQ(((struct node *)global)->left->value, 77);
	fixture_close(&f);
}

TEST(gc_arrays_of_all_sizes_keep_their_content)
{
	struct gc_options options = small_options();
	struct fixture f;
	enum { N = 64 };

	fixture_open(&f, &options);
	GC_FRAME(f.thread, frame, 0, struct cells * all;);
	frame.root.all = gc_alloc_array(f.thread, f.cells, N);
	CHECK_EQ(frame.root.all->length, N);
	for (uint64_t i = 0; i < N; i++) {
		/* From nothing to more than large_size. */
		uint64_t length = i * i * 9;
		struct bytes *bytes = gc_alloc_array(f.thread, f.bytes, length);

		CHECK_EQ(bytes->length, length);
		for (uint64_t n = 0; n < length; n++)
			CHECK_EQ(bytes->items[n], 0);
		memset(bytes->items, (int)i, length);
		gc_write(f.thread, frame.root.all, &frame.root.all->items[i], bytes);
	}
	for (int round = 0; round < 3; round++) {
		gc_collect(f.thread, round ? GC_COLLECT_FULL : GC_COLLECT_MINOR);
		for (uint64_t i = 0; i < N; i++) {
			struct bytes *bytes = frame.root.all->items[i];

			CHECK_EQ(bytes->length, i * i * 9);
			for (uint64_t n = 0; n < bytes->length; n++)
				CHECK_EQ(bytes->items[n], i);
		}
	}
	FIXTURE_END(f, frame);
}

/* A reference to a young object among nothing but NULLs. */
static void keep_one(struct fixture *f, uint64_t length, uint64_t place)
{
	struct node *node;

	GC_FRAME(f->thread, frame, 0, struct cells * table;);
	frame.root.table = gc_alloc_array(f->thread, f->cells, length);
	node = GC_NEW(f->thread, f->node, struct node);
	node->value = place + 1;
	frame.root.table->items[place] = node; /* new: no barrier is needed */
	gc_collect(f->thread, GC_COLLECT_MINOR);
	CHECK(frame.root.table->items[place] != node);
	CHECK_EQ(((struct node *)frame.root.table->items[place])->value, place + 1);
	GC_FRAME_END(f->thread, frame);
}

TEST(gc_new_tables_keep_a_reference_anywhere)
{
	struct gc_options options = small_options();
	uint64_t length = options.large_size / sizeof(void *);
	struct fixture f;

	fixture_open(&f, &options);
	for (uint64_t more = 0; more < 9; more++) {
		for (uint64_t place = 0; place < 20; place++)
			keep_one(&f, length + more, place);
		for (uint64_t back = 1; back < 20; back++)
			keep_one(&f, length + more, length + more - back);
	}
	fixture_close(&f);
}

TEST(gc_large_objects_live_and_die)
{
	struct gc_options options = small_options();
	struct gc_stats stats;
	struct fixture f;
	struct cells *before;

	fixture_open(&f, &options);
	GC_FRAME(f.thread, frame, 0, struct cells * large;);
	frame.root.large = gc_alloc_array(f.thread, f.cells, 100000);
	before = frame.root.large;
	for (uint64_t i = 0; i < 100000; i += 1000) {
		struct node *node = GC_NEW(f.thread, f.node, struct node);

		node->value = i;
		gc_write(f.thread, frame.root.large, &frame.root.large->items[i], node);
	}
	gc_collect(f.thread, GC_COLLECT_FULL);
	CHECK(frame.root.large == before);
	for (uint64_t i = 0; i < 100000; i += 1000)
		CHECK_EQ(((struct node *)frame.root.large->items[i])->value, i);
	/* Garbage goes without anybody asking. */
	for (int i = 0; i < 200; i++)
		gc_alloc_array(f.thread, f.bytes, 100000);
	gc_stats(f.heap, &stats);
	CHECK(stats.large_bytes < 3000000);
	frame.root.large = NULL;
	gc_collect(f.thread, GC_COLLECT_FULL);
	gc_stats(f.heap, &stats);
	CHECK_EQ(stats.large_bytes, 0);
	CHECK_EQ(stats.live_bytes, 0);
	FIXTURE_END(f, frame);
}

TEST(gc_smallest_object_moves)
{
	struct gc_type_desc desc = {.name = "empty", .size = sizeof(struct gc_header)};
	struct gc_options options = small_options();
	struct fixture f;
	gc_type empty;

	fixture_open(&f, &options);
	CHECK_EQ(gc_type_register(f.heap, &desc, &empty), 0);
	GC_FRAME(f.thread, frame, 0, struct gc_header * a; struct gc_header * b;);
	frame.root.a = gc_alloc(f.thread, empty, sizeof(struct gc_header));
	frame.root.b = frame.root.a;
	gc_collect(f.thread, GC_COLLECT_MINOR);
	CHECK(frame.root.a == frame.root.b);
	CHECK_EQ(frame.root.a->type, empty);
	FIXTURE_END(f, frame);
}

TEST(gc_global_roots_hold_until_removed)
{
	struct gc_options options = small_options();
	void *roots[10] = {NULL};
	struct gc_stats stats;
	struct fixture f;

	fixture_open(&f, &options);
	for (int i = 0; i < 10; i++) {
		CHECK_EQ(gc_root_add(f.heap, &roots[i]), 0);
		roots[i] = make_list(&f, 1 + i);
	}
	CHECK_EQ(gc_root_add(f.heap, NULL), -EINVAL);
	gc_collect(f.thread, GC_COLLECT_FULL);
	for (int i = 0; i < 10; i++)
		check_list(roots[i], 1 + i);
	for (int i = 0; i < 10; i += 2)
		gc_root_remove(f.heap, &roots[i]);
	gc_collect(f.thread, GC_COLLECT_FULL);
	for (int i = 1; i < 10; i += 2)
		check_list(roots[i], 1 + i);
	gc_stats(f.heap, &stats);
	/* Of different lengths: it was these and no others. */
	CHECK_EQ(stats.live_bytes, (2 + 4 + 6 + 8 + 10) * sizeof(struct node));
	fixture_close(&f);
}

TEST(gc_types_that_contradict_themselves_are_refused)
{
	static const uint32_t outside[] = {32}, header[] = {0}, crooked[] = {12}, length[] = {24};
	struct gc_type_desc good = {.name = "x", .size = 32};
	struct gc_options options = small_options();
	struct gc_type_desc bad;
	struct fixture f;
	gc_type type;

	fixture_open(&f, &options);
	bad = good;
	bad.name = NULL;
	CHECK_EQ(gc_type_register(f.heap, &bad, &type), -EINVAL);
	bad = good;
	bad.size = 4;
	CHECK_EQ(gc_type_register(f.heap, &bad, &type), -EINVAL);
	CHECK_STR(gc_error(), "type x: 4 is no size for an object");
	bad = good;
	bad.n_pointers = 1;
	CHECK_EQ(gc_type_register(f.heap, &bad, &type), -EINVAL);
	bad.pointers = outside;
	CHECK_EQ(gc_type_register(f.heap, &bad, &type), -EINVAL);
	bad.pointers = header;
	CHECK_EQ(gc_type_register(f.heap, &bad, &type), -EINVAL);
	bad.pointers = crooked;
	CHECK_EQ(gc_type_register(f.heap, &bad, &type), -EINVAL);
	CHECK_STR(gc_error(), "type x: the reference at 12 is not aligned");
	bad = good;
	bad.item_size = 8;
	bad.length_offset = 28;
	CHECK_EQ(gc_type_register(f.heap, &bad, &type), -EINVAL);
	CHECK_STR(gc_error(), "type x: the length at 28 is not aligned");
	bad.length_offset = 32;
	CHECK_EQ(gc_type_register(f.heap, &bad, &type), -EINVAL);
	CHECK_STR(gc_error(), "type x: the length at 32 lies outside");
	bad.length_offset = 24;
	bad.n_pointers = 1;
	bad.pointers = length;
	CHECK_EQ(gc_type_register(f.heap, &bad, &type), -EINVAL);
	CHECK_STR(gc_error(), "type x: at 24 lies a reference and the length");
	bad.n_pointers = 0;
	bad.n_item_pointers = 1;
	bad.item_pointers = outside;
	CHECK_EQ(gc_type_register(f.heap, &bad, &type), -EINVAL);
	bad.item_pointers = header;
	CHECK_EQ(gc_type_register(f.heap, &bad, &type), 0);
	fixture_close(&f);
}

TEST(gc_types_run_out_after_65535)
{
	struct gc_type_desc desc = {.name = "many", .size = 16};
	struct gc_options options = small_options();
	struct fixture f;
	gc_type type = 0;

	fixture_open(&f, &options);
	for (int i = type; i < 65535 - 3; i++)
		CHECK_EQ(gc_type_register(f.heap, &desc, &type), 0);
	CHECK_EQ(type, 65535);
	CHECK_EQ(gc_type_register(f.heap, &desc, &type), -ENOSPC);
	CHECK(gc_alloc(f.thread, 65535, 16));
	fixture_close(&f);
}

struct bad_variable {
	const char *name, *value, *error;
};

TEST(gc_options_explain_nonsense_in_the_environment)
{
	static const struct bad_variable bad[] = {
		{"GCPROF_PERIOD", "12Q", "GCPROF_PERIOD: \"12Q\" is not a size such as 512K"},
		{"GCPROF_PERIOD", "-1", "GCPROF_PERIOD: \"-1\" is not a size such as 512K"},
		{"GCPROF_PERIOD", "1KK", "GCPROF_PERIOD: \"1KK\" is not a size such as 512K"},
		{"GCPROF_PERIOD", "0",
		 "GCPROF_PERIOD: 0 is out of range, from 1 to 1099511627776 bytes"},
		{"GCPROF_PERIOD", "99999999999999999999",
		 "GCPROF_PERIOD: \"99999999999999999999\" is not a size such as 512K"},
		{"GCPROF_PERIOD", "18014398509481984K",
		 "GCPROF_PERIOD: \"18014398509481984K\" is not a size such as 512K"},
		{"GC_NURSERY", "1",
		 "GC_NURSERY: 1 is out of range, from 16384 to 1073741824 bytes"},
		{"GC_INCREMENTAL", "yes", "GC_INCREMENTAL: \"yes\" is not a number"},
		{"GC_INCREMENTAL", "2", "GC_INCREMENTAL: 2 is out of range, from 0 to 1"},
		{"GCPROF_CEILING", "2K", "GCPROF_CEILING: \"2K\" is not a number"},
		{"GCPROF_STRIDE", "wide",
		 "GCPROF_STRIDE: \"wide\" is neither exponential, fixed nor every"},
	};
	struct gc_options options;
	struct gc_heap *heap = NULL;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		setenv(bad[i].name, bad[i].value, 1);
		CHECK_EQ(gc_options_default(&options), -EINVAL);
		CHECK_STR(gc_error(), bad[i].error);
		CHECK_EQ(gc_heap_create(NULL, &heap), -EINVAL);
		CHECK(!heap);
		unsetenv(bad[i].name);
	}
}

TEST(gc_options_come_from_the_environment)
{
	struct gc_options options;

	setenv("GCPROF_PERIOD", "64k", 1);
	setenv("GC_NURSERY", "8M", 1);
	setenv("GC_MIN_HEAP", "1G", 1);
	setenv("GCPROF_CEILING", "0", 1);
	setenv("GCPROF_SEED", "42", 1);
	setenv("GCPROF_STRIDE", "fixed", 1);
	setenv("GC_INCREMENTAL", "0", 1);
	setenv("GC_MAX_HEAP", "2G", 1);
	setenv("GCPROF_BATCH", "0", 1);
	CHECK_EQ(gc_options_default(&options), 0);
	CHECK_EQ(options.sampling.no_batching, 1);
	CHECK_EQ(options.sampling.period, 65536);
	CHECK_EQ(options.nursery_size, 8 << 20);
	CHECK_EQ(options.min_heap, 1 << 30);
	CHECK(options.sampling.ceiling == UINT64_MAX);
	CHECK_EQ(options.sampling.seed, 42);
	CHECK_EQ(options.sampling.fixed_stride, 1);
	CHECK_EQ(options.stop_the_world, 1);
	CHECK_EQ(options.max_heap, UINT64_C(2) << 30);
	setenv("GC_INCREMENTAL", "1", 1);
	setenv("GCPROF_STRIDE", "every", 1);
	CHECK_EQ(gc_options_default(&options), 0);
	CHECK_EQ(options.stop_the_world, 0);
	CHECK_EQ(options.sampling.fixed_stride, 2);
	unsetenv("GC_MIN_HEAP");
	CHECK_EQ(gc_options_default(&options), 0);
	CHECK_EQ(options.min_heap, 28 << 20);
}

TEST(gc_options_out_of_range_are_refused)
{
	struct gc_options options = {.nursery_size = 100};
	struct gc_heap *heap = NULL;

	CHECK_EQ(gc_heap_create(&options, &heap), -EINVAL);
	CHECK_STR(gc_error(), "nursery_size: 100 is out of range, from 16384 to 1073741824");
	options = (struct gc_options){.growth = 1.0};
	CHECK_EQ(gc_heap_create(&options, &heap), -EINVAL);
	CHECK_STR(gc_error(), "growth: 1 is out of range, from 1.05 to 100");
	options = (struct gc_options){.large_size = 1 << 20};
	CHECK_EQ(gc_heap_create(&options, &heap), -EINVAL);
	CHECK(!heap);
	/* All zero is all defaults. */
	options = (struct gc_options){0};
	CHECK_EQ(gc_heap_create(&options, &heap), 0);
	CHECK_EQ(heap->provider->options.period, 512 << 10);
	CHECK_EQ(heap->provider->options.ceiling, 2000);
	gc_heap_destroy(heap);
	gc_heap_destroy(NULL);
}

TEST(gc_codes_have_ids_from_one)
{
	uint32_t first = gc_code("first", "a.lisp", 3);

	CHECK_EQ(first, 1);
	for (uint32_t i = 2; i < 500; i++)
		CHECK_EQ(gc_code("further", NULL, i), i);
}

TEST(gc_memory_is_reused_after_full_collections)
{
	struct gc_options options = small_options();
	struct gc_stats first, last;
	struct fixture f;

	fixture_open(&f, &options);
	GC_FRAME(f.thread, frame, 0, struct node * list;);
	for (int i = 0; i < 50; i++) {
		frame.root.list = make_list(&f, 30000);
		gc_collect(f.thread, GC_COLLECT_FULL);
		gc_stats(f.heap, i ? &last : &first);
	}
	check_list(frame.root.list, 30000);
	CHECK(last.arena_bytes <= 3 * first.arena_bytes);
	CHECK_EQ(last.live_bytes, 30000 * sizeof(struct node));
	FIXTURE_END(f, frame);
}

TEST(gc_gaps_between_survivors_are_used_again)
{
	enum { N = 800, GROUP = 50 };
	struct gc_options options = small_options();
	struct gc_stats first, last;
	struct fixture f;

	fixture_open(&f, &options);
	GC_FRAME(f.thread, frame, 0, struct cells * all; struct node * list;);
	frame.root.all = gc_alloc_array(f.thread, f.cells, N);
	/* In every page one node or two stay, the others die: no page is ever free. */
	for (uint64_t i = 0; i < N; i++) {
		frame.root.list = make_list(&f, GROUP);
		gc_write(f.thread, frame.root.all, &frame.root.all->items[i],
			 frame.root.list->left->left);
		gc_collect(f.thread, GC_COLLECT_MINOR);
	}
	for (uint64_t i = 0; i < N; i++) {
		struct node *kept = frame.root.all->items[i];

		gc_write(f.thread, kept, &kept->left, NULL);
	}
	gc_collect(f.thread, GC_COLLECT_FULL);
	gc_stats(f.heap, &first);
	frame.root.list = make_list(&f, N * (GROUP / 2));
	gc_collect(f.thread, GC_COLLECT_MINOR);
	gc_stats(f.heap, &last);
	CHECK_EQ(last.arena_bytes, first.arena_bytes);
	check_list(frame.root.list, N * (GROUP / 2));
	for (uint64_t i = 0; i < N; i++)
		CHECK_EQ(((struct node *)frame.root.all->items[i])->value, GROUP - 2);
	FIXTURE_END(f, frame);
}

TEST(gc_child_of_a_fork_goes_on)
{
	struct gc_options options = small_options();
	struct fixture f;
	int status;
	pid_t child;

	fixture_open(&f, &options);
	GC_FRAME(f.thread, frame, 0, struct node * list;);
	frame.root.list = make_list(&f, 3000);
	child = fork();
	for (int i = 0; i < 5; i++)
		make_list(&f, 3000);
	gc_collect(f.thread, GC_COLLECT_FULL);
	check_list(frame.root.list, 3000);
	if (child == 0)
		_exit(0);
	CHECK(child > 0 && waitpid(child, &status, 0) == child);
	CHECK_EQ(status, 0);
	FIXTURE_END(f, frame);
}

/* What is kept in local variables is where the objects are, whichever path allocated. */
TEST(gc_alloc_keeping_updates_local_variables)
{
	struct gc_options options = small_options();
	struct node *one, *two, *three;
	struct gc_stats stats;
	struct fixture f;

	fixture_open(&f, &options);
	one = GC_NEW(f.thread, f.node, struct node);
	one->value = 1;
	two = GC_NEW_KEEPING(f.thread, f.node, struct node, &one, NULL);
	two->value = 2;
	for (int i = 0; i < 10000; i++) {
		three = GC_NEW_KEEPING(f.thread, f.node, struct node, &one, &two);
		CHECK(!three->left && !three->value);
		three->value = 3;
		CHECK_EQ(one->value, 1);
		CHECK_EQ(two->value, 2);
	}
	gc_stats(f.heap, &stats);
	CHECK(stats.minor_collections > 3);
	CHECK_EQ(stats.promoted_bytes, 2 * sizeof(struct node));
	CHECK_EQ(f.thread->head.anchor.top, 0);
	fixture_close(&f);
}
