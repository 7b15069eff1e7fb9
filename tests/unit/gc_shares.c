/* SPDX-License-Identifier: BSD-2-Clause */
/* gc_shares.c: tests of where in the nursery several threads allocate, and of how they wait. */
#include "gc_test.h"

#include "shares.h"

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_THREADS = 20, ALLOCATIONS = 100000, SIZE = 200 };

struct worker {
	struct fixture *f;
	pthread_t thread;
	uint32_t *waiting; /* atomic: threads that are to begin together, and have not attached */
	bool *go_on;       /* atomic; NULL: it allocates instead of waiting for its end */
};

static void shares_cover_the_nursery(const struct gc_heap *heap)
{
	const struct gc_nursery *nursery = &heap->nursery;
	const char *start = nursery->base;

	for (uint32_t i = 0; i < nursery->n_shares; i++) {
		CHECK(nursery->shares[i].next == start);
		CHECK(nursery->shares[i].end >= start + 4 * heap->options.buffer_size);
		start = nursery->shares[i].end;
	}
	CHECK(start == nursery->base + nursery->size);
	CHECK_EQ(nursery->taken, 0);
}

TEST(gc_shares_share_the_nursery_among_running_threads)
{
	struct gc_options options = small_options();
	struct gc_thread *threads[MOST_THREADS];
	struct gc_nursery *nursery;
	struct fixture f;

	options.nursery_size = 1 << 20;
	fixture_open(&f, &options);
	nursery = &f.heap->nursery;
	for (uint32_t i = 0; i < MOST_THREADS; i++) {
		uint32_t running = i + 2;

		CHECK_EQ(gc_thread_attach(f.heap, &threads[i]), 0);
		shares_cut(f.heap, shares_number(f.heap));
		CHECK_EQ(nursery->n_shares, running < SHARES_MAX ? running : SHARES_MAX);
		CHECK_EQ(f.thread->share, 0);
		CHECK_EQ(threads[i]->share, i + 1);
		CHECK(nursery->buffer >= options.buffer_size);
		CHECK(nursery->buffer <= options.large_size);
		shares_cover_the_nursery(f.heap);
	}
	for (uint32_t i = 0; i < MOST_THREADS; i++)
		gc_blocking_begin(threads[i]);
	shares_cut(f.heap, shares_number(f.heap));
	CHECK_EQ(nursery->n_shares, 1);
	CHECK_EQ(nursery->buffer, options.buffer_size);
	shares_cover_the_nursery(f.heap);
	for (uint32_t i = 0; i < MOST_THREADS; i++)
		gc_thread_detach(threads[i]);
	fixture_close(&f);
}

enum { NURSERY = 1 << 20, PROCESSORS = 4 };

/* A heap as on a machine with so many processors, and threads that run. */
static void open_on_processors(struct fixture *f, struct gc_thread *threads[], size_t max_heap)
{
	struct gc_options options = small_options();

	options.nursery_size = NURSERY;
	options.max_heap = max_heap;
	options.min_heap = 4 * NURSERY;
	fixture_open(f, &options);
	nursery_free(f->heap);
	f->heap->processors = PROCESSORS;
	CHECK_EQ(nursery_init(f->heap), 0);
	limit_drop_buffer(f->thread);
	for (int i = 0; i < MOST_THREADS; i++)
		CHECK_EQ(gc_thread_attach(f->heap, &threads[i]), 0);
	for (int i = 0; i < MOST_THREADS; i++)
		gc_blocking_begin(threads[i]);
}

/* So many of them run when the nursery is emptied. */
static size_t size_with(struct fixture *f, struct gc_thread *threads[], int running)
{
	for (int i = 0; i < running; i++)
		gc_blocking_end(threads[i]);
	nursery_empty(f->heap);
	for (int i = 0; i < running; i++)
		gc_blocking_begin(threads[i]);
	return f->heap->nursery.size;
}

static void close_threads(struct fixture *f, struct gc_thread *threads[])
{
	for (int i = 0; i < MOST_THREADS; i++)
		gc_thread_detach(threads[i]);
	fixture_close(f);
}

TEST(gc_nursery_grows_with_running_threads_up_to_the_processors)
{
	struct gc_thread *threads[MOST_THREADS];
	struct gc_nursery *nursery;
	struct fixture f;

	open_on_processors(&f, threads, 0);
	nursery = &f.heap->nursery;
	CHECK_EQ(nursery->end - nursery->base, PROCESSORS * NURSERY);
	for (int running = 0; running <= MOST_THREADS; running++) {
		int n = running + 1 < PROCESSORS ? running + 1 : PROCESSORS;

		CHECK_EQ(size_with(&f, threads, running), n * NURSERY);
		shares_cover_the_nursery(f.heap);
	}
	CHECK_EQ(size_with(&f, threads, 0), NURSERY);
	close_threads(&f, threads);
}

