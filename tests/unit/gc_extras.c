/* SPDX-License-Identifier: BSD-2-Clause */
/* gc_extras.c: tests of weak references, finalizers, pins, hashes, limits, hooks, sampling control.
 */
#include "gc_test.h"

#include <errno.h>
#include <setjmp.h>
#include <sys/wait.h>
#include <unistd.h>

static void collect(struct fixture *f, bool full)
{
	gc_collect(f->thread, full ? GC_COLLECT_FULL : GC_COLLECT_MINOR);
}

TEST(gc_weak_references_are_cleared_when_the_object_died)
{
	struct gc_options options = small_options();
	struct gc_weak *dies, *stays;
	struct fixture f;

	fixture_open(&f, &options);
	GC_FRAME(f.thread, frame, 0, struct node * kept;);
	for (int full = 0; full < 2; full++) {
		CHECK_EQ(gc_weak_create(f.thread, new_node(&f, 1), NULL, &dies), 0);
		frame.root.kept = new_node(&f, 2);
		CHECK_EQ(gc_weak_create(f.thread, frame.root.kept, NULL, &stays), 0);
		CHECK(gc_weak_get(dies));
		collect(&f, full);
		CHECK(!gc_weak_get(dies));
		CHECK(gc_weak_get(stays) == frame.root.kept);
		/* Old now: a minor collection leaves it, a full one does not. */
		frame.root.kept = NULL;
		collect(&f, false);
		CHECK_EQ(((struct node *)gc_weak_get(stays))->value, 2);
		collect(&f, true);
		CHECK(!gc_weak_get(stays));
		gc_weak_destroy(f.thread, dies);
		gc_weak_destroy(f.thread, stays);
	}
	gc_weak_destroy(f.thread, NULL);
	FIXTURE_END(f, frame);
}

/* A chain of pairs, each key held by the value before, the last value by nothing but its pair. */
TEST(gc_ephemerons_keep_values_as_long_as_keys)
{
	enum { N = 20 };
	struct gc_options options = small_options();
	struct gc_weak *pairs[N];
	struct gc_stats stats;
	struct fixture f;

	fixture_open(&f, &options);
	GC_FRAME(f.thread, frame, 0, struct node * first; struct node * key;);
	frame.root.first = new_node(&f, 0);
	frame.root.key = frame.root.first;
	for (uint64_t i = 0; i < N; i++) {
		struct node *value = new_node(&f, i + 1);

		CHECK_EQ(gc_weak_create(f.thread, frame.root.key, value, &pairs[N - 1 - i]), 0);
		frame.root.key = value;
		/* The value refers to its key: that counts for nothing. */
		gc_write(f.thread, value, &value->left, gc_weak_get(pairs[N - 1 - i]));
		if (i == N / 2)
			collect(&f, false);
	}
	frame.root.key = NULL;
	for (int round = 0; round < 4; round++) {
		collect(&f, round & 1);
		for (uint64_t i = 0; i < N; i++) {
			CHECK_EQ(((struct node *)gc_weak_get(pairs[N - 1 - i]))->value, i);
			CHECK_EQ(((struct node *)gc_weak_value(pairs[N - 1 - i]))->value, i + 1);
		}
	}
	gc_weak_set_value(f.thread, pairs[0], new_node(&f, 77));
	collect(&f, false);
	CHECK_EQ(((struct node *)gc_weak_value(pairs[0]))->value, 77);
	frame.root.first = NULL;
	collect(&f, true);
	gc_stats(f.heap, &stats);
	CHECK_EQ(stats.live_bytes, 0);
	for (uint64_t i = 0; i < N; i++) {
		CHECK(!gc_weak_get(pairs[i]) && !gc_weak_value(pairs[i]));
		gc_weak_destroy(f.thread, pairs[i]);
	}
	FIXTURE_END(f, frame);
}

static uint64_t order[100], n_order;

static void note_order(struct gc_thread *thread, void *object, void *context)
{
	(void)thread;
	CHECK(context == &n_order);
	order[n_order++] = ((struct node *)object)->value;
}

