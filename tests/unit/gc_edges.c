/* SPDX-License-Identifier: BSD-2-Clause */
/* gc_edges.c: tests of what goes well most of the time also in a collector that is wrong. */
#include "gc_test.h"

#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LENGTH = 20000 };

/* The node before the last two. */
static struct node *near_the_end(struct node *list)
{
	while (list->value > 3)
		list = list->left;
	return list;
}

/* The requester sets its word and then the limit, in the middle of the owner's doing the same. */
TEST(gc_limits_are_set_without_losing_a_request)
{
	struct gc_options options = small_options();
	struct fixture f;
	char *wanted;

	fixture_open(&f, &options);
	GC_NEW(f.thread, f.node, struct node);
	wanted = f.thread->head.limit;
	CHECK(wanted > f.thread->head.free);
	f.heap->stop = 1;
	limit_update(f.thread);
	CHECK(!f.thread->head.limit);
	f.heap->stop = 0;
	f.thread->news = 1;
	limit_update(f.thread);
	CHECK(!f.thread->head.limit);
	f.thread->news = 0;
	limit_update(f.thread);
	CHECK(f.thread->head.limit == wanted);
	fixture_close(&f);
}

/* Moves what hangs on the node near the end to the list's head, where marking has been: it is gray
 * by that store, and what it refers to is found through it only. */
static void hide(struct gc_thread *thread, struct node *list)
{
	struct node *end = near_the_end(list);

	CHECK(chunk_is_marked(list) && !chunk_is_marked(end));
	gc_write(thread, list, &list->right, end->left);
	gc_write(thread, end, &end->left, NULL);
}

static void check_hidden(struct fixture *f, const struct node *list, const struct gc_weak *last)
{
	while (gc_collect_step(f->thread))
		;
	CHECK_EQ(list->right->value, 2);
	CHECK(gc_weak_get(last) && list->right->left == gc_weak_get(last));
}

TEST(gc_what_a_thread_made_gray_is_marked_when_it_is_gone)
{
	struct gc_options options = small_options();
	struct gc_thread *other;
	struct gc_weak *last;
	struct fixture f;

	fixture_open(&f, &options);
	GC_FRAME(f.thread, frame, 0, struct node * list;);
	frame.root.list = make_old_list(&f, LENGTH);
	CHECK_EQ(gc_weak_create(f.thread, near_the_end(frame.root.list)->left->left, NULL, &last),
		 0);
	gc_collect_step(f.thread);
	CHECK_EQ(gc_thread_attach(f.heap, &other), 0);
	hide(other, frame.root.list);
	gc_thread_detach(other);
	check_hidden(&f, frame.root.list, last);
	gc_weak_destroy(f.thread, last);
	FIXTURE_END(f, frame);
}

/* Nothing is gray, but the program holds what was never marked. */
TEST(gc_marking_traces_frames_again_before_it_ends)
{
	struct gc_options options = small_options();
	struct gc_weak *last;
	struct node *end;
	struct fixture f;

	fixture_open(&f, &options);
	GC_FRAME(f.thread, frame, 0, struct node * list; struct node * hidden;);
	frame.root.list = make_old_list(&f, LENGTH);
	end = near_the_end(frame.root.list);
	CHECK_EQ(gc_weak_create(f.thread, end->left->left, NULL, &last), 0);
	gc_collect_step(f.thread);
	CHECK(f.heap->major.phase == GCPROF_PHASE_MARKING && !chunk_is_marked(end));
	frame.root.hidden = end->left;
	gc_write(f.thread, end, &end->left, NULL);
	while (gc_collect_step(f.thread))
		;
	CHECK_EQ(frame.root.hidden->value, 2);
	CHECK(gc_weak_get(last) && frame.root.hidden->left == gc_weak_get(last));
	gc_weak_destroy(f.thread, last);
	FIXTURE_END(f, frame);
}

struct writer {
	struct fixture *f;
	struct node *list;
	uint32_t state; /* atomic */
};

enum { WRITER_STARTS, WRITER_WROTE, WRITER_ENDS };

