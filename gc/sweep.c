/* SPDX-License-Identifier: BSD-2-Clause */
/* sweep.c: gives back what marking did not reach, and sets the next threshold. */
#include "internal.h"

static void set_threshold(struct gc_heap *heap)
{
	double next = (double)heap->live * heap->options.growth;

	heap->threshold = next < (double)heap->options.min_heap ? heap->options.min_heap
								: (uint64_t)next;
}

static void *survivor(struct gc_heap *heap, void *object)
{
	(void)heap;
	return old_is_marked(object) ? object : NULL;
}

void sweep_heap(struct gc_heap *heap)
{
	uint64_t before = heap->old.bytes + heap->large.bytes;

	fate_full(heap, survivor);
	set_threshold(heap);
	large_sweep(heap);
	/* Room up to the next full collection stays mapped. */
	old_sweep(&heap->old, heap->threshold - heap->live);
	heap->old.bytes = heap->live - heap->large.bytes;
	heap->last.freed_bytes = before - heap->live;
}