TEST(gc_light_finalizers_run_when_the_object_is_found_dead)
{
	struct gc_options options = small_options();
	struct fixture f;

	fixture_open(&f, &options);
	GC_FRAME(f.thread, frame, 0, struct node * kept; struct bytes * large;);
	gc_finalizer_add(f.thread, new_node(&f, 1), GC_FINALIZER_LIGHT, note_order, &n_order);
	frame.root.kept = new_node(&f, 2);
	gc_finalizer_add(f.thread, frame.root.kept, GC_FINALIZER_LIGHT, note_order, &n_order);
	collect(&f, false);
	CHECK_EQ(n_order, 1);
	CHECK_EQ(order[0], 1);
	collect(&f, true);
	CHECK_EQ(n_order, 1);
	frame.root.kept = NULL;
	collect(&f, false);
	CHECK_EQ(n_order, 1);
	collect(&f, true);
	CHECK_EQ(n_order, 2);
	CHECK_EQ(order[1], 2);
	frame.root.kept = new_node(&f, 3);
	gc_finalizer_add(f.thread, frame.root.kept, GC_FINALIZER_LIGHT, note_order, &n_order);
	collect(&f, false);
	FIXTURE_END(f, frame);
	CHECK_EQ(n_order, 3);
}

TEST(gc_ordered_finalizers_run_from_the_outside_in)
{
	struct gc_options options = small_options();
	struct fixture f;

	fixture_open(&f, &options);
	GC_FRAME(f.thread, frame, 0, struct node * a; struct node * b;);
	/* 3 refers to 2, 2 to 1; registered in the order 1, 2, 3. */
	for (uint64_t i = 1; i <= 3; i++) {
		frame.root.a = new_node(&f, i);
		gc_write(f.thread, frame.root.a, &frame.root.a->left, frame.root.b);
		frame.root.b = frame.root.a;
		gc_finalizer_add(f.thread, frame.root.a, GC_FINALIZER_ORDERED, note_order,
				 &n_order);
	}
	frame.root.a = frame.root.b = NULL;
	for (uint64_t i = 0; i < 3; i++) {
		collect(&f, true);
		CHECK_EQ(n_order, i + 1);
		CHECK_EQ(order[i], 3 - i);
	}
	FIXTURE_END(f, frame);
}

TEST(gc_ordered_finalizers_run_around_cycles)
{
	struct gc_options options = small_options();
	struct gc_stats stats;
	struct fixture f;

	fixture_open(&f, &options);
	GC_FRAME(f.thread, frame, 0, struct node * a; struct node * b;);
	/* 1 and 2 refer to each other and to 3, which refers to itself. */
	frame.root.a = new_node(&f, 1);
	frame.root.b = new_node(&f, 2);
	gc_write(f.thread, frame.root.a, &frame.root.a->left, frame.root.b);
	gc_write(f.thread, frame.root.b, &frame.root.b->left, frame.root.a);
	gc_finalizer_add(f.thread, frame.root.a, GC_FINALIZER_ORDERED, note_order, &n_order);
	gc_finalizer_add(f.thread, frame.root.b, GC_FINALIZER_ORDERED, note_order, &n_order);
	struct node *third = new_node(&f, 3);
	gc_write(f.thread, third, &third->left, third);
	gc_write(f.thread, frame.root.a, &frame.root.a->right, third);
	gc_finalizer_add(f.thread, third, GC_FINALIZER_ORDERED, note_order, &n_order);
	frame.root.a = frame.root.b = NULL;
	/* The newest first; what 2 refers to waits. */
	collect(&f, true);
	CHECK_EQ(n_order, 2);
	CHECK_EQ(order[0], 3);
	CHECK_EQ(order[1], 2);
	collect(&f, true);
	CHECK_EQ(n_order, 3);
	CHECK_EQ(order[2], 1);
	collect(&f, true);
	gc_stats(f.heap, &stats);
	CHECK_EQ(stats.live_bytes, 0);
	FIXTURE_END(f, frame);
}

struct revival {
	struct fixture *f;
	void *global;
	uint64_t runs;
};

/* Stores the object where it lives again, allocates a lot, and asks to be called again. */
static void revive(struct gc_thread *thread, void *object, void *context)
{
	struct revival *revival = context;
	struct fixture *f = revival->f;

	GC_FRAME(thread, frame, 0, struct node * self; struct node * list;);
	frame.root.self = object;
	revival->global = object;
	revival->runs++;
	for (uint64_t i = 0; i < 20000; i++) {
		struct node *node = GC_NEW(thread, f->node, struct node);

		gc_write(thread, node, &node->left, frame.root.list);
		frame.root.list = i % 100 ? node : NULL;
	}
	CHECK(frame.root.self == revival->global);
	CHECK_EQ(frame.root.self->value, 4711);
	CHECK_EQ(frame.root.self->left->value, 4712);
	gc_finalizer_add(thread, frame.root.self, GC_FINALIZER_ORDERED, revive, revival);
	GC_FRAME_END(thread, frame);
}

