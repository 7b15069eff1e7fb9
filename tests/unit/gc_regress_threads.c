/* SPDX-License-Identifier: BSD-2-Clause */
/* gc_regress_threads.c: faults of other samplers, with threads, processes and random numbers. */
/*
 * See gc_regress.c for where these come from and what the names mean.
 */
#include "gc_regress.h"

#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EXPONENTIAL = GCPROF_STRIDE_EXPONENTIAL, EVERY = GCPROF_STRIDE_EVERY };

enum { N_WORKERS = 4, OBJECTS = 5000 };

struct worker {
	struct fixture *f;
	pthread_t thread;
	const struct gc_anchor *anchor;
	uint32_t attached, detached, samples;
	uint32_t stop; /* atomic */
};

static _Thread_local struct worker *self;

/* On the thread that it is about, or somebody else would be charged. */
static void observe_self(enum probe_number probe, const void *arguments)
{
	const struct probe_sample *sample = arguments;
	const struct probe_thread *thread = arguments;

	if (!self)
		return;
	if (probe == PROBE_sample) {
		CHECK(sample->anchor && sample->anchor == self->anchor);
		self->samples++;
	} else if (probe == PROBE_thread && thread->event == GCPROF_THREAD_ATTACH) {
		self->anchor = thread->anchor;
		self->attached++;
	} else if (probe == PROBE_thread && thread->event == GCPROF_THREAD_DETACH) {
		CHECK(thread->anchor == self->anchor);
		self->detached++;
	}
}

static void *allocate_some(void *argument)
{
	struct gc_thread *thread;

	self = argument;
	CHECK_EQ(gc_thread_attach(self->f->heap, &thread), 0);
	CHECK(self->anchor == &thread->head.anchor);
	for (int i = 0; i < OBJECTS; i++)
		gc_alloc_array(thread, self->f->bytes, 100);
	while (!__atomic_load_n(&self->stop, __ATOMIC_ACQUIRE)) {
		gc_safepoint(thread);
		sched_yield();
	}
	gc_thread_detach(thread);
	return NULL;
}

static void stop_all(struct worker *workers, int n)
{
	for (int i = 0; i < n; i++)
		__atomic_store_n(&workers[i].stop, 1, __ATOMIC_RELEASE);
	for (int i = 0; i < n; i++)
		pthread_join(workers[i].thread, NULL);
}

/* The thread's number was read where there was none: all samples were of one thread. */
TEST(b12_samples_are_of_the_thread_that_allocated)
{
	struct worker workers[N_WORKERS];
	struct fixture f;

	seen_open(&f, EVERY, 1);
	probe_observer = observe_self;
	gc_blocking_begin(f.thread);
	for (int i = 0; i < N_WORKERS; i++) {
		workers[i] = (struct worker){.f = &f};
		CHECK_EQ(pthread_create(&workers[i].thread, NULL, allocate_some, &workers[i]), 0);
	}
	while (__atomic_load_n(&f.heap->samples, __ATOMIC_RELAXED) < N_WORKERS * OBJECTS)
		sched_yield();
	stop_all(workers, N_WORKERS);
	gc_blocking_end(f.thread);
	for (int i = 0; i < N_WORKERS; i++) {
		CHECK_EQ(workers[i].samples, OBJECTS);
		CHECK_EQ(workers[i].attached, 1);
		CHECK_EQ(workers[i].detached, 1);
		for (int k = 0; k < i; k++)
			CHECK(workers[i].anchor != workers[k].anchor);
	}
	fixture_close(&f);
}

static int child_status(pid_t child)
{
	int status;

	CHECK(child > 0 && waitpid(child, &status, 0) == child);
	return status;
}

/* What the child reports: nothing of the parent's samples, everything of its own. */
static void check_child(struct fixture *f, uint64_t parents)
{
	seen.n_fates = seen.n_periods = 0;
	gc_collect(f->thread, GC_COLLECT_FULL);
	CHECK_EQ(seen.n_fates, 0);
	/* Its sampling begins. */
	CHECK_EQ(seen.n_periods, 1);
	CHECK_EQ(seen.periods[0].reason, GCPROF_PERIOD_START);
	for (int i = 0; i < 500; i++)
		GC_NEW(f->thread, f->node, struct node);
	CHECK_EQ(seen.last, parents + 500);
	gc_collect(f->thread, GC_COLLECT_FULL);
	CHECK_EQ(seen.n_fates, 500);
	for (uint64_t id = 1; id <= parents; id++)
		CHECK_EQ(seen.of[id].died, 0);
}

