/* SPDX-License-Identifier: BSD-2-Clause */
/* threads.c: mutator threads, and stopping all of them for a collection. */
/*
 * A collection needs every other thread to be blocked or parked. It sets
 * heap->stop and every limit to 0, so that each thread leaves its fast path at its
 * next allocation or safepoint and parks. A limit may, rarely, be overwritten, so
 * the request is repeated after a while. A blocked thread continues; before it
 * runs again it reads `stop`. Both sides write their own word and then read the
 * other's, in one total order: a thread that the collector saw blocked or parked
 * sees the collector [stop].
 *
 * Most collections finish in less time than it takes a thread to fall asleep and
 * be woken. So both sides spin for a while before they sleep, unless more threads
 * run than there are processors: then another thread needs the processor.
 */
#include "threads.h"
#include "barrier.h"
#include "limit.h"
#include "nursery.h"
#include "sampler.h"

#include <stdlib.h>
#include <unistd.h>

/* Interval for repeating requests, which an overwritten limit loses. */
enum { ASK_AGAIN_NS = 1000000 };

/* Falling asleep and being woken takes about SPIN_NS, so spinning that long at most doubles the
 * cost (the ski rental problem). TURNS is the number of spins between two readings of the clock. */
enum { SPIN_NS = 30000, TURNS = 32 };

/* The lock detects relocking by its owner, see heap_lock(). */
void threads_init_lock(struct gc_heap *heap)
{
	pthread_mutexattr_t attributes;

	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
	pthread_mutex_init(&heap->lock, &attributes);
	pthread_mutexattr_destroy(&attributes);
	pthread_cond_init(&heap->stopped, NULL);
	pthread_cond_init(&heap->resumed, NULL);
}

static uint32_t get_state(const struct gc_thread *thread)
{
	return __atomic_load_n(&thread->state, __ATOMIC_SEQ_CST);
}

static void set_state(struct gc_thread *thread, uint32_t state)
{
	__atomic_store_n(&thread->state, state, __ATOMIC_SEQ_CST);
}

/* Wakes a sleeping collector after a change of this thread's state. */
static void wake_collector(struct gc_heap *heap)
{
	if (!__atomic_load_n(&heap->awaiting, __ATOMIC_SEQ_CST))
		return;
	heap_lock(heap);
	pthread_cond_signal(&heap->stopped);
	pthread_mutex_unlock(&heap->lock);
}

static uint32_t get_stop(const struct gc_heap *heap)
{
	return __atomic_load_n(&heap->stop, __ATOMIC_SEQ_CST);
}

/* True when the stop is over, false when that takes long. */
static bool spin_resumed(const struct gc_heap *heap)
{
	uint64_t until = os_now() + SPIN_NS;

	do
		for (int i = 0; i < TURNS; i++, os_relax())
			if (!get_stop(heap))
				return true;
	while (os_now() < until);
	return false;
}

static void wait_resumed(struct gc_heap *heap)
{
	uint32_t stop = get_stop(heap);

	if (stop & STOP_SPIN && spin_resumed(heap))
		return;
	while ((stop = get_stop(heap))) {
		uint32_t asleep = stop | STOP_SLEEPERS;

		if (__atomic_compare_exchange_n(&heap->stop, &stop, asleep, false, __ATOMIC_SEQ_CST,
						__ATOMIC_SEQ_CST))
			os_wait(&heap->stop, asleep);
	}
}

/* Resumes a stopped thread. If a collection is running, the thread's data must not be touched
 * before it has ended. */
static void go_on(struct gc_thread *self)
{
	set_state(self, THREAD_RUNNING);
	while (threads_stop_wanted(self->heap)) {
		if (__atomic_load_n(&self->heap->collector, __ATOMIC_RELAXED) == self)
			heap_called_within();
		set_state(self, THREAD_PARKED);
		wake_collector(self->heap);
		wait_resumed(self->heap);
		set_state(self, THREAD_RUNNING);
	}
}

/* Flushes first, because the collecting thread may report outcomes of samples that wait here. */
void threads_park(struct gc_thread *self)
{
	gcprof_flush(self->sampler);
	go_on(self);
}