TEST(gc_ordered_finalizers_allocate_and_resurrect)
{
	struct gc_options options = small_options();
	struct revival revival = {0};
	struct gc_weak *weak;
	struct fixture f;

	fixture_open(&f, &options);
	revival.f = &f;
	CHECK_EQ(gc_root_add(f.heap, &revival.global), 0);
	revival.global = new_node(&f, 4711);
	struct node *part = new_node(&f, 4712);
	gc_write(f.thread, revival.global, &((struct node *)revival.global)->left, part);
	gc_finalizer_add(f.thread, revival.global, GC_FINALIZER_ORDERED, revive, &revival);
	gc_weak_create(f.thread, revival.global, NULL, &weak);
	for (uint64_t i = 0; i < 6; i++) {
		collect(&f, i & 1);
		revival.global = NULL;
		if (i & 1) {
			gc_collect(f.thread, GC_COLLECT_FULL);
		} else {
			/* In steps, and finalized in an allocation. */
			uint64_t before = revival.runs;

			while (gc_collect_step(f.thread))
				;
			for (int n = 0; revival.runs == before && n < 100000; n++)
				new_node(&f, 0);
		}
		CHECK_EQ(revival.runs, i + 1);
		CHECK_EQ(((struct node *)revival.global)->left->value, 4712);
		/* Weak references are cleared before finalizers see the object. */
		CHECK(!gc_weak_get(weak));
	}
	gc_weak_destroy(f.thread, weak);
	fixture_close(&f);
}

TEST(gc_pinned_objects_stay_where_they_are)
{
	struct gc_options options = small_options();
	struct gc_stats stats;
	struct fixture f;
	struct node *at;

	options.sampling.always_sample = 1;
	options.sampling.period = 100;
	fixture_open(&f, &options);
	GC_FRAME(f.thread, frame, 0, struct node * node;);
	CHECK_EQ(gc_pin(f.thread, (void **)&frame.root.node), -EINVAL);
	frame.root.node = new_node(&f, 5);
	frame.root.node->left = new_node(&f, 6);
	CHECK_EQ(gc_pin(f.thread, (void **)&frame.root.node), 0);
	CHECK_EQ(gc_pin(f.thread, (void **)&frame.root.node), 0);
	at = frame.root.node;
	frame.root.node = NULL;
	for (int i = 0; i < 20000; i++)
		new_node(&f, 0);
	collect(&f, true);
	CHECK_EQ(at->value, 5);
	CHECK_EQ(at->left->value, 6);
	gc_unpin(f.thread, at);
	collect(&f, true);
	gc_stats(f.heap, &stats);
	CHECK_EQ(stats.live_bytes, 2 * sizeof(struct node));
	gc_unpin(f.thread, at);
	collect(&f, true);
	gc_stats(f.heap, &stats);
	CHECK_EQ(stats.live_bytes, 0);
	FIXTURE_END(f, frame);
}

TEST(gc_identity_hashes_stay_and_differ)
{
	enum { N = 1000 };
	struct gc_options options = small_options();
	uint32_t hashes[N];
	struct fixture f;

	fixture_open(&f, &options);
	GC_FRAME(f.thread, frame, 0, struct cells * all;);
	frame.root.all = gc_alloc_array(f.thread, f.cells, N);
	for (int i = 0; i < N; i++) {
		/* Small ones and longer ones, the last of them large. */
		void *object = i % 3 ? (void *)new_node(&f, (uint64_t)i)
				     : gc_alloc_array(f.thread, f.bytes, 20 * (uint64_t)i);

		gc_write(f.thread, frame.root.all, &frame.root.all->items[i], object);
		hashes[i] = gc_identity_hash(f.thread, object);
		CHECK(hashes[i]);
	}
	for (int round = 0; round < 2; round++) {
		collect(&f, round);
		for (int i = 0; i < N; i++) {
			CHECK_EQ(gc_identity_hash(f.thread, frame.root.all->items[i]), hashes[i]);
			for (int k = 0; k < i; k++)
				CHECK(hashes[i] != hashes[k]);
		}
	}
	FIXTURE_END(f, frame);
}

