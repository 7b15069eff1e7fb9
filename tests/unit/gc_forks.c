/* SPDX-License-Identifier: BSD-2-Clause */
/* gc_forks.c: tests of forks that cut other threads off in the middle of the collector's work. */
#include "gc_test.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ARRAYS = 300, FORKS = 20, LENGTH = 1000, ITEMS = 3000, MOST_NS = 3000000 };

struct other {
	struct fixture *f;
	struct cells **arrays;
	struct node *marked;
	uint32_t round; /* asked for; UINT32_MAX: end */
	uint32_t begun;
};

static uint32_t round_of(const uint32_t *round)
{
	return __atomic_load_n(round, __ATOMIC_ACQUIRE);
}

static void set_round(uint32_t *round, uint32_t value)
{
	__atomic_store_n(round, value, __ATOMIC_RELEASE);
}

static void join(struct fixture *f, struct other *other, pthread_t thread)
{
	set_round(&other->round, UINT32_MAX);
	gc_blocking_begin(f->thread);
	pthread_join(thread, NULL);
	gc_blocking_end(f->thread);
}

static void check_child(struct fixture *f, pid_t child)
{
	int status;

	gc_blocking_begin(f->thread);
	CHECK(child > 0 && waitpid(child, &status, 0) == child);
	CHECK_EQ(status, 0);
	gc_blocking_end(f->thread);
}

/* Stores a young object into each array, some time after it was asked to. */
static void *store_in_rounds(void *context)
{
	struct other *other = context;
	struct gc_thread *thread;
	uint32_t round;

	CHECK_EQ(gc_thread_attach(other->f->heap, &thread), 0);
	while ((round = round_of(&other->round)) != UINT32_MAX) {
		uint64_t until = os_now() + (uint64_t)round * MOST_NS / FORKS;

		gc_safepoint(thread);
		if (round == other->begun)
			continue;
		while (os_now() < until)
			gc_safepoint(thread);
		for (int i = 0; i < ARRAYS; i++) {
			struct node *node = GC_NEW(thread, other->f->node, struct node);

			gc_array_write(thread, other->arrays[i], other->arrays[i]->items, 0, node);
		}
		other->begun = round;
	}
	gc_thread_detach(thread);
	return NULL;
}

/* What the child stores into the same arrays is found by its next collection. */
static void store_in_child(struct fixture *f, struct cells **arrays)
{
	int lost = 0;

	alarm(20);
	for (int i = 0; i < ARRAYS; i++) {
		struct node *node = GC_NEW(f->thread, f->node, struct node);

		node->value = (uint64_t)i;
		gc_array_write(f->thread, arrays[i], arrays[i]->items, 1, node);
	}
	gc_collect(f->thread, GC_COLLECT_MINOR);
	for (int i = 0; i < ARRAYS; i++) {
		const struct node *node = arrays[i]->items[1];

		lost += nursery_has(&f->heap->nursery, node) || node->value != (uint64_t)i;
	}
	_exit(lost != 0);
}

TEST(gc_forks_cut_other_threads_off_in_their_barrier)
{
	static struct cells *arrays[ARRAYS];
	struct gc_options options = small_options();
	struct other other = {.arrays = arrays};
	pthread_t thread;
	struct fixture f;

	fixture_open(&f, &options);
	other.f = &f;
	GC_FRAME(f.thread, frame, 0, struct cells * table;);
	frame.root.table = gc_alloc_array(f.thread, f.cells, ARRAYS);
	for (int i = 0; i < ARRAYS; i++) {
		struct cells *array = gc_alloc_array(f.thread, f.cells, ITEMS);

		gc_array_write(f.thread, frame.root.table, frame.root.table->items, (uint64_t)i,
			       array);
	}
	gc_collect(f.thread, GC_COLLECT_MINOR);
	for (int i = 0; i < ARRAYS; i++) {
		arrays[i] = frame.root.table->items[i];
		CHECK(arrays[i]->header.flags & GC_FLAG_CARDS);
	}
	CHECK_EQ(pthread_create(&thread, NULL, store_in_rounds, &other), 0);
	for (uint32_t round = 1; round <= FORKS; round++) {
		pid_t child;

		gc_collect(f.thread, GC_COLLECT_MINOR);
		set_round(&other.round, round);
		child = fork();
		if (child == 0)
			store_in_child(&f, arrays);
		check_child(&f, child);
	}
	join(&f, &other, thread);
	FIXTURE_END(f, frame);
}

static struct {
	struct gc_header *object;
	void *page;
	uint16_t flags;
	int faults;
} pushing;