TEST(gc_nursery_does_not_grow_beyond_what_survives_of_one)
{
	struct gc_thread *threads[MOST_THREADS];
	struct fixture f;

	open_on_processors(&f, threads, 0);
	f.heap->major.used = NURSERY;
	f.heap->major.promoted = NURSERY / 3;
	CHECK_EQ(size_with(&f, threads, PROCESSORS), 3 * NURSERY);
	f.heap->major.promoted = NURSERY;
	CHECK_EQ(size_with(&f, threads, PROCESSORS), NURSERY);
	/* A large object that survived is no part of it. */
	f.heap->major.promoted = 2 * NURSERY;
	CHECK_EQ(size_with(&f, threads, PROCESSORS), NURSERY);
	close_threads(&f, threads);
}

TEST(gc_nursery_grows_only_within_the_maximum_of_the_heap)
{
	struct gc_thread *threads[MOST_THREADS];
	struct fixture f;

	open_on_processors(&f, threads, 8 * NURSERY);
	CHECK_EQ(size_with(&f, threads, PROCESSORS), PROCESSORS * NURSERY);
	CHECK(gc_alloc_array(f.thread, f.bytes, NURSERY) != NULL);
	CHECK_EQ(size_with(&f, threads, PROCESSORS), NURSERY);
	CHECK_EQ(size_with(&f, threads, 1), 2 * NURSERY);
	close_threads(&f, threads);
}

enum { LARGE_NURSERY = 2 * NURSERY_CACHED };

/* Allocates so many nurseries of nodes; one of two lives until so many nodes were made. Returns how
 * many collections emptied a nursery of more than what stays in caches. */
static int count_large(struct fixture *f, int nurseries, uint64_t life)
{
	const uint64_t nodes = (uint64_t)nurseries * LARGE_NURSERY / sizeof(struct node);
	const uint64_t *minors = &f->heap->stats.minor_collections;
	int large = 0;
	GC_FRAME(f->thread, frame, 0, struct cells * kept;);

	frame.root.kept = life ? gc_alloc_array(f->thread, f->cells, life / 2) : NULL;
	for (uint64_t i = 0; i < nodes; i++) {
		size_t size = f->heap->nursery.size;
		uint64_t before = *minors;
		struct node *node = new_node(f, i);

		if (life && i % 2)
			gc_array_write(f->thread, frame.root.kept, frame.root.kept->items,
				       i / 2 % (life / 2), node);
		large += *minors > before && size > NURSERY_CACHED;
	}
	GC_FRAME_END(f->thread, frame);
	return large;
}

/* It leaves the caches where that gives many objects time to die, and not for others. */
TEST(gc_nursery_is_larger_than_caches_only_where_that_pays)
{
	const uint64_t cached = NURSERY_CACHED / sizeof(struct node);
	struct gc_options options = small_options();
	struct fixture f;

	options.nursery_size = LARGE_NURSERY;
	options.min_heap = 2 * LARGE_NURSERY;
	fixture_open(&f, &options);
	CHECK_EQ(f.heap->nursery.size, NURSERY_CACHED);
	/* All die at once. */
	CHECK_EQ(count_large(&f, 3, 0), 0);
	/* They live for as long as it takes to fill what stays in caches. */
	CHECK(count_large(&f, 6, cached) >= 4);
	CHECK_EQ(f.heap->nursery.size, LARGE_NURSERY);
	/* That is given up when all die again; the first collection still finds the last of those.
	 */
	CHECK(count_large(&f, 3, 0) <= 2);
	CHECK_EQ(f.heap->nursery.size, NURSERY_CACHED);
	/* They live for longer: a larger nursery saves nothing. It is tried, and again after one,
	 * two and four of them. */
	CHECK_EQ(count_large(&f, 8, 8 * cached), 3);
	CHECK_EQ(count_large(&f, 5, 8 * cached), 1);
	CHECK_EQ(f.heap->nursery.size, NURSERY_CACHED);
	fixture_close(&f);
}