struct refusal {
	void **cache;
	int calls;
};

static int give_up(void *context, struct gc_thread *thread, size_t size)
{
	struct refusal *refusal = context;

	(void)thread;
	(void)size;
	refusal->calls++;
	if (!*refusal->cache)
		return 0;
	*refusal->cache = NULL;
	return 1;
}

TEST(gc_heap_never_holds_more_than_its_maximum)
{
	struct gc_options options = small_options();
	struct refusal refusal = {0};
	struct gc_stats stats;
	uint64_t made = 0;
	struct fixture f;

	options.max_heap = 1 << 20;
	fixture_open(&f, &options);
	GC_FRAME(f.thread, frame, 0, struct node * list; struct node * cache;);
	refusal.cache = (void **)&frame.root.cache;
	gc_on_out_of_memory(f.heap, give_up, &refusal);
	/* Garbage needs no question. */
	for (int i = 0; i < 200000; i++)
		CHECK(new_node(&f, 1));
	for (int i = 0; i < 100; i++)
		CHECK(gc_alloc_array(f.thread, f.bytes, 300000));
	CHECK_EQ(refusal.calls, 0);
	for (int round = 0; round < 2; round++) {
		for (;;) {
			struct node *node = GC_NEW(f.thread, f.node, struct node);

			if (!node)
				break;
			gc_write(f.thread, node, &node->left, frame.root.list);
			frame.root.list = node;
			made++;
			/* Half of it hangs on the cache. */
			if (!round && made == 15000) {
				frame.root.cache = frame.root.list;
				frame.root.list = NULL;
			}
			gc_stats(f.heap, &stats);
			CHECK(stats.live_bytes + options.nursery_size <= options.max_heap);
		}
		CHECK(!frame.root.cache);
		CHECK(!gc_alloc_array(f.thread, f.bytes, 500000));
		frame.root.list = NULL;
		CHECK(gc_alloc_array(f.thread, f.bytes, 500000));
	}
	CHECK(made > 60000);
	CHECK_EQ(refusal.calls, 5);
	CHECK(!gc_alloc_array(f.thread, f.bytes, 2000000));
	FIXTURE_END(f, frame);
	options.max_heap = options.nursery_size;
	CHECK_EQ(gc_heap_create(&options, &f.heap), -EINVAL);
}

static jmp_buf outside;

static int leave(void *context, struct gc_thread *thread, size_t size)
{
	int *calls = context;

	(void)size;
	++*calls;
	GC_NEW(thread, 1, struct node);
	longjmp(outside, 1);
}

TEST(gc_out_of_memory_functions_may_leave)
{
	struct gc_options options = small_options();
	static struct node *volatile list;
	static int calls;
	static struct fixture f;
	struct gc_stats stats;

	options.max_heap = 1 << 20;
	fixture_open(&f, &options);
	gc_on_out_of_memory(f.heap, leave, &calls);
	CHECK_EQ(gc_root_add(f.heap, (void **)(uintptr_t)&list), 0);
	for (volatile int round = 1; round < 5; round++) {
		if (!setjmp(outside))
			for (;;) {
				struct node *node = new_node(&f, 1);

				node->left = list;
				list = node;
			}
		CHECK_EQ(calls, round);
		gc_stats(f.heap, &stats);
		CHECK(stats.live_bytes <= options.max_heap + options.nursery_size);
		list = NULL;
	}
	fixture_close(&f);
}