/* Hides an old object, stores a young one, and blocks. */
static void *write_and_block(void *context)
{
	struct writer *w = context;
	struct gc_thread *thread;
	struct node *young;

	CHECK_EQ(gc_thread_attach(w->f->heap, &thread), 0);
	hide(thread, w->list);
	young = GC_NEW(thread, w->f->node, struct node);
	young->value = 4711;
	gc_write(thread, w->list->left, &w->list->left->right, young);
	gc_blocking_begin(thread);
	__atomic_store_n(&w->state, WRITER_WROTE, __ATOMIC_RELEASE);
	while (__atomic_load_n(&w->state, __ATOMIC_ACQUIRE) != WRITER_ENDS)
		usleep(100);
	gc_blocking_end(thread);
	gc_thread_detach(thread);
	return NULL;
}

/* Threads that a fork loses have written to objects that the child keeps. */
TEST(gc_writes_of_threads_that_a_fork_lost_are_remembered)
{
	struct gc_options options = small_options();
	struct gc_weak *last;
	struct writer w = {0};
	pthread_t thread;
	struct fixture f;
	int status;
	pid_t child;

	fixture_open(&f, &options);
	w.f = &f;
	GC_FRAME(f.thread, frame, 0, struct node * list;);
	frame.root.list = w.list = make_old_list(&f, LENGTH);
	CHECK_EQ(gc_weak_create(f.thread, near_the_end(w.list)->left->left, NULL, &last), 0);
	gc_collect_step(f.thread);
	CHECK_EQ(pthread_create(&thread, NULL, write_and_block, &w), 0);
	while (__atomic_load_n(&w.state, __ATOMIC_ACQUIRE) != WRITER_WROTE)
		sched_yield();
	child = fork();
	if (child == 0) {
		check_hidden(&f, w.list, last);
		CHECK_EQ(w.list->left->right->value, 4711);
		_exit(0);
	}
	CHECK(child > 0 && waitpid(child, &status, 0) == child);
	CHECK_EQ(status, 0);
	__atomic_store_n(&w.state, WRITER_ENDS, __ATOMIC_RELEASE);
	gc_blocking_begin(f.thread);
	pthread_join(thread, NULL);
	gc_blocking_end(f.thread);
	check_hidden(&f, w.list, last);
	gc_weak_destroy(f.thread, last);
	FIXTURE_END(f, frame);
}

/* What a large array refers to directly is old and white when the array becomes old. */
TEST(gc_large_arrays_that_become_old_are_marked_themselves)
{
	struct gc_options options = small_options();
	struct gc_weak *last;
	struct fixture f;

	fixture_open(&f, &options);
	GC_FRAME(f.thread, frame, 0, struct node * list; struct cells * large;);
	frame.root.list = make_old_list(&f, LENGTH);
	CHECK_EQ(gc_weak_create(f.thread, near_the_end(frame.root.list)->left->left, NULL, &last),
		 0);
	frame.root.large = gc_alloc_array(f.thread, f.cells, options.large_size / sizeof(void *));
	while (f.heap->major.phase != GCPROF_PHASE_MARKING)
		gc_collect_step(f.thread);
	/* It was promoted with that, a young one follows. */
	frame.root.large = gc_alloc_array(f.thread, f.cells, options.large_size / sizeof(void *));
	struct node *end = near_the_end(frame.root.list);
	CHECK(!chunk_is_marked(end));
	frame.root.large->items[7] = end->left;
	gc_write(f.thread, end, &end->left, NULL);
	while (gc_collect_step(f.thread))
		;
	CHECK_EQ(((struct node *)frame.root.large->items[7])->value, 2);
	CHECK(((struct node *)frame.root.large->items[7])->left == gc_weak_get(last));
	CHECK(gc_weak_get(last));
	gc_weak_destroy(f.thread, last);
	FIXTURE_END(f, frame);
}

enum { PAIRS = 20 };

/* Node i is the key of node i + 1: pairs are made in one order or the other. */
static void make_chain(struct fixture *f, struct cells *nodes, struct gc_weak **pairs, bool forward)
{
	for (int k = 0; k < PAIRS; k++) {
		int i = forward ? k : PAIRS - 1 - k;

		CHECK_EQ(gc_weak_create(f->thread, nodes->items[i], nodes->items[i + 1], &pairs[i]),
			 0);
	}
}

static void check_chain(struct gc_weak **pairs, const struct node *first)
{
	const struct node *node = first;

	for (uint64_t i = 0; i < PAIRS; i++) {
		CHECK(gc_weak_get(pairs[i]) == node);
		node = gc_weak_value(pairs[i]);
		CHECK(node && node->value == i + 1);
	}
}

