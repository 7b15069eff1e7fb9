/* SPDX-License-Identifier: BSD-2-Clause */
/* gc_threads.c: tests of many mutator threads, stop-the-world, and blocking regions. */
#include "gc_test.h"

#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { N_THREADS = 6, ROUNDS = 300, LENGTH = 200 };

struct worker {
	struct fixture *f;
	pthread_t thread;
	uint64_t random;
	uint32_t number;
	void *shared; /* a root that all threads read */
};

static uint64_t sum_list(const struct node *list)
{
	uint64_t sum = 0;

	for (; list; list = list->left)
		sum += list->value;
	return sum;
}

/* Builds lists on its own thread, with pauses in every way that a collection can meet. */
static void work(struct worker *w, struct gc_thread *thread)
{
	struct fixture *f = w->f;

	GC_FRAME(thread, frame, 0, struct node * list; struct node * node;);
	for (uint64_t round = 0; round < ROUNDS; round++) {
		frame.root.list = NULL;
		for (uint64_t i = 0; i < LENGTH; i++) {
			frame.root.node = GC_NEW(thread, f->node, struct node);
			frame.root.node->value = i + w->number;
			gc_write(thread, frame.root.node, &frame.root.node->left, frame.root.list);
			frame.root.list = frame.root.node;
			gc_alloc_array(thread, f->bytes, test_random(&w->random) % 3000);
		}
		switch (test_random(&w->random) % 16) {
		case 0:
			gc_collect(thread, GC_COLLECT_MINOR);
			break;
		case 1:
			gc_collect(thread, GC_COLLECT_FULL);
			break;
		case 2:
			gc_blocking_begin(thread);
			usleep(500);
			gc_blocking_end(thread);
			break;
		default:
			gc_safepoint(thread);
		}
		CHECK_EQ(sum_list(frame.root.list), LENGTH * (LENGTH - 1) / 2 + LENGTH * w->number);
	}
	GC_FRAME_END(thread, frame);
}

static void *run_worker(void *argument)
{
	struct worker *w = argument;

	/* Attaching and detaching also happens while others collect. */
	for (int i = 0; i < 3; i++) {
		struct gc_thread *thread;

		CHECK_EQ(gc_thread_attach(w->f->heap, &thread), 0);
		work(w, thread);
		gc_thread_detach(thread);
	}
	return NULL;
}

static void run_workers(const struct gc_options *options)
{
	struct worker workers[N_THREADS];
	struct gc_stats stats;
	struct fixture f;
	uint64_t seed = test_seed();

	fixture_open(&f, options);
	gc_blocking_begin(f.thread);
	for (uint32_t i = 0; i < N_THREADS; i++) {
		workers[i] = (struct worker){.f = &f, .random = seed + i, .number = i};
		CHECK_EQ(pthread_create(&workers[i].thread, NULL, run_worker, &workers[i]), 0);
	}
	for (uint32_t i = 0; i < N_THREADS; i++)
		pthread_join(workers[i].thread, NULL);
	gc_blocking_end(f.thread);
	gc_collect(f.thread, GC_COLLECT_FULL);
	gc_stats(f.heap, &stats);
	CHECK_EQ(stats.live_bytes, 0);
	CHECK(stats.allocated_bytes >
	      3 * N_THREADS * ROUNDS * LENGTH * (sizeof(struct node) + sizeof(struct bytes)));
	fixture_close(&f);
}

TEST(gc_threads_allocate_and_stop)
{
	struct gc_options options = small_options();

	options.nursery_size = 256 << 10;
	run_workers(&options);
}

TEST(gc_threads_allocate_and_stop_while_sampling)
{
	struct gc_options options = small_options();

	options.nursery_size = 256 << 10;
	options.sampling.always_sample = 1;
	options.sampling.period = 4096;
	run_workers(&options);
}

