/* SPDX-License-Identifier: BSD-2-Clause */
/* sweep.c: gives back what marking did not reach, and sets the next threshold. */
#include "sweep.h"
#include "large.h"
#include "nursery.h"
#include "old.h"

/* A major collection is over when the heap has grown by about this part of the threshold. */
enum { BEYOND = 4 };

static void set_threshold(struct gc_heap *heap)
{
	double next = (double)heap->major.live * heap->options.growth;

	heap->threshold = next < (double)heap->options.min_heap ? heap->options.min_heap
								: (uint64_t)next;
}

/* Room up to the end of the next major collection stays mapped: what is given back and taken again
 * costs page faults. While that goes on the heap grows beyond the threshold, and the minor
 * collection that passes it may promote a nursery at once. */
static size_t room_to_keep(const struct gc_heap *heap)
{
	return heap->threshold + heap->threshold / BEYOND + heap->nursery.size - heap->major.live;
}

/*
 * What is white now is dead. Its small and medium objects are counted as freed at once, though
 * their memory is found only as it is swept; large ones as they are unmapped.
 */
void sweep_begin(struct gc_heap *heap)
{
	uint64_t live = heap->major.live - heap->major.live_large;

	__atomic_store_n(&heap->pressure, 0, __ATOMIC_RELAXED);
	set_threshold(heap);
	heap->last.freed_bytes += heap->old.bytes - live;
	heap->old.bytes = live;
	old_begin_sweeping(&heap->old, room_to_keep(heap));
	large_begin_sweeping(heap);
	nursery_trim(heap);
}

bool sweep_some(struct gc_heap *heap, size_t arenas)
{
	bool large_done = large_sweep_some(heap, arenas);

	return old_sweep_some(&heap->old, arenas) && large_done;
}