/* The child kept the list of sampled objects and wrote to the parent's file. */
TEST(b14_a_child_starts_with_no_samples)
{
	struct fixture f;
	pid_t child;

	seen_open(&f, EVERY, 1);
	GC_FRAME(f.thread, frame, 0, struct node * list;);
	for (int i = 0; i < 1000; i++) {
		struct node *node = GC_NEW(f.thread, f.node, struct node);

		gc_write(f.thread, node, &node->left, frame.root.list);
		frame.root.list = node;
		if (i == 500)
			gc_collect(f.thread, GC_COLLECT_MINOR);
	}
	child = fork();
	if (child == 0) {
		frame.root.list = NULL;
		check_child(&f, 1000);
		_exit(0);
	}
	CHECK_EQ(child_status(child), 0);
	/* The parent goes on with all of them. */
	frame.root.list = NULL;
	gc_collect(f.thread, GC_COLLECT_FULL);
	for (uint64_t id = 1; id <= 1000; id++)
		CHECK_EQ(seen.of[id].died, 1);
	FIXTURE_END(f, frame);
}

/* Only read, write and exit are allowed: anything else ends the child with SIGKILL. */
static void sample_without_calls(struct fixture *f)
{
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
		syscall(SYS_exit, 77);
	for (int i = 0; i < 20000; i++)
		new_bytes(f, 64);
	syscall(SYS_exit, seen.last == 40000 ? 0 : 1);
}

/* Signal masks and /proc were read for every sample. */
TEST(b25_a_sample_makes_no_system_call)
{
	struct gc_options options = seen_options(EVERY, 1);
	struct fixture f;
	pid_t child;
	int status;

	skip_under_thread_sanitizer();
	options.nursery_size = 4 << 20;
	fixture_open(&f, &options);
	child = fork();
	if (child == 0) {
		/* Tables grow, and keep what they have. */
		for (int i = 0; i < 20000; i++)
			new_bytes(&f, 64);
		gc_collect(f.thread, GC_COLLECT_MINOR);
		sample_without_calls(&f);
	}
	status = child_status(child);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		test_skip("the kernel has no seccomp");
	CHECK_EQ(status, 0);
	fixture_close(&f);
}

/* What the first point of a process of its own would be. */
static int64_t gap_of_child(void)
{
	int64_t gap = 0;
	int ends[2];
	pid_t child;

	CHECK_EQ(pipe(ends), 0);
	child = fork();
	if (child == 0) {
		struct gc_options options = seen_options(EXPONENTIAL, UINT64_C(1) << 40);
		struct fixture f;

		options.sampling.seed = 0;
		fixture_open(&f, &options);
		gap = f.thread->sampler->head.budget;
		_exit(write(ends[1], &gap, sizeof(gap)) != sizeof(gap));
	}
	CHECK_EQ(child_status(child), 0);
	CHECK_EQ(read(ends[0], &gap, sizeof(gap)), sizeof(gap));
	close(ends[0]);
	close(ends[1]);
	return gap;
}

/* The generator was seeded with the period: all processes sampled the same allocations. */
TEST(b31_no_two_processes_draw_the_same)
{
	int64_t gaps[20];

	for (int i = 0; i < 20; i++) {
		gaps[i] = gap_of_child();
		for (int k = 0; k < i; k++)
			CHECK(gaps[i] != gaps[k]);
	}
}

/* Nor two threads, nor a child and its parent, also where the seed is given. */
TEST(b31_no_two_threads_draw_the_same)
{
	struct gc_options options = seen_options(EXPONENTIAL, UINT64_C(1) << 40);
	struct gc_thread *second;
	uint64_t before[4];
	struct fixture f;
	pid_t child;

	fixture_open(&f, &options);
	CHECK_EQ(gc_thread_attach(f.heap, &second), 0);
	CHECK(second->sampler->head.budget != f.thread->sampler->head.budget);
	CHECK(memcmp(second->sampler->random, f.thread->sampler->random, sizeof(before)) != 0);
	gc_thread_detach(second);
	memcpy(before, f.thread->sampler->random, sizeof(before));
	child = fork();
	if (child == 0)
		_exit(memcmp(before, f.thread->sampler->random, sizeof(before)) == 0);
	CHECK_EQ(child_status(child), 0);
	CHECK(memcmp(before, f.thread->sampler->random, sizeof(before)) == 0);
	fixture_close(&f);
}

/* Of an odd number, modulo 2^64: each round doubles the bits that are right. */
static uint64_t inverse(uint64_t x)
{
	uint64_t y = x;

	for (int i = 0; i < 6; i++)
		y *= 2 - x * y;
	return y;
}

/* A state of the generator from which it gives `result` next: it is rotl(s1 * 5, 7) * 9. */
static void state_before(uint64_t state[4], uint64_t result)
{
	uint64_t x = result * inverse(9);

	state[0] = state[2] = state[3] = 1;
	state[1] = (x >> 7 | x << 57) * inverse(5);
}

