/* SPDX-License-Identifier: BSD-2-Clause */
/* gc_misuse.c: tests that mistakes of embedders end with a sentence, and do not hang. */
#include "gc_test.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* What hangs is ended by this. */
enum { HANGS_S = 60 };

typedef void (*mistake_function)(struct fixture *f);

static void make(mistake_function mistake)
{
	struct gc_options options = small_options();
	struct fixture f;

	alarm(HANGS_S);
	fixture_open(&f, &options);
	mistake(&f);
	_exit(0);
}

/* Makes the mistake in a process of its own, which must abort and say `sentence`. */
static void check_ends(mistake_function mistake, const char *sentence)
{
	char text[512] = "";
	int pipes[2], status;
	ssize_t got;
	pid_t child;

	CHECK_EQ(pipe(pipes), 0);
	child = fork();
	if (child == 0) {
		dup2(pipes[1], STDERR_FILENO);
		make(mistake);
	}
	close(pipes[1]);
	for (size_t at = 0; (got = read(pipes[0], text + at, sizeof(text) - 1 - at)) > 0;)
		at += (size_t)got;
	close(pipes[0]);
	CHECK(waitpid(child, &status, 0) == child);
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT || !strstr(text, sentence))
		test_fail(__FILE__, __LINE__, "status %x and \"%s\" instead of \"%s\"",
			  (unsigned)status, text, sentence);
}

static void hook_collects(void *context, const struct gc_hook_event *event)
{
	struct fixture *f = context;

	(void)event;
	gc_collect(f->thread, GC_COLLECT_MINOR);
}

static void hook_asks(void *context, const struct gc_hook_event *event)
{
	struct fixture *f = context;
	struct gc_stats stats;

	(void)event;
	gc_stats(f->heap, &stats);
}

static void hook_forks(void *context, const struct gc_hook_event *event)
{
	(void)context;
	(void)event;
	if (fork() == 0)
		_exit(0);
}

static void collect_with(struct fixture *f, gc_hook hook)
{
	gc_hook_set(f->heap, hook, f);
	gc_collect(f->thread, GC_COLLECT_MINOR);
}

static void collect_in_a_hook(struct fixture *f)
{
	collect_with(f, hook_collects);
}

static void ask_in_a_hook(struct fixture *f)
{
	collect_with(f, hook_asks);
}

static void fork_in_a_hook(struct fixture *f)
{
	collect_with(f, hook_forks);
}

static void allocate(struct gc_thread *thread, void *object, void *context)
{
	struct fixture *f = context;

	(void)thread;
	(void)object;
	for (int i = 0; i < 10000; i++)
		GC_NEW(f->thread, f->node, struct node);
}

static void allocate_in_a_light_finalizer(struct fixture *f)
{
	struct node *dies = GC_NEW(f->thread, f->node, struct node);

	gc_finalizer_add(f->thread, dies, GC_FINALIZER_LIGHT, allocate, f);
	gc_collect(f->thread, GC_COLLECT_MINOR);
}

TEST(gc_calls_from_within_a_collection_end_with_a_sentence)
{
	const char *sentence = "a hook or a light finalizer called the collector, or fork";

	check_ends(collect_in_a_hook, sentence);
	check_ends(ask_in_a_hook, sentence);
	check_ends(fork_in_a_hook, sentence);
	check_ends(allocate_in_a_light_finalizer, sentence);
}

static void attach_twice(struct fixture *f)
{
	struct gc_thread *second;

	CHECK_EQ(gc_thread_attach(f->heap, &second), 0);
	gc_collect(f->thread, GC_COLLECT_MINOR);
}

static void *attach(void *argument)
{
	struct fixture *f = argument;
	struct gc_thread *thread;

	CHECK_EQ(gc_thread_attach(f->heap, &thread), 0);
	return NULL;
}

static void forget_to_detach(struct fixture *f)
{
	pthread_t thread;

	CHECK_EQ(pthread_create(&thread, NULL, attach, f), 0);
	pthread_join(thread, NULL);
	gc_collect(f->thread, GC_COLLECT_MINOR);
}

TEST(gc_collections_do_not_wait_for_threads_that_cannot_stop)
{
	check_ends(attach_twice, "a collection waits for its own thread");
	check_ends(forget_to_detach, "a thread ended that was not detached");
}

static void allocate_blocked(struct fixture *f)
{
	gc_blocking_begin(f->thread);
	allocate(f->thread, NULL, f);
}

static void block_twice(struct fixture *f)
{
	gc_blocking_begin(f->thread);
	gc_blocking_begin(f->thread);
}

static void make_nodes_an_array(struct fixture *f)
{
	gc_alloc_array(f->thread, f->node, 10);
}

static void allocate_no_type(struct fixture *f)
{
	for (int i = 0; i < 10000; i++)
		gc_alloc(f->thread, 0, sizeof(struct node));
}

TEST(gc_rules_that_were_broken_are_named)
{
	check_ends(allocate_blocked, "between gc_blocking_begin() and gc_blocking_end()");
	check_ends(block_twice, "gc_blocking_begin() without an end before");
	check_ends(make_nodes_an_array, "an array of a type that was not registered as one");
	check_ends(allocate_no_type, "an object of a type that was not registered");
}

TEST(gc_finalizers_of_nothing_are_refused)
{
	struct gc_options options = small_options();
	struct fixture f;
	struct node *node;

	fixture_open(&f, &options);
	node = GC_NEW(f.thread, f.node, struct node);
	CHECK_EQ(gc_finalizer_add(f.thread, NULL, GC_FINALIZER_LIGHT, allocate, &f), -EINVAL);
	CHECK_STR(gc_error(), "gc_finalizer_add: there is no object");
	CHECK_EQ(gc_finalizer_add(f.thread, node, GC_FINALIZER_ORDERED, NULL, NULL), -EINVAL);
	CHECK_STR(gc_error(), "gc_finalizer_add: there is no function");
	gc_collect(f.thread, GC_COLLECT_FULL);
	fixture_close(&f);
}