/* One pass over the pairs is enough in one of the two orders only. */
TEST(gc_ephemerons_form_chains_in_any_order)
{
	struct gc_options options = small_options();
	struct gc_weak *pairs[PAIRS];
	struct fixture f;

	fixture_open(&f, &options);
	GC_FRAME(f.thread, frame, 0, struct cells * nodes; struct node * first;);
	for (int way = 0; way < 6; way++) {
		frame.root.nodes = gc_alloc_array(f.thread, f.cells, PAIRS + 1);
		for (uint64_t i = 0; i <= PAIRS; i++) {
			struct node *node = GC_NEW(f.thread, f.node, struct node);

			node->value = i;
			gc_array_write(f.thread, frame.root.nodes, frame.root.nodes->items, i,
				       node);
		}
		/* While they are young, when they are old, in steps. */
		if (way / 2)
			gc_collect(f.thread, GC_COLLECT_MINOR);
		make_chain(&f, frame.root.nodes, pairs, way % 2);
		frame.root.first = frame.root.nodes->items[0];
		frame.root.nodes = NULL;
		while (way / 2 == 2 && gc_collect_step(f.thread))
			;
		gc_collect(f.thread, way / 2 == 1 ? GC_COLLECT_FULL : GC_COLLECT_MINOR);
		check_chain(pairs, frame.root.first);
		gc_collect(f.thread, GC_COLLECT_FULL);
		check_chain(pairs, frame.root.first);
		for (int i = 0; i < PAIRS; i++)
			gc_weak_destroy(f.thread, pairs[i]);
	}
	FIXTURE_END(f, frame);
}

TEST(gc_ephemerons_of_keys_that_die_young_promote_nothing)
{
	struct gc_options options = small_options();
	struct gc_weak *pair;
	struct fixture f;
	struct node *key;

	fixture_open(&f, &options);
	GC_FRAME(f.thread, frame, 0, struct node * key;);
	frame.root.key = GC_NEW(f.thread, f.node, struct node);
	key = GC_NEW(f.thread, f.node, struct node);
	CHECK_EQ(gc_weak_create(f.thread, frame.root.key, key, &pair), 0);
	frame.root.key = NULL;
	gc_collect(f.thread, GC_COLLECT_MINOR);
	CHECK(!gc_weak_get(pair) && !gc_weak_value(pair));
	CHECK_EQ(f.heap->stats.promoted_bytes, 0);
	gc_weak_destroy(f.thread, pair);
	FIXTURE_END(f, frame);
}

/* An arena with objects in its first page only is in use. Every second one has none and is given
 * back. */
TEST(gc_arenas_with_a_single_page_in_use_are_kept)
{
	enum { MANY = 400000 };
	struct gc_options options = small_options();
	uint64_t kept = 0, found = 0;
	struct fixture f;

	fixture_open(&f, &options);
	GC_FRAME(f.thread, frame, 0, struct node * list; struct node * kept;);
	for (uint64_t i = 0; i < MANY; i++) {
		struct node *node = GC_NEW(f.thread, f.node, struct node);

		node->value = i;
		gc_write(f.thread, node, &node->left, frame.root.list);
		frame.root.list = node;
	}
	gc_collect(f.thread, GC_COLLECT_FULL);
	for (struct node *node = frame.root.list; node; node = node->left) {
		if (chunk_of(node)->index % 2 ||
		    ((uintptr_t)node & (CHUNK_SIZE - 1)) / PAGE_SIZE != META_PAGES)
			continue;
		gc_write(f.thread, node, &node->right, frame.root.kept);
		frame.root.kept = node;
		kept++;
	}
	for (struct node *node = frame.root.kept; node; node = node->right)
		gc_write(f.thread, node, &node->left, NULL);
	frame.root.list = NULL;
	CHECK(kept > 1000);
	gc_collect(f.thread, GC_COLLECT_FULL);
	CHECK(f.heap->old.released > 2);
	for (struct node *node = frame.root.kept; node; node = node->right) {
		CHECK(node->value < MANY && node->header.type == f.node);
		found++;
	}
	CHECK_EQ(found, kept);
	FIXTURE_END(f, frame);
}

static uint32_t n_samples, n_fates;