/* Where a larger nursery ends nothing is alive, which says nothing of what smaller ones promote. */
TEST(gc_nursery_is_larger_again_where_it_paid)
{
	struct gc_options options = small_options();
	const size_t batch = LARGE_NURSERY / 4 * 3 / sizeof(struct node);
	int large = 0;
	struct fixture f;

	options.nursery_size = LARGE_NURSERY;
	options.min_heap = 8 * LARGE_NURSERY;
	fixture_open(&f, &options);
	GC_FRAME(f.thread, frame, 0, struct node * list;);
	for (size_t i = 0; i < 16 * batch; i++) {
		uint64_t before = f.heap->stats.minor_collections;
		size_t size = f.heap->nursery.size;
		struct node *node = new_node(&f, i);

		gc_write(f.thread, node, &node->left,
			 (i + batch / 64) % batch ? frame.root.list : NULL);
		frame.root.list = node;
		large += f.heap->stats.minor_collections > before && size > NURSERY_CACHED;
	}
	/* Each second collection but for the first ones. */
	CHECK(large >= 6);
	FIXTURE_END(f, frame);
}

/* What threads used that are gone is given back by major collections, a part in each. */
TEST(gc_nursery_is_given_back_when_threads_are_gone)
{
	struct gc_thread *threads[MOST_THREADS];
	struct gc_nursery *nursery;
	struct fixture f;
	size_t whole;

	open_on_processors(&f, threads, 0);
	nursery = &f.heap->nursery;
	whole = size_with(&f, threads, PROCESSORS);
	CHECK_EQ(whole, PROCESSORS * NURSERY);
	memset(nursery->base, 1, whole);
	size_with(&f, threads, 0);
	gc_collect(f.thread, GC_COLLECT_FULL); /* it was used since the last one */
	CHECK_EQ(os_resident(nursery->base, whole), whole);
	for (int i = 1; i < PROCESSORS + 2; i++) {
		int left = i < PROCESSORS ? PROCESSORS - i : 1;

		gc_collect(f.thread, GC_COLLECT_FULL);
		CHECK_EQ(os_resident(nursery->base, whole), left * NURSERY);
	}
	close_threads(&f, threads);
}

/* No thread collects between two allocations: this thread would have to stop for that. */
static void check_lane(const struct worker *w, const struct gc_thread *thread, const void *object)
{
	const struct gc_nursery *nursery = &w->f->heap->nursery;
	const struct gc_share *share = &nursery->shares[thread->share % nursery->n_shares];
	const char *start = share == nursery->shares ? nursery->base : share[-1].end;
	const char *next = __atomic_load_n(&share->next, __ATOMIC_RELAXED);

	if ((uintptr_t)object - (uintptr_t)start < (uintptr_t)(share->end - start))
		return;
	CHECK((size_t)(share->end - next) < nursery->buffer);
}

static void *work(void *argument)
{
	struct worker *w = argument;
	struct gc_thread *thread;

	CHECK_EQ(gc_thread_attach(w->f->heap, &thread), 0);
	__atomic_fetch_sub(w->waiting, 1, __ATOMIC_ACQ_REL);
	while (__atomic_load_n(w->waiting, __ATOMIC_ACQUIRE))
		gc_safepoint(thread);
	for (int i = 0; !w->go_on && i < ALLOCATIONS; i++)
		check_lane(w, thread, gc_alloc_array(thread, w->f->bytes, SIZE));
	while (w->go_on && __atomic_load_n(w->go_on, __ATOMIC_ACQUIRE))
		gc_safepoint(thread);
	gc_thread_detach(thread);
	return NULL;
}

