/* SPDX-License-Identifier: BSD-2-Clause */
/* lanes.c: from where in the nursery a thread takes its memory. */
/*
 * Memory that another processor wrote to last comes slowly into this one's
 * caches. So each running thread has a part of the nursery to itself, a lane,
 * the same one from collection to collection. How much is taken in all is
 * counted for the nursery as a whole, and a thread whose lane is used up goes
 * on in those of others: when the nursery is full does not depend on who
 * allocates.
 */
#include "internal.h"

/* Lanes are no shorter than so many of the smallest buffers, and buffers of several threads no
 * longer than such a part of a lane: when one of them finds nothing more, others still have half a
 * buffer to themselves. */
enum { LANE_BUFFERS = 4, BUFFERS_SHIFT = 4 };

static uint32_t count_lanes(const struct gc_heap *heap, uint32_t threads)
{
	size_t most = heap->nursery.size / (LANE_BUFFERS * heap->options.buffer_size);

	if (most > LANES_MAX)
		most = LANES_MAX;
	if (threads > most)
		threads = (uint32_t)most;
	return threads ? threads : 1;
}

/* Threads keep their numbers while none before them is gone: the newest is the first of the list.
 */
static uint32_t number_threads(const struct gc_heap *heap)
{
	uint32_t running = 0, number;

	for (const struct gc_thread *thread = heap->threads; thread; thread = thread->next)
		running += !thread_is_blocked(thread);
	number = running;
	for (struct gc_thread *thread = heap->threads; thread; thread = thread->next)
		if (!thread_is_blocked(thread))
			thread->lane = --number;
	return running;
}

/* Taking a buffer means waiting for a cache line that others wrote to: several threads do that more
 * rarely. */
static size_t buffer_size(const struct gc_heap *heap, uint32_t n)
{
	size_t size = GC_ALIGN(heap->nursery.size / n >> BUFFERS_SHIFT);

	if (size > heap->options.large_size)
		size = heap->options.large_size;
	return n > 1 && size > heap->options.buffer_size ? size : heap->options.buffer_size;
}

/* The nursery is empty, the world stopped, or the heap new. */
void lanes_reset(struct gc_heap *heap)
{
	struct gc_nursery *nursery = &heap->nursery;
	uint32_t running = number_threads(heap), n;
	size_t size;

	nursery_resize(heap, running);
	n = count_lanes(heap, running);
	nursery->buffer = buffer_size(heap, n);
	size = nursery->size / n / nursery->buffer * nursery->buffer;
	for (uint32_t i = 0; i < n; i++) {
		nursery->lanes[i].next = nursery->base + i * size;
		nursery->lanes[i].end = nursery->lanes[i].next + size;
	}
	nursery->lanes[n - 1].end = nursery->base + nursery->size;
	nursery->n_lanes = n;
	nursery->taken = 0;
}

static char *take(struct gc_lane *lane, size_t size)
{
	char *start = __atomic_load_n(&lane->next, __ATOMIC_RELAXED);

	do {
		if (size > (size_t)(lane->end - start))
			return NULL;
	} while (!__atomic_compare_exchange_n(&lane->next, &start, start + size, true,
					      __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	return start;
}

/* Counts memory as taken, unless the slice has not enough of it. */
static bool reserve(struct gc_nursery *nursery, size_t size)
{
	size_t taken = nursery_taken(nursery);
	size_t slice = nursery_slice(nursery);

	do {
		if (taken > slice || size > slice - taken)
			return false;
	} while (!__atomic_compare_exchange_n(&nursery->taken, &taken, taken + size, true,
					      __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	return true;
}

/* Cuts off memory; NULL: the slice, or every lane, has less left. */
char *lanes_take(struct gc_thread *thread, size_t size)
{
	struct gc_nursery *nursery = &thread->heap->nursery;
	char *start = NULL;

	if (!reserve(nursery, size))
		return NULL;
	for (uint32_t i = 0; i < nursery->n_lanes && !start; i++)
		start = take(&nursery->lanes[(thread->lane + i) % nursery->n_lanes], size);
	if (!start)
		__atomic_fetch_sub(&nursery->taken, size, __ATOMIC_RELAXED);
	return start;
}

/* Whether a lane has so much left, whatever the slice allows. */
bool lanes_have(const struct gc_nursery *nursery, size_t size)
{
	for (uint32_t i = 0; i < nursery->n_lanes; i++) {
		const struct gc_lane *lane = &nursery->lanes[i];

		if (size <= (size_t)(lane->end - __atomic_load_n(&lane->next, __ATOMIC_RELAXED)))
			return true;
	}
	return false;
}

/* Overwrites what was taken, so that no use of it goes unnoticed. */
void lanes_poison(struct gc_nursery *nursery)
{
	char *start = nursery->base;

	for (uint32_t i = 0; i < nursery->n_lanes; i++) {
		memset(start, 0xdd, (size_t)(nursery->lanes[i].next - start));
		start = nursery->lanes[i].end;
	}
}