static void count_samples(enum probe_number probe, const void *arguments)
{
	n_samples += probe == PROBE_sample;
	if (probe == PROBE_fate)
		n_fates += (uint32_t)((const struct probe_fate *)arguments)->count;
}

static void open_sampled(struct fixture *f)
{
	struct gc_options options = small_options();

	options.sampling.always_sample = 1;
	options.sampling.fixed_stride = 2;
	options.sampling.ceiling = UINT64_MAX;
	probe_observer = count_samples;
	fixture_open(f, &options);
}

TEST(gc_samples_of_threads_that_are_gone_have_a_fate)
{
	struct gc_thread *other;
	struct fixture f;

	open_sampled(&f);
	CHECK_EQ(gc_thread_attach(f.heap, &other), 0);
	for (int i = 0; i < 100; i++)
		GC_NEW(other, f.node, struct node);
	gc_thread_detach(other);
	CHECK_EQ(n_samples, 100);
	CHECK_EQ(n_fates, 0);
	gc_collect(f.thread, GC_COLLECT_MINOR);
	CHECK_EQ(n_fates, 100);
	fixture_close(&f);
}

/* It is in the slow path because of a hit, perhaps: a pause that took that away would bias. */
TEST(gc_the_object_that_notices_a_pause_keeps_its_hit)
{
	struct fixture f;

	open_sampled(&f);
	for (uint32_t round = 1; round <= 100; round++) {
		GC_NEW(f.thread, f.node, struct node);
		gc_sampling_pause(f.heap);
		GC_NEW(f.thread, f.node, struct node);
		CHECK_EQ(n_samples, 2 * round);
		for (int i = 0; i < 10; i++)
			GC_NEW(f.thread, f.node, struct node);
		CHECK_EQ(n_samples, 2 * round);
		gc_sampling_resume(f.heap);
	}
	fixture_close(&f);
}

/* What a thread did that blocks, or returns, while others collect. */
static struct {
	struct gc_thread *thread;
	uint32_t collecting, returning, late; /* atomic */
} blocker;

/* Runs, without a safepoint, until a collection waits for it; then it blocks until that is over. */
static void *block_when_waited_for(void *context)
{
	struct fixture *f = context;

	CHECK_EQ(gc_thread_attach(f->heap, &blocker.thread), 0);
	__atomic_store_n(&blocker.collecting, 1, __ATOMIC_RELEASE);
	while (!threads_stop_wanted(f->heap))
		sched_yield();
	/* Until it sleeps in its wait. */
	usleep(20000);
	gc_blocking_begin(blocker.thread);
	for (int i = 0; __atomic_load_n(&blocker.collecting, __ATOMIC_ACQUIRE); i++) {
		usleep(1000);
		blocker.late = i == 20000;
		if (blocker.late)
			break;
	}
	gc_blocking_end(blocker.thread);
	gc_thread_detach(blocker.thread);
	return NULL;
}

TEST(gc_blocking_lets_a_collection_go_on_that_waits)
{
	struct gc_options options = small_options();
	pthread_t thread;
	struct fixture f;

	fixture_open(&f, &options);
	CHECK_EQ(pthread_create(&thread, NULL, block_when_waited_for, &f), 0);
	while (!__atomic_load_n(&blocker.collecting, __ATOMIC_ACQUIRE))
		sched_yield();
	gc_collect(f.thread, GC_COLLECT_MINOR);
	__atomic_store_n(&blocker.collecting, 0, __ATOMIC_RELEASE);
	gc_blocking_begin(f.thread);
	pthread_join(thread, NULL);
	gc_blocking_end(f.thread);
	CHECK(!blocker.late);
	fixture_close(&f);
}

static void *block_and_return(void *context)
{
	struct fixture *f = context;

	CHECK_EQ(gc_thread_attach(f->heap, &blocker.thread), 0);
	gc_blocking_begin(blocker.thread);
	__atomic_store_n(&blocker.collecting, 1, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&blocker.returning, __ATOMIC_ACQUIRE))
		sched_yield();
	gc_blocking_end(blocker.thread);
	gc_thread_detach(blocker.thread);
	return NULL;
}

/* At the end of a collection, with the world stopped: has the thread return, and gives it time. It
 * must not look at the sampler's news before it parks. */
