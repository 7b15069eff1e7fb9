/* SPDX-License-Identifier: BSD-2-Clause */
/* threads.c: mutator threads, and stopping all of them for a collection. */
/*
 * A collection needs every other thread to be blocked or parked. It sets
 * heap->stop and makes every limit 0, so that each thread leaves its fast path
 * at its next allocation or safepoint and parks; rarely a limit is overwritten,
 * so it asks again after a while. A blocked thread may go on with whatever it
 * does; when it wants to run again it looks at `stop` first. Both sides write
 * their own word and then read the other's, in one total order: a thread that
 * the collector saw blocked sees the collector [stop].
 */
#include "internal.h"

#include <stdlib.h>

/* A thread whose limit was overwritten is asked again after so long. */
enum { ASK_AGAIN_NS = 1000000 };

static uint32_t get_state(const struct gc_thread *thread)
{
	return __atomic_load_n(&thread->state, __ATOMIC_SEQ_CST);
}

static void set_state(struct gc_thread *thread, uint32_t state)
{
	__atomic_store_n(&thread->state, state, __ATOMIC_SEQ_CST);
}

/* Waits, out of the way, until nobody collects. With the lock. */
static void park_locked(struct gc_thread *self)
{
	struct gc_heap *heap = self->heap;

	if (!heap->collector)
		return;
	set_state(self, THREAD_PARKED);
	pthread_cond_signal(&heap->stopped);
	while (heap->collector)
		pthread_cond_wait(&heap->resumed, &heap->lock);
	set_state(self, THREAD_RUNNING);
}

void threads_park(struct gc_thread *self)
{
	struct gc_heap *heap = self->heap;

	batch_flush(self);
	pthread_mutex_lock(&heap->lock);
	park_locked(self);
	pthread_mutex_unlock(&heap->lock);
}

/*
 * Makes the thread the collector and leaves the lock held; false, without it, if
 * there was another collection since number `seen`, so that none is needed.
 */
bool threads_begin_collecting(struct gc_thread *self, uint64_t seen)
{
	struct gc_heap *heap = self->heap;

	pthread_mutex_lock(&heap->lock);
	park_locked(self);
	if (seen != COLLECT_ALWAYS && seen != heap->cycle) {
		pthread_mutex_unlock(&heap->lock);
		return false;
	}
	heap->collector = self;
	return true;
}

static bool all_stopped(const struct gc_heap *heap, const struct gc_thread *self)
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

/* True when no other thread runs, false when that took long. With the lock. */
static bool wait_stopped(struct gc_heap *heap, const struct gc_thread *self)
{
	struct timespec until;

	if (all_stopped(heap, self))
		return true;
	os_deadline(&until, ASK_AGAIN_NS);
	while (!all_stopped(heap, self))
		if (pthread_cond_clockwait(&heap->stopped, &heap->lock, CLOCK_MONOTONIC, &until))
			return all_stopped(heap, self);
	return true;
}

/* Returns when no other thread touches the heap. With the lock, as the collector. */
void threads_stop(struct gc_thread *self)
{
	struct gc_heap *heap = self->heap;

	__atomic_store_n(&heap->stop, 1, __ATOMIC_SEQ_CST);
	do
		request_all(heap);
	while (!wait_stopped(heap, self));
}

/* Lets the others go on; releases the lock. */
void threads_end_collecting(struct gc_thread *self)
{
	struct gc_heap *heap = self->heap;

	__atomic_store_n(&heap->stop, 0, __ATOMIC_SEQ_CST);
	heap->collector = NULL;
	pthread_cond_broadcast(&heap->resumed);
	pthread_mutex_unlock(&heap->lock);
}

static struct gc_thread *create(struct gc_heap *heap)
{
	size_t size = (sizeof(struct gc_thread) + 63) & ~(size_t)63;
	struct gc_thread *thread = aligned_alloc(64, size);

	if (!thread)
		return NULL;
	memset(thread, 0, size);
	thread->heap = heap;
	thread->owner = pthread_self();
	thread->head.large_size = heap->options.large_size;
	limit_drop_buffer(thread);
	return thread;
}

int gc_thread_attach(struct gc_heap *heap, struct gc_thread **out)
{
	struct gc_thread *thread = create(heap);

	if (!thread)
		return error_set(-ENOMEM, "gc_thread_attach: out of memory");
	pthread_mutex_lock(&heap->lock);
	while (heap->collector)
		pthread_cond_wait(&heap->resumed, &heap->lock);
	set_state(thread, THREAD_RUNNING);
	thread->next = heap->threads;
	heap->threads = thread;
	heap->n_threads++;
	pthread_mutex_unlock(&heap->lock);
	announce_attach(thread);
	sampler_attach(thread);
	limit_update(thread);
	*out = thread;
	return 0;
}

void gc_thread_detach(struct gc_thread *thread)
{
	struct gc_heap *heap = thread->heap;
	struct gc_thread **link = &heap->threads;

	batch_flush(thread);
	announce_detach(thread);
	nursery_account(thread);
	pthread_mutex_lock(&heap->lock);
	park_locked(thread);
	while (*link != thread)
		link = &(*link)->next;
	*link = thread->next;
	heap->n_threads--;
	stack_move(&heap->remembered, &thread->remembered);
	stack_move(&heap->major.gray, &thread->shaded);
	sampler_detach(thread);
	pthread_mutex_unlock(&heap->lock);
	free(thread);
}

void gc_blocking_begin(struct gc_thread *thread)
{
	struct gc_heap *heap = thread->heap;

	/* It may be long: others count ages by what all have allocated. */
	nursery_account(thread);
	batch_flush(thread);
	set_state(thread, THREAD_BLOCKED);
	if (!threads_stop_wanted(heap))
		return;
	/* The collector waits for us, perhaps. */
	pthread_mutex_lock(&heap->lock);
	pthread_cond_signal(&heap->stopped);
	pthread_mutex_unlock(&heap->lock);
}

/* From being blocked. A collection may be under way: nothing of the thread may be touched before
 * it ended. */
void threads_return(struct gc_thread *self)
{
	set_state(self, THREAD_RUNNING);
	if (threads_stop_wanted(self->heap))
		threads_park(self);
}

void gc_blocking_end(struct gc_thread *thread)
{
	threads_return(thread);
	gc_safepoint_slow(thread);
}

/* In the child of a fork only the calling thread is left; the others' objects stay. */
void threads_forked(struct gc_heap *heap)
{
	struct gc_thread **link = &heap->threads, *thread;

	while ((thread = *link)) {
		if (pthread_equal(thread->owner, pthread_self())) {
			link = &thread->next;
			continue;
		}
		*link = thread->next;
		heap->n_threads--;
		stack_move(&heap->remembered, &thread->remembered);
		stack_move(&heap->major.gray, &thread->shaded);
		sampler_detach(thread);
		free(thread);
	}
	heap->collector = NULL;
	heap->stop = 0;
	pthread_mutex_init(&heap->lock, NULL);
	pthread_cond_init(&heap->stopped, NULL);
	pthread_cond_init(&heap->resumed, NULL);
	for (thread = heap->threads; thread; thread = thread->next) {
		set_state(thread, THREAD_RUNNING);
		limit_update(thread);
	}
}