/* Takes the lock while no thread collects. The thread counts as stopped while it waits. */
static void lock_between_collections(struct gc_thread *self)
{
	struct gc_heap *heap = self->heap;

	/* Otherwise others may collect, and report outcomes of samples that wait here. */
	if (!pthread_mutex_trylock(&heap->lock)) {
		if (!heap->collector)
			return;
		pthread_mutex_unlock(&heap->lock);
	}
	gcprof_flush(self->sampler);
	set_state(self, THREAD_PARKED);
	wake_collector(heap);
	heap_lock(heap);
	while (heap->collector)
		pthread_cond_wait(&heap->resumed, &heap->lock);
	set_state(self, THREAD_RUNNING);
}

static void set_collector(struct gc_heap *heap, struct gc_thread *thread)
{
	__atomic_store_n(&heap->collector, thread, __ATOMIC_RELAXED);
}

bool threads_begin_collecting(struct gc_thread *self, uint64_t seen)
{
	struct gc_heap *heap = self->heap;

	lock_between_collections(self);
	if (seen != COLLECT_ALWAYS && seen != heap_cycle(heap)) {
		pthread_mutex_unlock(&heap->lock);
		return false;
	}
	set_collector(heap, self);
	return true;
}

bool threads_are_stopped(const struct gc_heap *heap, const struct gc_thread *self)
{
	for (const struct gc_thread *thread = heap->threads; thread; thread = thread->next)
		if (thread != self && get_state(thread) == THREAD_RUNNING)
			return false;
	return true;
}

static void request_all(struct gc_heap *heap)
{
	for (struct gc_thread *thread = heap->threads; thread; thread = thread->next)
		limit_request(thread);
}

static bool has_processor_for_each(const struct gc_heap *heap)
{
	uint32_t running = 0;

	for (const struct gc_thread *thread = heap->threads; thread; thread = thread->next)
		running += get_state(thread) == THREAD_RUNNING;
	return running <= heap->processors;
}

static bool spin_stopped(const struct gc_heap *heap, const struct gc_thread *self)
{
	uint64_t until = os_now() + SPIN_NS;

	do
		for (int i = 0; i < TURNS; i++, os_relax())
			if (threads_are_stopped(heap, self))
				return true;
	while (os_now() < until);
	return false;
}

/* Called when threads take long to stop: detects those that never will. With the lock. */
static void check_running(const struct gc_heap *heap, const struct gc_thread *self)
{
	const struct gc_thread *thread = heap->threads;

	while (thread && (thread == self || get_state(thread) != THREAD_RUNNING))
		thread = thread->next;
	if (!thread)
		return;
	GC_ASSERT(os_thread_lives(thread->tid), "a thread ended that was not detached");
	GC_ASSERT(!pthread_equal(thread->owner, self->owner),
		  "a collection waits for its own thread, which is attached twice");
}

/* The same, but sleeping. With the lock, which it releases while it sleeps. */
static bool sleep_stopped(struct gc_heap *heap, const struct gc_thread *self)
{
	struct timespec until;
	bool stopped;

	os_deadline(&until, ASK_AGAIN_NS);
	__atomic_store_n(&heap->awaiting, 1, __ATOMIC_SEQ_CST);
	while (!(stopped = threads_are_stopped(heap, self)))
		if (pthread_cond_clockwait(&heap->stopped, &heap->lock, CLOCK_MONOTONIC, &until))
			break;
	__atomic_store_n(&heap->awaiting, 0, __ATOMIC_SEQ_CST);
	return stopped;
}

void threads_stop(struct gc_thread *self)
{
	struct gc_heap *heap = self->heap;
	bool spins = has_processor_for_each(heap);

	__atomic_store_n(&heap->stop, spins ? STOP_WANTED | STOP_SPIN : STOP_WANTED,
			 __ATOMIC_SEQ_CST);
	request_all(heap);
	if (spins && spin_stopped(heap, self))
		return;
	while (!sleep_stopped(heap, self)) {
		check_running(heap, self);
		request_all(heap);
	}
}

void threads_end_collecting(struct gc_thread *self)
{
	struct gc_heap *heap = self->heap;
	uint32_t stop = __atomic_exchange_n(&heap->stop, 0, __ATOMIC_SEQ_CST);

	set_collector(heap, NULL);
	pthread_cond_broadcast(&heap->resumed);
	pthread_mutex_unlock(&heap->lock);
	if (stop & STOP_SLEEPERS)
		os_wake_all(&heap->stop);
}