static void let_it_return(void *context, const struct gc_hook_event *event)
{
	(void)event;
	CHECK(__atomic_load_n(&blocker.thread->news, __ATOMIC_SEQ_CST));
	if (__atomic_exchange_n(&blocker.returning, 1, __ATOMIC_ACQ_REL))
		return;
	while (__atomic_load_n(&blocker.thread->state, __ATOMIC_SEQ_CST) == THREAD_BLOCKED)
		sched_yield();
	usleep(20000);
	*(bool *)context = __atomic_load_n(&blocker.thread->news, __ATOMIC_SEQ_CST);
}

TEST(gc_blocked_threads_touch_nothing_before_a_collection_ended)
{
	struct gc_options options = small_options();
	bool untouched = false;
	pthread_t thread;
	struct fixture f;

	fixture_open(&f, &options);
	CHECK_EQ(pthread_create(&thread, NULL, block_and_return, &f), 0);
	while (!__atomic_load_n(&blocker.collecting, __ATOMIC_ACQUIRE))
		sched_yield();
	gc_hook_set(f.heap, let_it_return, &untouched);
	gc_sampling_resume(f.heap);
	gc_collect(f.thread, GC_COLLECT_MINOR);
	gc_hook_set(f.heap, NULL, NULL);
	CHECK(untouched);
	gc_blocking_begin(f.thread);
	pthread_join(thread, NULL);
	gc_blocking_end(f.thread);
	fixture_close(&f);
}

TEST(gc_every_object_is_sampled_be_it_the_smallest)
{
	struct gc_type_desc desc = {.name = "header", .size = sizeof(struct gc_header)};
	gc_type type;
	struct fixture f;

	open_sampled(&f);
	CHECK_EQ(gc_type_register(f.heap, &desc, &type), 0);
	for (uint32_t i = 1; i <= 10000; i++) {
		CHECK(gc_alloc(f.thread, type, sizeof(struct gc_header)));
		CHECK_EQ(n_samples, i);
	}
	fixture_close(&f);
}

/* Makes objects that live until a major collection begins; returns how large the heap was then. */
static uint64_t grow(struct fixture *f, struct node **list)
{
	struct gc_stats stats;

	while (f->heap->major.phase == GCPROF_PHASE_SCANNING) {
		struct node *node = GC_NEW(f->thread, f->node, struct node);

		node->left = *list;
		*list = node;
	}
	gc_stats(f->heap, &stats);
	return stats.live_bytes;
}

/* At the smallest heap, then at so many times what the last one left, give or take a nursery. */
TEST(gc_major_collections_begin_when_options_say)
{
	struct gc_options options = small_options();
	struct gc_stats stats;
	struct fixture f;
	uint64_t large;

	options.min_heap = 1 << 20;
	options.growth = 2;
	fixture_open(&f, &options);
	GC_FRAME(f.thread, frame, 0, struct node * list;);
	large = grow(&f, &frame.root.list);
	CHECK(large > options.min_heap && large <= options.min_heap + options.nursery_size);
	for (int round = 0; round < 3; round++) {
		gc_collect(f.thread, GC_COLLECT_FULL);
		gc_stats(f.heap, &stats);
		large = grow(&f, &frame.root.list);
		CHECK(large > 2 * stats.live_bytes);
		CHECK(large <= 2 * stats.live_bytes + options.nursery_size);
	}
	frame.root.list = NULL;
	gc_collect(f.thread, GC_COLLECT_FULL);
	large = grow(&f, &frame.root.list);
	CHECK(large > options.min_heap && large <= options.min_heap + options.nursery_size);
	FIXTURE_END(f, frame);
}

/* Which takes the more steps the larger the heap is, and not one that is longer. */
TEST(gc_sweeping_is_done_in_steps)
{
	struct gc_options options = small_options();
	uint64_t steps, arenas;
	struct fixture f;

	options.min_heap = 10 << 20;
	fixture_open(&f, &options);
	GC_FRAME(f.thread, frame, 0, struct node * list;);
	grow(&f, &frame.root.list);
	while (f.heap->major.phase != GCPROF_PHASE_SWEEPING)
		gc_collect_step(f.thread);
	arenas = f.heap->old.sweep_end;
	CHECK(arenas >= 20);
	for (steps = 0; f.heap->major.phase == GCPROF_PHASE_SWEEPING; steps++)
		gc_collect_step(f.thread);
	CHECK(steps >= arenas / 2 && steps <= 2 * arenas);
	FIXTURE_END(f, frame);
}
