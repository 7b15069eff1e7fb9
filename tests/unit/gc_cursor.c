/* SPDX-License-Identifier: BSD-2-Clause */
/* gc_cursor.c: tests of cursors: allocation with its pointer in local variables. */
#include "gc_test.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 60000, MAX_SEEN = N };

/* A sample, and the number of the allocation that it belongs to. */
struct seen {
	uint64_t at;
	uint64_t size;
	uint64_t period;
};

static struct seen seen[2][MAX_SEEN];
static uint32_t n_seen[2];
static uint64_t at;
static unsigned side;

static void observe(enum probe_number probe, const void *arguments)
{
	const struct probe_sample *sample = arguments;

	if (probe != PROBE_sample)
		return;
	CHECK(n_seen[side] < MAX_SEEN);
	seen[side][n_seen[side]++] =
		(struct seen){.at = at, .size = sample->size, .period = sample->period};
}

/* A list of n nodes, through a cursor or without. */
static void *build(struct fixture *f, bool with_cursor, uint64_t n)
{
	struct node *list;
	GC_FRAME(f->thread, frame, 0, struct node * list;);
	struct gc_cursor cursor = gc_cursor_open(f->thread);

	for (uint64_t i = 0; i < n; i++) {
		struct node *node;

		at = i;
		node = with_cursor ? gc_cursor_alloc(f->thread, &cursor, f->node, sizeof(*node))
				   : GC_NEW(f->thread, f->node, struct node);
		CHECK(!node->left && !node->right && !node->value);
		node->value = i;
		gc_write(f->thread, node, &node->left, frame.root.list);
		frame.root.list = node;
	}
	if (with_cursor)
		gc_cursor_close(f->thread, &cursor);
	list = frame.root.list;
	GC_FRAME_END(f->thread, frame);
	return list;
}

static void check_list(const struct node *list, uint64_t n)
{
	for (; list; list = list->left)
		CHECK_EQ(list->value, --n);
	CHECK_EQ(n, 0);
}

TEST(gc_cursor_objects_survive_and_are_counted)
{
	struct gc_options options = small_options();
	struct gc_stats stats;
	struct fixture f;

	fixture_open(&f, &options);
	check_list(build(&f, true, N), N);
	gc_stats(f.heap, &stats);
	CHECK_EQ(stats.allocated_bytes, N * sizeof(struct node));
	CHECK(stats.minor_collections > 20);
	fixture_close(&f);
}

TEST(gc_cursor_goes_on_where_the_thread_is)
{
	struct gc_options options = small_options();
	struct node *first, *second, *third;
	struct gc_cursor cursor;
	struct fixture f;

	fixture_open(&f, &options);
	first = GC_NEW(f.thread, f.node, struct node);
	cursor = gc_cursor_open(f.thread);
	second = gc_cursor_alloc(f.thread, &cursor, f.node, sizeof(*second));
	gc_cursor_close(f.thread, &cursor);
	third = GC_NEW(f.thread, f.node, struct node);
	CHECK(second == first + 1 && third == second + 1);
	fixture_close(&f);
}

static void sample_both(const struct gc_options *options)
{
	for (side = 0; side < 2; side++) {
		struct fixture f;

		n_seen[side] = 0;
		fixture_open(&f, options);
		probe_observer = observe;
		build(&f, side, N);
		probe_observer = NULL;
		fixture_close(&f);
	}
	CHECK(n_seen[0] > 100);
	CHECK_EQ(n_seen[0], n_seen[1]);
	CHECK(!memcmp(seen[0], seen[1], n_seen[0] * sizeof(seen[0][0])));
}

TEST(gc_cursor_samples_are_exactly_those_without)
{
	for (uint32_t stride = 0; stride <= 2; stride++) {
		struct gc_options options = small_options();

		options.sampling.always_sample = 1;
		options.sampling.period = 5000;
		options.sampling.ceiling = UINT64_MAX;
		options.sampling.seed = test_seed() | 1;
		options.sampling.fixed_stride = stride;
		sample_both(&options);
	}
}

/* A change of the period waits for the slow path, and for no longer than the buffer. */
TEST(gc_cursor_hears_of_new_settings_within_a_buffer)
{
	struct gc_options options = small_options();
	struct gc_cursor cursor;
	struct fixture f;

	options.sampling.always_sample = 1;
	options.sampling.period = UINT64_C(1) << 40;
	options.sampling.ceiling = UINT64_MAX;
	fixture_open(&f, &options);
	probe_observer = observe;
	cursor = gc_cursor_open(f.thread);
	gc_cursor_alloc(f.thread, &cursor, f.node, sizeof(struct node));
	gc_sampling_set_period(f.heap, 1);
	for (size_t n = 0; n <= options.buffer_size; n += sizeof(struct node))
		gc_cursor_alloc(f.thread, &cursor, f.node, sizeof(struct node));
	n_seen[side] = 0;
	for (int i = 0; i < 100; i++)
		gc_cursor_alloc(f.thread, &cursor, f.node, sizeof(struct node));
	gc_cursor_close(f.thread, &cursor);
	probe_observer = NULL;
	CHECK_EQ(n_seen[side], 100);
	fixture_close(&f);
}

struct other {
	struct fixture *f;
	uint32_t done; /* atomic */
};

/* Allocates through one cursor until it is told to end. */
static void *allocate_until_done(void *context)
{
	struct other *other = context;
	struct gc_thread *thread;
	struct gc_cursor cursor;

	CHECK_EQ(gc_thread_attach(other->f->heap, &thread), 0);
	cursor = gc_cursor_open(thread);
	while (!__atomic_load_n(&other->done, __ATOMIC_ACQUIRE))
		gc_cursor_alloc(thread, &cursor, other->f->node, sizeof(struct node));
	gc_cursor_close(thread, &cursor);
	gc_thread_detach(thread);
	return NULL;
}

TEST(gc_cursor_lets_other_threads_collect)
{
	struct gc_options options = small_options();
	struct fixture f;
	struct other other = {.f = &f};
	pthread_t thread;

	fixture_open(&f, &options);
	CHECK_EQ(pthread_create(&thread, NULL, allocate_until_done, &other), 0);
	for (int i = 0; i < 200; i++)
		gc_collect(f.thread, i % 10 ? GC_COLLECT_MINOR : GC_COLLECT_FULL);
	__atomic_store_n(&other.done, 1, __ATOMIC_RELEASE);
	gc_blocking_begin(f.thread);
	pthread_join(thread, NULL);
	gc_blocking_end(f.thread);
	fixture_close(&f);
}

#if GC_CHECK
TEST(gc_cursor_that_is_open_in_a_collection_is_found)
{
	struct gc_options options = small_options();
	struct gc_cursor cursor;
	struct fixture f;
	pid_t child = fork();
	int status;

	if (!child) {
		fixture_open(&f, &options);
		cursor = gc_cursor_open(f.thread);
		for (int i = 0; i < 4; i++) /* the first one takes the slow path */
			gc_cursor_alloc(f.thread, &cursor, f.node, sizeof(struct node));
		gc_collect(f.thread, GC_COLLECT_MINOR);
		_exit(0);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK(WIFSIGNALED(status));
	CHECK_EQ(WTERMSIG(status), SIGABRT);
}
#endif