static struct gc_thread *create(struct gc_heap *heap)
{
	struct gc_thread *thread = os_alloc_lines(sizeof(*thread));

	if (!thread)
		return NULL;
	thread->heap = heap;
	thread->owner = pthread_self();
	thread->tid = gettid();
	thread->head.large_size = heap->options.large_size;
	limit_drop_buffer(thread);
	if (sampler_attach(thread)) {
		free(thread);
		return NULL;
	}
	return thread;
}

int gc_thread_attach(struct gc_heap *heap, struct gc_thread **out)
{
	struct gc_thread *thread = create(heap);

	if (!thread)
		return gcprof_error_set(-ENOMEM, "gc_thread_attach: out of memory");
	heap_lock(heap);
	while (heap->collector)
		pthread_cond_wait(&heap->resumed, &heap->lock);
	set_state(thread, THREAD_RUNNING);
	thread->next = heap->threads;
	thread->share = heap->n_threads;
	heap->threads = thread;
	heap->n_threads++;
	pthread_mutex_unlock(&heap->lock);
	limit_update(thread);
	*out = thread;
	return 0;
}

void gc_thread_detach(struct gc_thread *thread)
{
	struct gc_heap *heap = thread->heap;
	struct gc_thread **link = &heap->threads;

	gcprof_flush(thread->sampler);
	nursery_account(thread);
	lock_between_collections(thread);
	sampler_detach(thread);
	if (heap->n_threads == 1)
		gcprof_flush_sums(heap->provider);
	while (*link != thread)
		link = &(*link)->next;
	*link = thread->next;
	heap->n_threads--;
	barrier_adopt(heap, thread);
	pthread_mutex_unlock(&heap->lock);
	free(thread);
}

/* The thread is blocked and its samples are reported: reports sums of collections, unless another
 * thread runs, which would add to them. */
static void flush_idle_sums(struct gc_thread *thread)
{
	struct gc_heap *heap = thread->heap;
	uint64_t ended = __atomic_load_n(&heap->ended, __ATOMIC_RELAXED);

	if (ended == __atomic_load_n(&heap->flushed, __ATOMIC_RELAXED) ||
	    pthread_mutex_trylock(&heap->lock))
		return;
	if (!heap->collector && threads_are_stopped(heap, thread)) {
		gcprof_flush_sums(heap->provider);
		__atomic_store_n(&heap->flushed, ended, __ATOMIC_RELAXED);
	}
	pthread_mutex_unlock(&heap->lock);
}

void gc_blocking_begin(struct gc_thread *thread)
{
	struct gc_heap *heap = thread->heap;

	GC_ASSERT(get_state(thread) == THREAD_RUNNING, "gc_blocking_begin() without an end before");
	/* Blocking may take long, and other threads' ages depend on all allocated bytes. */
	nursery_account(thread);
	gcprof_flush(thread->sampler);
	set_state(thread, THREAD_BLOCKED);
	wake_collector(heap);
	flush_idle_sums(thread);
}

void gc_safepoint_slow(struct gc_thread *thread)
{
	nursery_account(thread);
	sampler_poll(thread);
	sampler_settle(thread);
	if (threads_stop_wanted(thread->heap))
		threads_park(thread);
	limit_update(thread);
}

void gc_blocking_end(struct gc_thread *thread)
{
	go_on(thread);
	gc_safepoint_slow(thread);
}

void threads_forked(struct gc_heap *heap)
{
	struct gc_thread **link = &heap->threads, *thread;

	while ((thread = *link)) {
		if (pthread_equal(thread->owner, pthread_self())) {
			thread->tid = gettid();
			link = &thread->next;
			continue;
		}
		*link = thread->next;
		heap->n_threads--;
		barrier_adopt(heap, thread);
		free(thread);
	}
	heap->collector = NULL;
	heap->stop = 0;
	heap->stop_cycle = 0;
	heap->awaiting = 0;
	threads_init_lock(heap);
	for (thread = heap->threads; thread; thread = thread->next) {
		if (!thread_is_blocked(thread))
			set_state(thread, THREAD_RUNNING);
		limit_update(thread);
	}
}
