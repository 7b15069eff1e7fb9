/* SPDX-License-Identifier: BSD-2-Clause */
/* after_mark.c: work on dead objects between marking and sweeping, in parts. */
/*
 * When marking is done white objects are dead, and only weak references can reach
 * them. Steps process weak references, finalizers and samples while the program
 * runs, so the marks must stay valid: objects are still promoted black, and
 * everything reachable remains marked [dead-stay-dead]. A weak reference that is
 * not processed yet reports a white object as dead (weak.c). Ordered finalizers
 * come after all weak references are cleared, because they resurrect objects.
 */
#include "after_mark.h"
#include "finalize.h"
#include "mark.h"
#include "outcomes.h"
#include "weak.h"

/* Marking budget per ordered finalizer that a step scans: see mark.c. */
enum { MARKING_EACH = 256 };

static void *survivor(struct gc_heap *heap, void *object)
{
	(void)heap;
	return chunk_is_marked(object) ? object : NULL;
}

static void set_stage(struct gc_heap *heap, uint32_t stage)
{
	heap->major.after_mark = 0;
	__atomic_store_n(&heap->major.stage, stage, __ATOMIC_RELAXED);
}

void after_mark_begin(struct gc_heap *heap)
{
	set_stage(heap, AFTER_MARK_WEAK);
}

void after_mark_abandon(struct gc_heap *heap)
{
	finalize_abandon(heap);
	set_stage(heap, AFTER_MARK_NOTHING);
}

/* Handles dead objects one by one: marks what one refers to before it visits the next. */
static bool finalize_ordered(struct gc_heap *heap, size_t items)
{
	uint64_t budget = items < UINT64_MAX / MARKING_EACH ? items * MARKING_EACH : UINT64_MAX;

	do {
		if (!mark_spend(heap, &budget))
			return true;
		finalize_make_ready(heap);
	} while (items && finalize_next_ordered(heap, &items));
	return heap->final.at;
}

/* Runs one part of a stage; true if there is more of it. */
static bool after_mark_part(struct gc_heap *heap, size_t items)
{
	size_t *next = &heap->major.after_mark;

	switch (heap->major.stage) {
	case AFTER_MARK_WEAK:
		return weak_clear(heap, survivor, next, items);
	case AFTER_MARK_ORDERED:
		return finalize_ordered(heap, items);
	case AFTER_MARK_LIGHT:
		return finalize_light(heap, survivor, items);
	default:
		return outcomes_old(heap, survivor, next, items);
	}
}

bool after_mark_has_work(const struct gc_heap *heap)
{
	return heap->major.stage != AFTER_MARK_NOTHING;
}

bool after_mark_some(struct gc_heap *heap, size_t items)
{
	while (heap->major.stage != AFTER_MARK_DONE) {
		if (after_mark_part(heap, items))
			return false;
		set_stage(heap, heap->major.stage + 1);
	}
	set_stage(heap, AFTER_MARK_NOTHING);
	return true;
}
