/* SPDX-License-Identifier: BSD-2-Clause */
/* sweep.c: frees unmarked objects, and sets the next threshold. */
#include "sweep.h"
#include "large.h"
#include "nursery.h"
#include "old.h"

/* While a major collection runs the heap grows by about this part (1 / BEYOND) of the threshold. */
enum { BEYOND = 4 };

static void set_threshold(struct gc_heap *heap)
{
	double next = (double)heap->major.live * heap->options.growth;

	heap->threshold = next < (double)heap->options.min_heap ? heap->options.min_heap
								: (uint64_t)next;
}

/* Room until the end of the next major collection stays mapped, because returning and mapping it
 * again costs page faults. During that collection the heap grows beyond the threshold, and the
 * minor collection that passes the threshold may promote a whole nursery. */
static size_t room_to_keep(const struct gc_heap *heap)
{
	return heap->threshold + heap->threshold / BEYOND + heap->nursery.size - heap->major.live;
}

/*
 * White objects are dead. Small and medium ones are counted as freed at once, although
 * their memory is found only when it is swept; large ones when they are unmapped.
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
