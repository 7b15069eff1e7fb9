/* SPDX-License-Identifier: BSD-2-Clause */
/* gc_slices.c: tests of how much of the nursery is used when minor collections are to be short. */
#include "gc_test.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

/* In each of these so much can survive; see survey.c. */
enum { GOAL_US = 100, SLICE = GOAL_US * 3000 };

static struct {
	uint64_t minors, most_promoted, last_promoted;
} seen;

static void watch(void *context, const struct gc_hook_event *event)
{
	(void)context;
	if (event->kind != GC_HOOK_MINOR)
		return;
	seen.minors++;
	seen.last_promoted = event->promoted_bytes;
	if (seen.most_promoted < event->promoted_bytes)
		seen.most_promoted = event->promoted_bytes;
}

static void open_sliced(struct fixture *f, uint64_t goal)
{
	struct gc_options options;

	CHECK_EQ(gc_options_default(&options), 0);
	options.nursery_size = 4 << 20;
	options.pause_goal = goal;
	options.gc_ceiling = UINT64_MAX; /* each is seen as it happens */
	fixture_open(f, &options);
	memset(&seen, 0, sizeof(seen));
	gc_hook_set(f->heap, watch, NULL);
}

/* Allocates so many bytes of garbage. */
static void waste(struct fixture *f, uint64_t bytes)
{
	for (uint64_t n = 0; n < bytes; n += sizeof(struct node))
		gc_alloc(f->thread, f->node, sizeof(struct node));
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

static uint64_t length_of(const struct node *list)
{
	uint64_t length = 0;

	for (; list; list = list->left)
		length++;
	return length;
}

TEST(gc_nursery_is_used_whole_where_little_survives)
{
	enum { NURSERIES = 20 };
	struct gc_stats stats;
	struct fixture f;

	open_sliced(&f, GOAL_US);
	waste(&f, (uint64_t)NURSERIES * (4 << 20));
	gc_stats(f.heap, &stats);
	CHECK(seen.minors >= NURSERIES - 1 && seen.minors <= NURSERIES);
	CHECK(stats.surveys >= 10 * seen.minors);
	CHECK_EQ(stats.promoted_bytes, 0);
	fixture_close(&f);
}

TEST(gc_minor_collections_promote_no_more_than_the_goal_allows)
{
	uint64_t bytes = 0;
	struct fixture f;

	open_sliced(&f, GOAL_US);
	GC_FRAME(f.thread, frame, 0, struct node * list;);
	/* In any phase: garbage first, a little or a lot of it, then everything survives. */
	for (uint64_t i = 0; i < 12; i++) {
		waste(&f, i * (700 << 10));
		frame.root.list = extend(&f, frame.root.list, 3 << 20);
		bytes += 3 << 20;
	}
	CHECK(seen.minors > bytes / SLICE);
	/* Between the survey that finds enough and the collection a buffer is used up. */
	CHECK(seen.most_promoted <= SLICE + f.heap->options.buffer_size);
	CHECK(seen.most_promoted >= SLICE / 3);
	CHECK_EQ(length_of(frame.root.list), bytes / sizeof(struct node));
	GC_FRAME_END(f.thread, frame);
	fixture_close(&f);
}

TEST(gc_nursery_is_one_slice_without_a_goal)
{
	static const uint64_t goals[] = {0, UINT64_MAX};
	struct gc_stats stats;
	struct fixture f;

	for (size_t i = 0; i < 2; i++) {
		open_sliced(&f, goals[i]);
		GC_FRAME(f.thread, frame, 0, struct node * list;);
		frame.root.list = extend(&f, NULL, 9 << 20);
		gc_stats(f.heap, &stats);
		CHECK_EQ(stats.surveys, 0);
		CHECK_EQ(seen.minors, 2);
		CHECK_EQ(seen.most_promoted, 4 << 20);
		GC_FRAME_END(f.thread, frame);
		fixture_close(&f);
	}
}

/* What only these keep alive counts as well. */
enum keeper { KEEPER_OLD_OBJECT, KEEPER_CARDS, KEEPER_LARGE_YOUNG, KEEPER_PAIR, KEEPER_GLOBAL };

TEST(gc_surveys_find_what_survives_wherever_it_hangs)
{
	for (int keeper = KEEPER_OLD_OBJECT; keeper <= KEEPER_GLOBAL; keeper++) {
		struct gc_weak *pair = NULL;
		void *global = NULL;
		struct fixture f;

		open_sliced(&f, GOAL_US);
		CHECK_EQ(gc_root_add(f.heap, &global), 0);
		GC_FRAME(f.thread, frame, 0, struct node * old; struct cells * large;
			 struct node * list;);
		frame.root.old = GC_NEW(f.thread, f.node, struct node);
		if (keeper == KEEPER_CARDS)
			frame.root.large = gc_alloc_array(f.thread, f.cells, 20000);
		gc_collect(f.thread, GC_COLLECT_MINOR);
		if (keeper == KEEPER_LARGE_YOUNG)
			frame.root.large = gc_alloc_array(f.thread, f.cells, 20000);
		memset(&seen, 0, sizeof(seen));
		frame.root.list = extend(&f, NULL, SLICE / 2);
		if (keeper == KEEPER_OLD_OBJECT)
			gc_write(f.thread, frame.root.old, &frame.root.old->left, frame.root.list);
		if (frame.root.large)
			gc_array_write(f.thread, frame.root.large, frame.root.large->items, 12345,
				       frame.root.list);
		if (keeper == KEEPER_PAIR)
			CHECK_EQ(gc_weak_create(f.thread, frame.root.old, frame.root.list, &pair),
				 0);
		if (keeper == KEEPER_GLOBAL)
			global = frame.root.list;
		frame.root.list = NULL;
		CHECK_EQ(seen.minors, 0);
		waste(&f, SLICE);
		CHECK_EQ(seen.minors, 1);
		CHECK(seen.last_promoted >= SLICE / 2 - 100);
		gc_weak_destroy(f.thread, pair);
		gc_root_remove(f.heap, &global);
		GC_FRAME_END(f.thread, frame);
		fixture_close(&f);
	}
}

/* Looking at old objects that were written to takes time, too. */
TEST(gc_nursery_is_not_used_whole_when_many_old_objects_were_written_to)
{
	enum { N = 50000 };
	struct fixture f;

	open_sliced(&f, 0);
	GC_FRAME(f.thread, frame, 0, struct node * list; struct node * at;);
	frame.root.list = extend(&f, NULL, N * sizeof(struct node));
	gc_collect(f.thread, GC_COLLECT_MINOR);
	memset(&seen, 0, sizeof(seen));
	for (frame.root.at = frame.root.list; frame.root.at; frame.root.at = frame.root.at->left) {
		struct node *node = GC_NEW(f.thread, f.node, struct node);

		gc_write(f.thread, frame.root.at, &frame.root.at->right, node);
		CHECK(f.thread->remembered.count < N / 4);
	}
	CHECK(N * sizeof(struct node) < f.heap->options.nursery_size);
	CHECK(seen.minors >= 4);
	GC_FRAME_END(f.thread, frame);
	fixture_close(&f);
}

/* Clearing it takes longer than most collections: the program does that, a part at a time. */
TEST(gc_memory_for_the_next_collection_is_ready_before_it)
{
	const struct gc_old *old;
	struct fixture f;

	open_sliced(&f, 0);
	old = &f.heap->old;
	GC_FRAME(f.thread, frame, 0, struct node * list;);
	frame.root.list = extend(&f, NULL, 3 << 20);
	CHECK_EQ(f.heap->stats.minor_collections, 0);
	CHECK_EQ(old->reserved, 1);
	for (uint64_t i = 0; i < 6; i++) {
		frame.root.list = extend(&f, frame.root.list, 4 << 20);
		CHECK(old->mapped >= 2 && old->reserved > old->mapped);
	}
	frame.root.list = NULL;
	waste(&f, 12 << 20);
	CHECK_EQ(old->mapped, 0);
	CHECK_EQ(old->reserved, 1);
	GC_FRAME_END(f.thread, frame);
	fixture_close(&f);
}

static struct {
	struct gc_heap *heap;
	bool asleep; /* the other thread, in the last survey */
	uint64_t followed, lost;
} slept;

/* Mostly a survey ends when the other thread is asleep (or waits for the lock, to say that it has
 * stopped: then the next one will do). It is woken if the minor collection behind the survey in the
 * same stop still knows. */
static void watch_sleeper(void *context, const struct gc_hook_event *event)
{
	uint32_t *stop = &slept.heap->stop;

	(void)context;
	if (event->kind == GC_HOOK_SURVEY) {
		slept.asleep = false;
		for (int i = 0; i < 50 && !slept.asleep; i++, usleep(20))
			slept.asleep = __atomic_load_n(stop, __ATOMIC_SEQ_CST) & STOP_SLEEPERS;
	} else if (event->kind == GC_HOOK_MINOR && slept.asleep &&
		   slept.heap->stop_cycle != slept.heap->cycle) {
		slept.followed++;
		slept.lost +=
			!(__atomic_fetch_or(stop, STOP_SLEEPERS, __ATOMIC_SEQ_CST) & STOP_SLEEPERS);
	}
}

static void *pass_safepoints(void *argument)
{
	struct gc_heap *heap = slept.heap;
	struct gc_thread *thread;
	uint32_t *over = argument;

	CHECK_EQ(gc_thread_attach(heap, &thread), 0);
	__atomic_store_n(over, 0, __ATOMIC_RELEASE);
	while (!__atomic_load_n(over, __ATOMIC_ACQUIRE))
		gc_safepoint(thread);
	gc_thread_detach(thread);
	return NULL;
}

TEST(gc_collections_behind_surveys_wake_those_that_sleep)
{
	uint32_t over = 1;
	struct fixture f;
	pthread_t other;

	open_sliced(&f, GOAL_US);
	f.heap->processors = 1; /* nobody looks on instead of sleeping */
	memset(&slept, 0, sizeof(slept));
	slept.heap = f.heap;
	CHECK_EQ(pthread_create(&other, NULL, pass_safepoints, &over), 0);
	while (__atomic_load_n(&over, __ATOMIC_ACQUIRE))
		sched_yield();
	gc_hook_set(f.heap, watch_sleeper, NULL);
	while (slept.followed < 3)
		waste(&f, 64 << 10);
	gc_hook_set(f.heap, NULL, NULL);
	__atomic_store_n(&over, 1, __ATOMIC_RELEASE);
	gc_blocking_begin(f.thread);
	pthread_join(other, NULL);
	gc_blocking_end(f.thread);
	CHECK_EQ(slept.lost, 0);
	fixture_close(&f);
}

#if !GCPROF_NO_SAMPLING

static struct {
	uint64_t surveys, followed; /* by a minor collection in the same stop */
	uint64_t cycle, stop;
	uint32_t open, last; /* kind */
} told;

static void observe(enum probe_number probe, const void *arguments)
{
	const struct probe_gc_begin *begin = arguments;
	const struct probe_gc_end *end = arguments;

	if (probe == PROBE_gc_begin) {
		CHECK_EQ(begin->cycle, told.cycle + 1);
		CHECK(begin->stop == begin->cycle || begin->stop == told.stop);
		/* A survey begins a stop, a step may end one. */
		CHECK(begin->kind != GCPROF_GC_SURVEY || begin->stop == begin->cycle);
		told.followed += begin->kind == GCPROF_GC_MINOR && begin->stop != begin->cycle;
		CHECK(begin->kind != GCPROF_GC_MINOR || begin->stop == begin->cycle ||
		      told.last == GCPROF_GC_SURVEY);
		told.cycle = begin->cycle;
		told.stop = begin->stop;
		told.open = begin->kind;
	} else if (probe == PROBE_gc_end) {
		CHECK_EQ(end->cycle, told.cycle);
		CHECK_EQ(end->kind, told.open);
		told.surveys += end->kind == GCPROF_GC_SURVEY;
		told.last = end->kind;
		told.open = 0;
	}
}

TEST(gc_surveys_are_told_and_so_is_what_follows_at_once)
{
	struct gc_stats stats;
	struct fixture f;

	memset(&told, 0, sizeof(told));
	probe_observer = observe;
	open_sliced(&f, GOAL_US);
	GC_FRAME(f.thread, frame, 0, struct node * list;);
	for (uint64_t i = 0; i < 12; i++) {
		waste(&f, 9 << 20);
		frame.root.list = extend(&f, i % 3 ? frame.root.list : NULL, 3 << 20);
	}
	gc_stats(f.heap, &stats);
	CHECK(stats.surveys > 20);
	CHECK_EQ(told.surveys, stats.surveys);
	CHECK(told.followed > 5 && told.followed < stats.minor_collections);
	CHECK(stats.max_pause_ns <= stats.pause_ns);
	GC_FRAME_END(f.thread, frame);
	fixture_close(&f);
	probe_observer = NULL;
}

#endif
