/* SPDX-License-Identifier: BSD-2-Clause */
/* gc_batch.c: samples by the batch: which wait, for how long, and under which key. */
#include "gc_test.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SAMPLES_MAX = 200000 };

/* All samples in the order in which they were handed over. */
static struct {
	struct gcprof_sample of[SAMPLES_MAX];
	bool single[SAMPLES_MAX];
	uint64_t n, n_single, n_batches, last_batch;
	uint64_t missing; /* fates of samples that were not handed over before */
	bool known[SAMPLES_MAX];
} seen;

static pthread_mutex_t seeing = PTHREAD_MUTEX_INITIALIZER;

static void see(const struct gcprof_sample *sample, bool single)
{
	CHECK(seen.n < SAMPLES_MAX && sample->sample < SAMPLES_MAX);
	CHECK(!seen.known[sample->sample]);
	seen.known[sample->sample] = true;
	seen.single[seen.n] = single;
	seen.of[seen.n++] = *sample;
}

static void see_batch(const struct probe_samples *batch)
{
	const struct gcprof_sample *entries = batch->entries;

	CHECK(batch->count >= 1 && batch->count <= GCPROF_SAMPLES_MAX);
	seen.n_batches++;
	seen.last_batch = batch->count;
	for (uint64_t i = 0; i < batch->count; i++) {
		CHECK(entries[i].stack);
		CHECK(!i || entries[i].time >= entries[i - 1].time);
		CHECK(entries[i].time <= os_now());
		see(&entries[i], false);
	}
}

static void see_fates(const struct probe_fate *fates)
{
	const struct gcprof_fate *entries = fates->entries;

	for (uint64_t i = 0; i < fates->count; i++)
		seen.missing += !seen.known[entries[i].sample];
}

static void observe(enum probe_number probe, const void *arguments)
{
	const struct probe_sample *one = arguments;

	pthread_mutex_lock(&seeing);
	if (probe == PROBE_sample) {
		seen.n_single++;
		see(&(struct gcprof_sample){one->sample, os_now(), one->type, one->size,
					    one->period, one->stack, one->kind, 0},
		    true);
	} else if (probe == PROBE_samples) {
		see_batch(arguments);
	} else if (probe == PROBE_fate) {
		see_fates(arguments);
	}
	pthread_mutex_unlock(&seeing);
}

static void open_batching(struct fixture *f, uint64_t period)
{
	struct gc_options options = batching_options(period);

	memset(&seen, 0, sizeof(seen));
	probe_observer = observe;
	fixture_open(f, &options);
}

static __attribute__((noinline)) void allocate(struct fixture *f, int n)
{
	for (int i = 0; i < n; i++)
		GC_NEW(f->thread, f->node, struct node);
}

static uint64_t waiting(const struct fixture *f)
{
	return batch_waiting(f->thread->sampler);
}

TEST(most_samples_of_one_place_wait)
{
	struct fixture f;

	open_batching(&f, 4096);
	allocate(&f, 400000);
	CHECK(seen.n > 2500);
	CHECK(seen.n_single < seen.n / 4);
	CHECK(seen.n_batches > 10);
	CHECK_EQ(seen.missing, 0);
	fixture_close(&f);
	CHECK_EQ(seen.missing, 0);
}

/* The same seed gives the same samples, one by one or by the batch; only the way differs. */
TEST(nothing_changes_but_the_way)
{
	static struct gcprof_sample before[SAMPLES_MAX];
	struct fixture f;
	uint64_t n;

	open_batching(&f, 2048);
	allocate(&f, 200000);
	fixture_close(&f);
	n = seen.n;
	for (uint64_t i = 0; i < n; i++)
		before[seen.of[i].sample - seen.of[0].sample] = seen.of[i];
	CHECK(seen.n_batches);
	open_batching(&f, 2048);
	f.heap->provider->options.no_batching = 1;
	allocate(&f, 200000);
	fixture_close(&f);
	CHECK_EQ(seen.n_batches, 0);
	CHECK_EQ(seen.n, n);
	for (uint64_t i = 0; i < n; i++) {
		CHECK_EQ(seen.of[i].size, before[i].size);
		CHECK_EQ(seen.of[i].period, before[i].period);
		CHECK_EQ(seen.of[i].kind, before[i].kind);
		CHECK_EQ(seen.of[i].type & 0xffff, before[i].type & 0xffff);
	}
}