static void *register_types(void *argument)
{
	const struct gc_type_desc desc = {.name = "late", .size = sizeof(struct node)};
	struct worker *w = argument;
	gc_type type;

	for (int i = 0; i < 20000; i++)
		CHECK_EQ(gc_type_register(w->f->heap, &desc, &type), 0);
	__atomic_store_n(&w->number, 1, __ATOMIC_RELEASE);
	return NULL;
}

/* The thread sanitizer sees whether their number is read as it is written. */
TEST(gc_types_are_registered_while_others_allocate)
{
	struct gc_options options = small_options();
	struct fixture f;
	struct worker w = {.f = &f};

	fixture_open(&f, &options);
	CHECK_EQ(pthread_create(&w.thread, NULL, register_types, &w), 0);
	while (!__atomic_load_n(&w.number, __ATOMIC_ACQUIRE))
		for (int i = 0; i < 1000; i++)
			GC_NEW(f.thread, f.node, struct node);
	pthread_join(w.thread, NULL);
	fixture_close(&f);
}

/* Threads that write into one shared old array: remembered by several at once. */
static void *write_shared(void *argument)
{
	struct worker *w = argument;
	struct gc_thread *thread;

	CHECK_EQ(gc_thread_attach(w->f->heap, &thread), 0);
	GC_FRAME(thread, frame, 0, struct node * node;);
	for (uint64_t i = 0; i < 40000; i++) {
		struct cells **shared = (struct cells **)w->shared;
		struct node *node = GC_NEW(thread, w->f->node, struct node);

		node->value = i;
		gc_write(thread, *shared, &(*shared)->items[w->number], node);
		CHECK_EQ(((struct node *)(*shared)->items[w->number])->value, i);
	}
	GC_FRAME_END(thread, frame);
	gc_thread_detach(thread);
	return NULL;
}

TEST(gc_threads_write_into_one_object)
{
	struct gc_options options = small_options();
	struct worker workers[N_THREADS];
	struct fixture f;
	void *shared = NULL;

	fixture_open(&f, &options);
	CHECK_EQ(gc_root_add(f.heap, &shared), 0);
	shared = gc_alloc_array(f.thread, f.cells, N_THREADS);
	gc_collect(f.thread, GC_COLLECT_MINOR);
	gc_blocking_begin(f.thread);
	for (uint32_t i = 0; i < N_THREADS; i++) {
		workers[i] = (struct worker){.f = &f, .number = i, .shared = &shared};
		CHECK_EQ(pthread_create(&workers[i].thread, NULL, write_shared, &workers[i]), 0);
	}
	for (uint32_t i = 0; i < N_THREADS; i++)
		pthread_join(workers[i].thread, NULL);
	gc_blocking_end(f.thread);
	gc_collect(f.thread, GC_COLLECT_FULL);
	for (uint32_t i = 0; i < N_THREADS; i++)
		CHECK_EQ(((struct node *)((struct cells *)shared)->items[i])->value, 39999);
	fixture_close(&f);
}

static void *spin_on_safepoints(void *argument)
{
	struct worker *w = argument;
	struct gc_thread *thread;

	CHECK_EQ(gc_thread_attach(w->f->heap, &thread), 0);
	__atomic_store_n(&w->number, 1, __ATOMIC_RELEASE);
	/* Never allocates: it has no buffer, and must park all the same. */
	while (__atomic_load_n(&w->number, __ATOMIC_ACQUIRE) == 1)
		gc_safepoint(thread);
	gc_thread_detach(thread);
	return NULL;
}

TEST(gc_safepoints_stop_threads_that_do_not_allocate)
{
	struct gc_options options = small_options();
	struct worker w = {0};
	struct fixture f;

	fixture_open(&f, &options);
	w.f = &f;
	CHECK_EQ(pthread_create(&w.thread, NULL, spin_on_safepoints, &w), 0);
	while (!__atomic_load_n(&w.number, __ATOMIC_ACQUIRE))
		sched_yield();
	for (int i = 0; i < 100; i++)
		gc_collect(f.thread, i % 2 ? GC_COLLECT_MINOR : GC_COLLECT_FULL);
	__atomic_store_n(&w.number, 2, __ATOMIC_RELEASE);
	pthread_join(w.thread, NULL);
	fixture_close(&f);
}

