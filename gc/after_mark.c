/* SPDX-License-Identifier: BSD-2-Clause */
/* after_mark.c: between marking and sweeping: what is done for the dead, a part at a time. */
/*
 * When marking is done what is white is dead, and nothing can reach it any more,
 * but for weak references. The program goes on while these, finalizers and
 * samples are gone through in steps, so the marks must stay true: objects are
 * promoted black as before, and all that is reachable remains marked
 * [dead-stay-dead]. A weak reference whose turn has not come says of a white
 * object that it is dead (weak.c). Objects with ordered finalizers come when all
 * weak references are cleared: they bring other objects back to life.
 */
#include "after_mark.h"
#include "finalize.h"
#include "mark.h"
#include "outcomes.h"
#include "weak.h"

/* What may be marked for each object with an ordered finalizer that a step goes through: see
 * mark.c. */
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

/* Finalizes the dead one by one: what one refers to is marked before the next one has its turn. */
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

/* One part of a stage; true if there is more of it. */
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