/* The logarithm of 0 made a gap of two gigabytes, and that was the end of sampling. */
TEST(d13_no_gap_is_infinite_or_empty)
{
	static const uint64_t results[] = {0, 1, 2047, 2048, UINT64_C(1) << 63, UINT64_MAX};
	static const uint64_t periods[] = {1, 1000, 512 << 10, UINT64_C(1) << 40};

	for (int p = 0; p < 4; p++) {
		struct fixture f;

		seen_open(&f, EXPONENTIAL, periods[p]);
		for (int i = 0; i < 6; i++) {
			uint64_t state[4], gap;

			state_before(state, results[i]);
			memcpy(f.thread->sampler->random, state, sizeof(state));
			CHECK(random_next(state) == results[i]);
			gap = rate_draw(f.thread->sampler, periods[p]);
			CHECK(gap >= 1 && gap <= 37 * periods[p]);
			/* The ends of the scale are where they belong. */
			CHECK(results[i] >= 2048 || gap > 30 * periods[p]);
			CHECK(results[i] != UINT64_MAX || gap == 1);
		}
		fixture_close(&f);
	}
}

static uint32_t events; /* atomic */

/* Wanted: who changes the period waits in the middle of it, with the sampler's lock. Atomic. */
static uint32_t hold;
enum { HOLD_NOBODY, HOLD_WANTED, HOLD_HELD };

static void observe_all(enum probe_number probe, const void *arguments)
{
	(void)arguments;
	__atomic_fetch_add(&events, 1, __ATOMIC_RELAXED);
	if (probe != PROBE_period || __atomic_load_n(&hold, __ATOMIC_ACQUIRE) != HOLD_WANTED)
		return;
	__atomic_store_n(&hold, HOLD_HELD, __ATOMIC_RELEASE);
	while (__atomic_load_n(&hold, __ATOMIC_ACQUIRE) == HOLD_HELD)
		sched_yield();
}

static void *sample_until_told(void *argument)
{
	struct worker *w = argument;
	struct gc_thread *thread;

	CHECK_EQ(gc_thread_attach(w->f->heap, &thread), 0);
	while (!__atomic_load_n(&w->stop, __ATOMIC_ACQUIRE))
		gc_alloc_array(thread, w->f->bytes, 100);
	gc_thread_detach(thread);
	return NULL;
}

static void *change_until_told(void *argument)
{
	struct worker *w = argument;

	for (uint64_t i = 0; !__atomic_load_n(&w->stop, __ATOMIC_ACQUIRE); i++) {
		gc_sampling_set_period(w->f->heap, 100 + i % 1000);
		gc_sampling_pause(w->f->heap);
		gc_sampling_resume(w->f->heap);
		sched_yield();
	}
	return NULL;
}

static void go_on_in_child(struct fixture *f)
{
	uint64_t before = f->heap->samples;

	/* One that hangs is no success either. */
	alarm(20);
	hold = HOLD_NOBODY;
	gc_sampling_resume(f->heap);
	/* One that no recorder has asked for: so the ceiling's window is new, and its quota is 400.
	 */
	gc_sampling_set_period(f->heap, 50);
	for (int i = 0; i < 3000; i++)
		GC_NEW(f->thread, f->node, struct node);
	gc_collect(f->thread, GC_COLLECT_FULL);
	_exit(f->heap->samples < before + 50);
}

/* The generator had a lock, which another thread held when the process forked. */
TEST(d13_a_fork_while_others_sample_does_not_hang)
{
	struct gc_options options = seen_options(EXPONENTIAL, 300);
	struct worker workers[3];
	struct fixture f;

	/* A low ceiling: windows close, and periods change, all the time. */
	options.sampling.ceiling = 20000;
	probe_observer = observe_all;
	fixture_open(&f, &options);
	for (int i = 0; i < 3; i++) {
		workers[i] = (struct worker){.f = &f};
		CHECK_EQ(pthread_create(&workers[i].thread, NULL,
					i < 2 ? sample_until_told : change_until_told, &workers[i]),
			 0);
	}
	for (int i = 0; i < 40; i++) {
		pid_t child = fork();

		if (child == 0)
			go_on_in_child(&f);
		gc_blocking_begin(f.thread);
		CHECK_EQ(child_status(child), 0);
		gc_blocking_end(f.thread);
	}
	gc_blocking_begin(f.thread);
	stop_all(workers, 3);
	gc_blocking_end(f.thread);
	CHECK(events > 1000);
	fixture_close(&f);
}

static void *change_once(void *argument)
{
	struct fixture *f = argument;

	gc_sampling_set_period(f->heap, 12345);
	return NULL;
}

/* The same, not left to chance. */
TEST(d13_a_fork_while_the_period_changes_does_not_hang)
{
	pthread_t other;
	struct fixture f;
	pid_t child;

	seen_open(&f, EXPONENTIAL, 300);
	probe_observer = observe_all;
	new_bytes(&f, 64);
	hold = HOLD_WANTED;
	CHECK_EQ(pthread_create(&other, NULL, change_once, &f), 0);
	while (__atomic_load_n(&hold, __ATOMIC_ACQUIRE) != HOLD_HELD)
		sched_yield();
	child = fork();
	if (child == 0)
		go_on_in_child(&f);
	CHECK_EQ(child_status(child), 0);
	__atomic_store_n(&hold, HOLD_NOBODY, __ATOMIC_RELEASE);
	pthread_join(other, NULL);
	CHECK_EQ(f.heap->provider->period, 12345);
	fixture_close(&f);
}