static void *block_with_a_root(void *argument)
{
	struct worker *w = argument;
	struct gc_thread *thread;

	CHECK_EQ(gc_thread_attach(w->f->heap, &thread), 0);
	GC_FRAME(thread, frame, 0, struct node * node;);
	frame.root.node = GC_NEW(thread, w->f->node, struct node);
	frame.root.node->value = 4711;
	gc_blocking_begin(thread);
	__atomic_store_n(&w->number, 1, __ATOMIC_RELEASE);
	while (__atomic_load_n(&w->number, __ATOMIC_ACQUIRE) == 1)
		usleep(100);
	gc_blocking_end(thread);
	CHECK_EQ(frame.root.node->value, 4711);
	GC_FRAME_END(thread, frame);
	gc_thread_detach(thread);
	return NULL;
}

TEST(gc_blocked_threads_keep_their_roots_and_delay_no_other)
{
	struct gc_options options = small_options();
	struct worker w = {0};
	struct fixture f;

	fixture_open(&f, &options);
	w.f = &f;
	CHECK_EQ(pthread_create(&w.thread, NULL, block_with_a_root, &w), 0);
	while (!__atomic_load_n(&w.number, __ATOMIC_ACQUIRE))
		sched_yield();
	for (int i = 0; i < 50; i++)
		gc_collect(f.thread, GC_COLLECT_FULL);
	__atomic_store_n(&w.number, 2, __ATOMIC_RELEASE);
	gc_blocking_begin(f.thread);
	pthread_join(w.thread, NULL);
	gc_blocking_end(f.thread);
	fixture_close(&f);
}

/* Overwrites the first request to stop, as an update of the limit that meets it may, and then only
 * passes safepoints. */
static void *lose_a_request(void *argument)
{
	struct worker *w = argument;
	struct gc_thread *thread;
	char **limit, *before;

	CHECK_EQ(gc_thread_attach(w->f->heap, &thread), 0);
	GC_NEW(thread, w->f->node, struct node);
	limit = &((struct gc_thread_head *)thread)->limit;
	before = __atomic_load_n(limit, __ATOMIC_SEQ_CST);
	__atomic_store_n(&w->number, 1, __ATOMIC_RELEASE);
	while (__atomic_load_n(limit, __ATOMIC_SEQ_CST))
		sched_yield();
	__atomic_store_n(limit, before, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&w->number, __ATOMIC_ACQUIRE) == 1)
		gc_safepoint(thread);
	gc_thread_detach(thread);
	return NULL;
}

TEST(gc_a_request_to_stop_that_was_lost_is_made_again)
{
	struct gc_options options = small_options();
	struct worker w = {0};
	struct gc_stats stats;
	struct fixture f;

	fixture_open(&f, &options);
	w.f = &f;
	CHECK_EQ(pthread_create(&w.thread, NULL, lose_a_request, &w), 0);
	while (!__atomic_load_n(&w.number, __ATOMIC_ACQUIRE))
		sched_yield();
	gc_collect(f.thread, GC_COLLECT_MINOR);
	gc_stats(f.heap, &stats);
	CHECK_EQ(stats.minor_collections, 1);
	__atomic_store_n(&w.number, 2, __ATOMIC_RELEASE);
	gc_blocking_begin(f.thread);
	pthread_join(w.thread, NULL);
	gc_blocking_end(f.thread);
	fixture_close(&f);
}

/* Allocates until told to stop, so that forks meet every state. */
static void *churn(void *argument)
{
	struct worker *w = argument;
	struct gc_thread *thread;

	CHECK_EQ(gc_thread_attach(w->f->heap, &thread), 0);
	while (!__atomic_load_n(&w->number, __ATOMIC_ACQUIRE))
		gc_alloc_array(thread, w->f->bytes, test_random(&w->random) % 500);
	gc_thread_detach(thread);
	return NULL;
}