/* Allocates until `n` samples wait. */
static void fill(struct fixture *f, uint64_t n)
{
	for (int i = 0; waiting(f) < n; i++) {
		CHECK(i < 10000000);
		allocate(f, 1);
	}
}

TEST(a_collection_comes_behind_what_waits)
{
	struct fixture f;

	open_batching(&f, 512);
	fill(&f, 5);
	gc_collect(f.thread, GC_COLLECT_MINOR);
	CHECK_EQ(waiting(&f), 0);
	CHECK_EQ(seen.missing, 0);
	fixture_close(&f);
}

TEST(samples_are_reported_before_a_thread_blocks_or_leaves)
{
	struct fixture f;

	open_batching(&f, 512);
	fill(&f, 3);
	gc_blocking_begin(f.thread);
	CHECK_EQ(waiting(&f), 0);
	CHECK_EQ(seen.last_batch, 3);
	gc_blocking_end(f.thread);
	fill(&f, 4);
	fixture_close(&f);
	CHECK_EQ(seen.last_batch, 4);
}

static void *allocate_in_thread(void *argument)
{
	struct fixture f = *(struct fixture *)argument;

	CHECK_EQ(gc_thread_attach(f.heap, &f.thread), 0);
	allocate(&f, 200000);
	gc_thread_detach(f.thread);
	return NULL;
}

/* Whichever thread collects, all have handed over what they had. */
TEST(fates_follow_the_samples_of_all_threads)
{
	pthread_t threads[3];
	struct fixture f;

	open_batching(&f, 2048);
	gc_blocking_begin(f.thread);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, allocate_in_thread, &f), 0);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(pthread_join(threads[i], NULL), 0);
	gc_blocking_end(f.thread);
	gc_collect(f.thread, GC_COLLECT_FULL);
	CHECK_EQ(seen.missing, 0);
	CHECK_EQ(seen.n, f.heap->samples);
	fixture_close(&f);
	skip_under_thread_sanitizer();
	CHECK(seen.n_batches > 3);
}

/* Stacks that never come twice are not searched for. */
TEST(where_no_stack_comes_twice_none_gets_a_key)
{
	uint64_t skipped = 0, keyed = 0;
	struct fixture f;

	open_batching(&f, 32);
	GC_FRAME(f.thread, frame, 1, void *root;);
	for (uint32_t i = 0; i < 3000; i++) {
		frame.header.pc = i;
		allocate(&f, 1);
	}
	for (uint64_t i = 0; i < seen.n; i++) {
		skipped += !seen.of[i].stack;
		keyed += seen.of[i].stack != 0;
	}
	CHECK(keyed >= 256);
	CHECK(skipped > keyed);
	FIXTURE_END(f, frame);
}

TEST(a_pause_of_sampling_hands_over)
{
	struct fixture f;

	open_batching(&f, 512);
	fill(&f, 3);
	gc_sampling_pause(f.heap);
	allocate(&f, 1);
	CHECK_EQ(waiting(&f), 0);
	/* The object that meets the pause may be hit itself: whether, is a matter of time. */
	CHECK(seen.last_batch == 3 || seen.last_batch == 4);
	fixture_close(&f);
}

TEST(a_full_batch_goes)
{
	struct fixture f;

	open_batching(&f, 64);
	for (int i = 0; seen.last_batch < GCPROF_SAMPLES_MAX; i++) {
		CHECK(i < 1000000);
		allocate(&f, 1);
		CHECK(waiting(&f) < GCPROF_SAMPLES_MAX);
	}
	fixture_close(&f);
}