static void run_workers(struct fixture *f, uint32_t n)
{
	struct worker workers[MOST_THREADS];
	uint32_t waiting = n;

	gc_blocking_begin(f->thread);
	for (uint32_t i = 0; i < n; i++) {
		workers[i] = (struct worker){.f = f, .waiting = &waiting};
		CHECK_EQ(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
	}
	for (uint32_t i = 0; i < n; i++)
		pthread_join(workers[i].thread, NULL);
	gc_blocking_end(f->thread);
}

TEST(gc_shares_of_others_are_used_only_when_ones_own_is_used_up)
{
	struct gc_options options = small_options();
	struct fixture f;

	options.nursery_size = 256 << 10;
	fixture_open(&f, &options);
	run_workers(&f, 3);
	fixture_close(&f);
}

/* With a share each, of which all but one lie idle, there are no more collections than without. */
TEST(gc_shares_of_idle_threads_are_used_too)
{
	struct gc_options options = small_options();
	struct worker workers[3];
	uint32_t waiting = 3;
	bool go_on = true;
	struct gc_stats stats;
	struct fixture f;

	options.nursery_size = 256 << 10;
	fixture_open(&f, &options);
	for (int i = 0; i < 3; i++) {
		workers[i] = (struct worker){.f = &f, .waiting = &waiting, .go_on = &go_on};
		CHECK_EQ(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
	}
	while (f.heap->nursery.n_shares < 4)
		gc_collect(f.thread, GC_COLLECT_MINOR);
	gc_stats(f.heap, &stats);
	uint64_t minors = stats.minor_collections, bytes = stats.allocated_bytes;
	for (int i = 0; i < ALLOCATIONS; i++)
		gc_alloc_array(f.thread, f.bytes, SIZE);
	gc_stats(f.heap, &stats);
	minors = stats.minor_collections - minors;
	bytes = stats.allocated_bytes - bytes;
	CHECK(minors >= bytes / f.heap->nursery.size - 1);
	CHECK(minors <= bytes * 10 / 9 / f.heap->nursery.size + 1);
	__atomic_store_n(&go_on, false, __ATOMIC_RELEASE);
	gc_blocking_begin(f.thread);
	for (int i = 0; i < 3; i++)
		pthread_join(workers[i].thread, NULL);
	gc_blocking_end(f.thread);
	fixture_close(&f);
}

/* Threads that have a processor each look for the end of a collection, others sleep till then:
 * whichever they believe must only cost time. */
TEST(gc_threads_wait_on_processors_that_they_have_or_not)
{
	struct gc_options options = small_options();
	struct fixture f;

	for (uint32_t processors = 1; processors <= 16; processors *= 4) {
		fixture_open(&f, &options);
		f.heap->processors = processors;
		run_workers(&f, 6);
		fixture_close(&f);
	}
}

struct looker {
	struct gc_heap *heap;
	uint64_t cycle; /* as it saw it */
};

static void look_at_cycle(void *context, const struct gc_hook_event *event)
{
	struct looker *looker = context;

	(void)event;
	looker->cycle = heap_cycle(looker->heap);
}

/* A thread that finds the nursery full while another has begun to collect, but not stopped it yet,
 * must know afterwards that this was the collection it wanted. */
TEST(gc_collections_count_when_they_have_ended)
{
	struct gc_options options = small_options();
	struct looker looker;
	struct fixture f;

	fixture_open(&f, &options);
	looker.heap = f.heap;
	gc_hook_set(f.heap, look_at_cycle, &looker);
	for (uint64_t i = 0; i < 3; i++) {
		CHECK_EQ(heap_cycle(f.heap), i);
		gc_collect(f.thread, GC_COLLECT_MINOR);
		CHECK_EQ(looker.cycle, i);
	}
	fixture_close(&f);
}

/* Begun, but without having stopped the thread that forks. */
TEST(gc_child_of_a_fork_collects_when_another_thread_had_begun_to)
{
	struct gc_options options = small_options();
	struct fixture f;
	int status;
	pid_t child;

	fixture_open(&f, &options);
	f.heap->cycle++;
	child = fork();
	if (child == 0) {
		alarm(20);
		for (int i = 0; i < ALLOCATIONS; i++)
			gc_alloc_array(f.thread, f.bytes, SIZE);
		_exit(0);
	}
	CHECK(child > 0);
	CHECK(waitpid(child, &status, 0) == child);
	CHECK_EQ(status, 0);
	f.heap->cycle--;
	fixture_close(&f);
}

/* Of a process, in bytes. */
static size_t mapped_size(void)
{
	unsigned long pages = 0;
	FILE *file = fopen("/proc/self/statm", "r");

	CHECK(file && fscanf(file, "%lu", &pages) == 1);
	fclose(file);
	return pages * OS_PAGE;
}

/* With room to grow it is mapped once for each processor, which not every limit allows. */
TEST(gc_nursery_without_room_to_grow_will_do)
{
	struct gc_options options = small_options();
	struct rlimit limit;
	struct gc_heap *heap = NULL;
	struct fixture f;

	if (os_processors() < 2)
		test_skip("one processor: it has no room to grow anyway");
	options.nursery_size = 32 << 20;
	CHECK_EQ(getrlimit(RLIMIT_AS, &limit), 0);
	/* Enough for one and what else there is, too little for two. */
	limit.rlim_cur = mapped_size() + 2 * options.nursery_size - (4 << 20);
	CHECK_EQ(setrlimit(RLIMIT_AS, &limit), 0);
	fixture_open(&f, &options);
	CHECK_EQ(f.heap->nursery.end - f.heap->nursery.base, options.nursery_size);
	GC_FRAME(f.thread, frame, 0, struct node * list;);
	for (int i = 0; i < 20; i++)
		frame.root.list = make_list(&f, 20000);
	CHECK_EQ(frame.root.list->value, 20000);
	GC_FRAME_END(f.thread, frame);
	/* There is none without any nursery at all. */
	CHECK_EQ(gc_heap_create(&options, &heap), -ENOMEM);
	fixture_close(&f);
}