static void fork_and_collect(struct fixture *f, const struct node *root)
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		for (int i = 0; i < 3000; i++)
			GC_NEW(f->thread, f->node, struct node);
		gc_collect(f->thread, GC_COLLECT_FULL);
		_exit(root->value != 5);
	}
	CHECK(child > 0);
	gc_blocking_begin(f->thread);
	CHECK(waitpid(child, &status, 0) == child);
	gc_blocking_end(f->thread);
	CHECK_EQ(status, 0);
}

TEST(gc_child_of_a_threaded_fork_goes_on_alone)
{
	struct gc_options options = small_options();
	struct worker workers[2];
	struct fixture f;

	options.sampling.always_sample = 1;
	options.sampling.period = 2048;
	fixture_open(&f, &options);
	GC_FRAME(f.thread, frame, 0, struct node * node;);
	frame.root.node = GC_NEW(f.thread, f.node, struct node);
	frame.root.node->value = 5;
	gc_collect(f.thread, GC_COLLECT_MINOR);
	for (uint32_t i = 0; i < 2; i++) {
		workers[i] = (struct worker){.f = &f, .random = i};
		CHECK_EQ(pthread_create(&workers[i].thread, NULL, churn, &workers[i]), 0);
	}
	for (int i = 0; i < 30; i++)
		fork_and_collect(&f, frame.root.node);
	gc_blocking_begin(f.thread);
	for (uint32_t i = 0; i < 2; i++) {
		__atomic_store_n(&workers[i].number, 1, __ATOMIC_RELEASE);
		pthread_join(workers[i].thread, NULL);
	}
	gc_blocking_end(f.thread);
	FIXTURE_END(f, frame);
}

/* Replaces objects at random in its part of a large shared array: cards, steps, and all threads. */
static void *replace_at_random(void *argument)
{
	enum { PART = 2000, TIMES = 60000 };
	struct worker *w = argument;
	struct gc_thread *thread;

	CHECK_EQ(gc_thread_attach(w->f->heap, &thread), 0);
	for (uint64_t i = 0; i < TIMES; i++) {
		uint64_t at = test_random(&w->random) % PART, to = test_random(&w->random) % PART;
		struct node *node = GC_NEW(thread, w->f->node, struct node);
		struct cells *shared = *(struct cells **)w->shared;
		struct node **slots = (struct node **)shared->items + w->number * PART;

		/* A new one in one place, none in another. */
		node->value = at;
		gc_write(thread, shared, &slots[at], node);
		if (slots[to])
			CHECK_EQ(slots[to]->value % PART, to);
		gc_write(thread, shared, &slots[to], NULL);
		gc_safepoint(thread);
		if (i % 64 == 0) {
			gc_blocking_begin(thread);
			sched_yield();
			gc_blocking_end(thread);
		}
	}
	gc_thread_detach(thread);
	return NULL;
}

TEST(gc_threads_share_an_array_while_it_is_marked_in_steps)
{
	struct gc_options options = small_options();
	struct worker workers[N_THREADS];
	uint64_t seed = test_seed();
	struct fixture f;
	void *shared = NULL;

	options.growth = 1.1;
	fixture_open(&f, &options);
	CHECK_EQ(gc_root_add(f.heap, &shared), 0);
	shared = gc_alloc_array(f.thread, f.cells, 2000 * N_THREADS);
	gc_collect(f.thread, GC_COLLECT_MINOR);
	gc_blocking_begin(f.thread);
	for (uint32_t i = 0; i < N_THREADS; i++) {
		workers[i] = (struct worker){
			.f = &f, .number = i, .random = seed + i, .shared = &shared};
		CHECK_EQ(pthread_create(&workers[i].thread, NULL, replace_at_random, &workers[i]),
			 0);
	}
	for (uint32_t i = 0; i < N_THREADS; i++)
		pthread_join(workers[i].thread, NULL);
	gc_blocking_end(f.thread);
	CHECK(f.heap->stats.steps > 50);
	CHECK(f.heap->stats.full_collections > 3);
	gc_collect(f.thread, GC_COLLECT_FULL);
	fixture_close(&f);
}