TEST(nothing_waits_for_long_where_the_thread_comes_by)
{
	struct fixture f;

	open_batching(&f, 512);
	fill(&f, 2);
	usleep(15000);
	/* At the pace so far the clock is not read each time. */
	for (int i = 0; i < 32; i++)
		gc_safepoint_slow(f.thread);
	CHECK_EQ(waiting(&f), 0);
	fixture_close(&f);
}

TEST(rare_samples_do_not_wait)
{
	struct fixture f;

	open_batching(&f, 32);
	for (int i = 0; i < 20; i++) {
		usleep(12000);
		allocate(&f, 1);
	}
	CHECK(seen.n >= 3);
	CHECK_EQ(seen.n_single, seen.n);
	for (uint64_t i = 0; i < seen.n; i++)
		CHECK_EQ(seen.of[i].stack, 0);
	fixture_close(&f);
}

/* How often a stack was reported that had been reported before. */
static uint64_t told_again(void)
{
	uint64_t again = 0;

	for (uint64_t i = 0; i < seen.n; i++)
		for (uint64_t k = 0; k < i && seen.single[i] && seen.of[i].stack; k++) {
			if (!seen.single[k] || seen.of[k].stack != seen.of[i].stack)
				continue;
			again++;
			break;
		}
	return again;
}

TEST(a_stack_is_reported_again)
{
	uint64_t began = os_now();
	struct fixture f;

	skip_under_thread_sanitizer();
	open_batching(&f, 16384);
	/* Soon, but on a busy machine this thread may not run for a while. */
	while (os_now() - began < 10000000000 && seen.n < SAMPLES_MAX / 2 && !told_again())
		for (int i = 0; i < 100; i++)
			allocate(&f, 1000);
	fixture_close(&f);
	CHECK(told_again() >= 1);
	CHECK(seen.n_single < seen.n / 2);
}

TEST(a_child_does_not_report_samples_of_its_parent)
{
	struct fixture f;
	int status;
	pid_t child;

	open_batching(&f, 512);
	fill(&f, 4);
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		memset(&seen, 0, sizeof(seen));
		if (waiting(&f))
			_exit(1);
		allocate(&f, 1);
		gc_thread_detach(f.thread);
		/* Keys of the parent mean nothing: the first of the child's is reported in full. */
		_exit(seen.n_batches ? 2 : 0);
	}
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
	CHECK_EQ(WEXITSTATUS(status), 0);
	CHECK_EQ(waiting(&f), 4);
	fixture_close(&f);
	CHECK_EQ(seen.last_batch, 4);
}

/* Each heap has a batch of its own; the thread hands over both. */
TEST(two_heaps_of_one_thread_do_not_meet)
{
	struct gc_options options = small_options();
	struct fixture f, second;

	open_batching(&f, 512);
	options.sampling.no_batching = 0;
	options.sampling.gc_ceiling = UINT64_MAX;
	options.sampling.always_sample = 1;
	options.sampling.period = 512;
	options.sampling.ceiling = UINT64_MAX;
	fixture_open(&second, &options);
	for (int i = 0; i < 2000; i++) {
		allocate(&f, 3);
		allocate(&second, 5);
	}
	CHECK(seen.n_batches);
	fixture_close(&second);
	fixture_close(&f);
	CHECK_EQ(seen.missing, 0);
}

/* The process ends without a word: what its last thread has still comes. */
static int exit_pipe;

static void report_at_exit(enum probe_number probe, const void *arguments)
{
	observe(probe, arguments);
	if (probe == PROBE_samples && exit_pipe &&
	    write(exit_pipe, &seen.last_batch, sizeof(seen.last_batch)) < 0)
		_exit(3);
}

TEST(the_end_of_the_process_hands_over)
{
	uint64_t count = 0;
	struct fixture f;
	int ends[2];
	pid_t child;

	CHECK_EQ(pipe(ends), 0);
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		open_batching(&f, 512);
		fill(&f, 6);
		probe_observer = report_at_exit;
		exit_pipe = ends[1];
		exit(0);
	}
	close(ends[1]);
	CHECK_EQ(read(ends[0], &count, sizeof(count)), sizeof(count));
	CHECK_EQ(count, 6);
	CHECK_EQ(waitpid(child, NULL, 0), child);
}