/* The barrier writes to a page that cannot be written: how far is it? */
static void note_flags(int signal)
{
	(void)signal;
	pushing.faults++;
	pushing.flags = pushing.object->flags;
	if (mprotect(pushing.page, OS_PAGE, PROT_READ | PROT_WRITE))
		_exit(1);
}

/* The flags of an object when the barrier remembers it, of which a store has to be the first. */
static uint16_t flags_at_push(struct fixture *f, struct gc_header *object, void **slot)
{
	const struct gc_worklist own = f->thread->remembered;
	struct node *node = GC_NEW(f->thread, f->node, struct node);

	pushing.object = object;
	pushing.page = mmap(NULL, OS_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(pushing.page != MAP_FAILED);
	pushing.faults = 0;
	f->thread->remembered = (struct gc_worklist){.base = pushing.page, .capacity = 1};
	gc_write(f->thread, object, slot, node);
	CHECK_EQ(pushing.faults, 1);
	CHECK_EQ(f->thread->remembered.count, 1);
	CHECK(f->thread->remembered.base[0] == object);
	f->thread->remembered = own;
	worklist_push(&f->thread->remembered, object);
	munmap(pushing.page, OS_PAGE);
	return pushing.flags;
}

/* If its flag said so before, the child of a fork would not remember it any more. */
TEST(gc_objects_are_remembered_before_their_flags_say_so)
{
	const struct sigaction action = {.sa_handler = note_flags, .sa_flags = SA_NODEFER};
	struct gc_options options = small_options();
	struct sigaction before;
	struct fixture f;

	fixture_open(&f, &options);
	GC_FRAME(f.thread, frame, 0, struct cells * array; struct node * node;);
	frame.root.array = gc_alloc_array(f.thread, f.cells, ITEMS);
	frame.root.node = GC_NEW(f.thread, f.node, struct node);
	gc_collect(f.thread, GC_COLLECT_MINOR);
	CHECK(frame.root.array->header.flags & GC_FLAG_CARDS);
	CHECK_EQ(sigaction(SIGSEGV, &action, &before), 0);
	CHECK(!(flags_at_push(&f, &frame.root.array->header, (void **)&frame.root.array->items[0]) &
		GC_FLAG_REMEMBERED));
	CHECK(frame.root.array->header.flags & GC_FLAG_REMEMBERED);
	CHECK(flags_at_push(&f, &frame.root.node->header, (void **)&frame.root.node->left) &
	      GC_FLAG_TRACK_YOUNG);
	CHECK(!(frame.root.node->header.flags & GC_FLAG_TRACK_YOUNG));
	sigaction(SIGSEGV, &before, NULL);
	FIXTURE_END(f, frame);
}

/* As far as the barrier comes before it makes a value gray. */
static void *mark_and_wait(void *context)
{
	struct other *other = context;
	struct gc_thread *thread;

	CHECK_EQ(gc_thread_attach(other->f->heap, &thread), 0);
	thread->shading = other->marked;
	CHECK(chunk_mark_shared(other->marked));
	set_round(&other->begun, 1);
	while (round_of(&other->round) != UINT32_MAX)
		sched_yield();
	worklist_push(&thread->shaded, other->marked);
	thread->shading = NULL;
	gc_thread_detach(thread);
	return NULL;
}

TEST(gc_forks_cut_other_threads_off_while_they_shade)
{
	struct gc_options options = small_options();
	struct other other = {0};
	struct gc_weak *end;
	pthread_t thread;
	struct fixture f;
	pid_t child;

	fixture_open(&f, &options);
	other.f = &f;
	GC_FRAME(f.thread, frame, 0, struct node * list;);
	frame.root.list = make_old_list(&f, LENGTH);
	other.marked = frame.root.list->left;
	CHECK_EQ(gc_weak_create(f.thread, other.marked->left, NULL, &end), 0);
	CHECK(gc_collect_step(f.thread));
	CHECK(!chunk_is_marked(other.marked));
	CHECK_EQ(pthread_create(&thread, NULL, mark_and_wait, &other), 0);
	while (!round_of(&other.begun))
		gc_safepoint(f.thread);
	child = fork();
	if (child == 0) {
		alarm(20);
		while (gc_collect_step(f.thread))
			;
		_exit(!gc_weak_get(end));
	}
	CHECK(child > 0);
	join(&f, &other, thread);
	check_child(&f, child);
	gc_weak_destroy(f.thread, end);
	FIXTURE_END(f, frame);
}
