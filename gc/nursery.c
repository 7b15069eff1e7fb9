/* SPDX-License-Identifier: BSD-2-Clause */
/* nursery.c: the nursery: its size and its accounting. */
#include "nursery.h"
#include "shares.h"

/* The nursery does not grow beyond this, since no cache holds more. */
enum { GROWTH_MAX = 64 << 20 };

/* Exceeding the caches costs as much as promoting one byte in PAYS. A larger part that did not pay
 * is tried again after as many bytes as its size, then twice that, up to WAIT_MOST times. */
enum { PAYS = 16, WAIT_MOST = 8 };

#define RATE_ONE UINT64_C(65536)

/* Its maximum: one size for each processor. */
static size_t largest_size(const struct gc_heap *heap)
{
	size_t one = heap->options.nursery_size;
	size_t n = heap->processors < SHARES_MAX ? heap->processors : SHARES_MAX;

	while (n > 1 && n * one > GROWTH_MAX)
		n--;
	return n * one;
}

/* Whether max_heap leaves room for a nursery of this size that survives as a whole. */
static bool has_room(const struct gc_heap *heap, size_t size)
{
	return !heap->options.max_heap ||
	       heap->old.bytes + heap->large.bytes + 2 * size <= heap->options.max_heap;
}

/*
 * The size of one thread's next part: what stays in the caches or, if that gives enough objects
 * time to die, the maximum. The benefit of the maximum is known only from a trial.
 */
static size_t next_part(struct gc_nursery *nursery, const struct gc_major *major, size_t most)
{
	size_t least = most < NURSERY_CACHED ? most : NURSERY_CACHED, used = major->used;

	/* A nursery that was not full tells nothing. */
	if (used < nursery->size / 2)
		return nursery->part;
	if (nursery->part == least) {
		nursery->wait -= used < nursery->wait ? used : nursery->wait;
		if (nursery->wait || major->promoted <= used / PAYS)
			return least;
		nursery->rate = RATE_ONE * major->promoted / used;
		return most;
	}
	if (nursery->saved > used / PAYS)
		return most;
	/* It does not pay: any more, by chance this time, or it never did. */
	if (nursery->rate * used / RATE_ONE > major->promoted + used / PAYS) {
		nursery->patience = 1;
		return least;
	}
	nursery->wait = nursery->patience * most;
	if (nursery->patience < WAIT_MOST)
		nursery->patience *= 2;
	return least;
}

/*
 * Sizes the empty nursery. Each running thread adds one part, so that several threads do not
 * collect more often than one. The size is limited so that the survivors are expected to fit in one
 * part: the pause must not grow with the threads.
 */
static void resize(struct gc_heap *heap, uint32_t running)
{
	struct gc_nursery *nursery = &heap->nursery;
	uint64_t used = heap->major.used, promoted = heap->major.promoted;
	size_t one = next_part(nursery, &heap->major, heap->options.nursery_size);
	size_t size = (size_t)(nursery->end - nursery->base);

	if (running < size / one)
		size = running ? running * one : one;
	if (promoted && size > used / promoted * one)
		size = used / promoted * one;
	if (size < one || !has_room(heap, size))
		size = one;
	nursery->part = one;
	nursery->size = size;
	if (nursery->largest < size)
		nursery->largest = size;
	if (nursery->touched < size)
		nursery->touched = size;
}

/* Call it when the nursery is empty, in a stop or for a new heap. */
static void reset(struct gc_heap *heap)
{
	uint32_t running = shares_number(heap);

	resize(heap, running);
	shares_cut(heap, running);
}

/* Aligned to huge pages if it can use one. It needs no chunk alignment, because the nursery has no
 * chunk headers. */
static void *map_nursery(size_t size)
{
	const size_t alignment = 4 * CHUNK_SIZE;

	return size >= alignment ? os_map_aligned(size, alignment) : os_map(size);
}

int nursery_init(struct gc_heap *heap)
{
	struct gc_nursery *nursery = &heap->nursery;
	size_t size = largest_size(heap);

	/* Where memory is limited (RLIMIT_AS), do without room to grow. */
	nursery->base = map_nursery(size);
	if (!nursery->base) {
		size = heap->options.nursery_size;
		nursery->base = map_nursery(size);
	}
	if (!nursery->base)
		return -ENOMEM;
	os_prefer_huge(nursery->base, size);
	nursery->end = nursery->base + size;
	size = heap->options.nursery_size;
	nursery->part = size < NURSERY_CACHED ? size : NURSERY_CACHED;
	nursery->patience = 1;
	reset(heap);
	return 0;
}

void nursery_free(struct gc_heap *heap)
{
	os_unmap(heap->nursery.base, (size_t)(heap->nursery.end - heap->nursery.base));
}

void nursery_trim(struct gc_heap *heap)
{
	struct gc_nursery *nursery = &heap->nursery;
	size_t size = nursery->touched - nursery->largest;

	if (size > heap->options.nursery_size)
		size = heap->options.nursery_size;
	if (size) {
		nursery->touched -= size;
		os_release(nursery->base + nursery->touched, size);
	}
	nursery->largest = nursery->size;
}

void nursery_empty(struct gc_heap *heap)
{
	struct gc_nursery *nursery = &heap->nursery;

	if (GC_CHECK)
		shares_poison(nursery);
	reset(heap);
	heap->before += nursery->used;
	nursery->used = 0;
	__atomic_store_n(&nursery->watched, 0, __ATOMIC_RELAXED);
}

void nursery_account(struct gc_thread *thread)
{
	size_t consumed = (size_t)(thread->head.free - thread->segment);
	size_t bytes = consumed + thread->uncounted;

	if (!bytes)
		return;
	thread->segment = thread->head.free;
	thread->uncounted = 0;
	__atomic_fetch_add(&thread->heap->nursery.used, bytes, __ATOMIC_RELAXED);
	if (!GCPROF_NO_SAMPLING)
		gcprof_consume(thread->sampler, consumed);
}

void nursery_watch(struct gc_heap *heap)
{
	__atomic_fetch_add(&heap->nursery.watched, 1, __ATOMIC_RELAXED);
}
