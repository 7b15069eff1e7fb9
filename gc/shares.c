/* SPDX-License-Identifier: BSD-2-Clause */
/* shares.c: divides the nursery into shares, one for each running thread. */
/*
 * Memory last written by another processor is slow to reach this one's caches. So
 * each running thread has its own share of the nursery, the same one from
 * collection to collection. The memory taken is counted for the nursery as a
 * whole, and a thread whose share is used up continues in other shares. So the
 * nursery's fill does not depend on which thread allocates.
 */
#include "shares.h"

/* A share holds at least SHARE_BUFFERS of the smallest buffers. With several threads a buffer is at
 * most 1/16 of a share: when one thread finds no more room, the others have half a buffer left on
 * average. */
enum { SHARE_BUFFERS = 4, BUFFERS_SHIFT = 4 };

static uint32_t count_shares(const struct gc_heap *heap, uint32_t threads)
{
	size_t most = heap->nursery.size / (SHARE_BUFFERS * heap->options.buffer_size);

	if (most > SHARES_MAX)
		most = SHARES_MAX;
	if (threads > most)
		threads = (uint32_t)most;
	return threads ? threads : 1;
}

/* Threads keep their numbers until an older one is gone: the list begins with the newest. */
uint32_t shares_number(struct gc_heap *heap)
{
	uint32_t running = 0, number;

	for (const struct gc_thread *thread = heap->threads; thread; thread = thread->next)
		running += !thread_is_blocked(thread);
	number = running;
	for (struct gc_thread *thread = heap->threads; thread; thread = thread->next)
		if (!thread_is_blocked(thread))
			thread->share = --number;
	return running;
}

/* Taking a buffer waits for a cache line that others write, so several threads take larger ones. */
static size_t buffer_size(const struct gc_heap *heap, uint32_t n)
{
	size_t size = GC_ALIGN(heap->nursery.size / n >> BUFFERS_SHIFT);

	if (size > heap->options.large_size)
		size = heap->options.large_size;
	return n > 1 && size > heap->options.buffer_size ? size : heap->options.buffer_size;
}

void shares_cut(struct gc_heap *heap, uint32_t running)
{
	struct gc_nursery *nursery = &heap->nursery;
	uint32_t n = count_shares(heap, running);
	size_t size;

	nursery->buffer = buffer_size(heap, n);
	size = nursery->size / n / nursery->buffer * nursery->buffer;
	for (uint32_t i = 0; i < n; i++) {
		nursery->shares[i].next = nursery->base + i * size;
		nursery->shares[i].end = nursery->shares[i].next + size;
	}
	nursery->shares[n - 1].end = nursery->base + nursery->size;
	nursery->n_shares = n;
	nursery->taken = 0;
}

static char *take(struct gc_share *share, size_t size)
{
	char *start = __atomic_load_n(&share->next, __ATOMIC_RELAXED);

	do {
		if (size > (size_t)(share->end - start))
			return NULL;
	} while (!__atomic_compare_exchange_n(&share->next, &start, start + size, true,
					      __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	return start;
}

/* Counts memory as taken; false: the nursery does not have enough. */
static bool reserve(struct gc_nursery *nursery, size_t size)
{
	size_t taken = nursery_taken(nursery);

	do {
		if (taken > nursery->size || size > nursery->size - taken)
			return false;
	} while (!__atomic_compare_exchange_n(&nursery->taken, &taken, taken + size, true,
					      __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	return true;
}

char *shares_take(struct gc_thread *thread, size_t size)
{
	struct gc_nursery *nursery = &thread->heap->nursery;
	char *start = NULL;

	if (!reserve(nursery, size))
		return NULL;
	for (uint32_t i = 0; i < nursery->n_shares && !start; i++)
		start = take(&nursery->shares[(thread->share + i) % nursery->n_shares], size);
	if (!start)
		__atomic_fetch_sub(&nursery->taken, size, __ATOMIC_RELAXED);
	return start;
}

void shares_poison(struct gc_nursery *nursery)
{
	char *start = nursery->base;

	for (uint32_t i = 0; i < nursery->n_shares; i++) {
		memset(start, 0xdd, (size_t)(nursery->shares[i].next - start));
		start = nursery->shares[i].end;
	}
}