/* Impossible lengths too are for the program to refuse, with a maximum and without. */
TEST(gc_objects_that_nothing_can_hold_are_refused)
{
	static const uint64_t lengths[] = {UINT64_C(1) << 48,  UINT64_C(1) << 60, UINT64_MAX / 8,
					   UINT64_MAX / 8 - 2, UINT64_MAX - 7,    UINT64_MAX};
	struct gc_options options = small_options();
	struct refusal refusal = {0};
	struct gc_stats before, after;
	struct fixture f;

	for (int limited = 0; limited < 2; limited++) {
		options.max_heap = limited ? 1 << 20 : 0;
		fixture_open(&f, &options);
		GC_FRAME(f.thread, frame, 0, struct node * cache;);
		refusal = (struct refusal){.cache = (void **)&frame.root.cache};
		gc_on_out_of_memory(f.heap, give_up, &refusal);
		gc_stats(f.heap, &before);
		for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
			frame.root.cache = new_node(&f, 1);
			CHECK(!gc_alloc_array(f.thread, f.bytes, lengths[i]));
			/* It was asked again when it had let go of that. */
			CHECK_EQ(refusal.calls, 4 * i + 2);
			CHECK(!gc_alloc_array(f.thread, f.cells, lengths[i]));
			CHECK_EQ(refusal.calls, 4 * i + 3);
			refusal.calls++;
		}
		gc_stats(f.heap, &after);
		CHECK_EQ(after.allocated_bytes - before.allocated_bytes,
			 sizeof(lengths) / sizeof(*lengths) * sizeof(struct node));
		CHECK_EQ(after.large_bytes, 0);
		FIXTURE_END(f, frame);
	}
}

TEST(gc_heap_without_a_callback_ends_with_a_sentence)
{
	struct gc_options options = small_options();
	char text[256] = "";
	int pipes[2], status;
	ssize_t got;
	pid_t child;

	options.max_heap = 1 << 20;
	CHECK_EQ(pipe(pipes), 0);
	child = fork();
	if (child == 0) {
		struct fixture f;

		dup2(pipes[1], STDERR_FILENO);
		fixture_open(&f, &options);
		gc_alloc_array(f.thread, f.bytes, 1 << 20);
		_exit(0);
	}
	close(pipes[1]);
	for (size_t at = 0; (got = read(pipes[0], text + at, sizeof(text) - 1 - at)) > 0;)
		at += (size_t)got;
	CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
	CHECK_STR(text, "gcprof-gc: out of memory: the heap's maximum is 1048576 bytes\n");
}

TEST(gc_memory_pressure_brings_on_major_collections)
{
	struct gc_options options = small_options();
	struct gc_stats stats;
	struct fixture f;

	fixture_open(&f, &options);
	for (int i = 0; i < 1000; i++) {
		new_node(&f, 1);
		gc_memory_pressure(f.thread, 10000);
	}
	gc_stats(f.heap, &stats);
	CHECK(stats.full_collections >= 4);
	CHECK(stats.minor_collections >= 10);
	CHECK(stats.minor_collections <= 60);
	fixture_close(&f);
}

static struct gc_hook_event events[1000];
static uint32_t n_events;

static void note_event(void *context, const struct gc_hook_event *event)
{
	CHECK(context == events);
	events[n_events++ % 1000] = *event;
}

TEST(gc_hooks_and_explicit_steps)
{
	struct gc_options options = small_options();
	uint32_t steps = 1;
	struct fixture f;

	fixture_open(&f, &options);
	GC_FRAME(f.thread, frame, 0, struct node * list;);
	gc_hook_set(f.heap, note_event, events);
	for (int i = 0; i < 5000; i++) {
		struct node *node = new_node(&f, 1);

		gc_write(f.thread, node, &node->left, frame.root.list);
		frame.root.list = node;
	}
	CHECK(n_events && events[n_events - 1].kind == GC_HOOK_MINOR);
	CHECK(events[n_events - 1].promoted_bytes > 0);
	n_events = 0;
	while (gc_collect_step(f.thread))
		steps++;
	CHECK(steps > 5 && steps < 500);
	CHECK_EQ(f.heap->stats.full_collections, 1);
	uint32_t n_steps = 0, done = 0;
	for (uint32_t i = 0; i < n_events; i++) {
		n_steps += events[i].kind == GC_HOOK_STEP;
		done += (uint32_t)events[i].cycle_done;
	}
	CHECK_EQ(n_steps, steps);
	CHECK_EQ(done, 1);
	gc_collect(f.thread, GC_COLLECT_FULL);
	CHECK_EQ(events[n_events - 1].kind, GC_HOOK_FULL);
	CHECK_EQ(events[n_events - 1].cycle_done, 1);
	CHECK_EQ(events[n_events - 1].live_bytes, 5000 * sizeof(struct node));
	n_events = 0;
	gc_hook_set(f.heap, NULL, NULL);
	gc_collect(f.thread, GC_COLLECT_FULL);
	CHECK_EQ(n_events, 0);
	FIXTURE_END(f, frame);
}
