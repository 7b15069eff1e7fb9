/* SPDX-License-Identifier: BSD-2-Clause */
/* settle.c: between marking and sweeping: tells those who want to know who died, a part at a time.
 */
/*
 * When marking is done what is white is dead, and nothing can reach it any more,
 * but for weak references. The program goes on while these, finalizers and
 * samples are gone through in steps, so the marks must stay true: objects are
 * promoted black as before, and all that is reachable remains marked
 * [settling-is-marked]. A weak reference whose turn has not come says of a white
 * object that it is dead (weak.c). Objects with ordered finalizers come when all
 * weak references are cleared: they bring other objects back to life.
 */
#include "internal.h"

static void *survivor(struct gc_heap *heap, void *object)
{
	(void)heap;
	return old_is_marked(object) ? object : NULL;
}

static void set_stage(struct gc_heap *heap, uint32_t stage)
{
	heap->major.settled = 0;
	__atomic_store_n(&heap->major.stage, stage, __ATOMIC_RELAXED);
}

/* Nothing is gray, behind a minor collection. */
void settle_begin(struct gc_heap *heap)
{
	set_stage(heap, SETTLE_WEAK);
}

/* The marks are about to be forgotten. */
void settle_abandon(struct gc_heap *heap)
{
	finalize_abandon(heap, heap->major.settled);
	set_stage(heap, SETTLE_NOTHING);
}

/* One part of a stage; true if there is more of it. */
static bool settle_part(struct gc_heap *heap, size_t items)
{
	size_t *next = &heap->major.settled;

	switch (heap->major.stage) {
	case SETTLE_WEAK:
		return weak_clear(heap, survivor, next, items);
	case SETTLE_HOLD:
		return finalize_hold(heap, next, items);
	case SETTLE_CHOOSE:
		return finalize_choose(heap, next, items);
	case SETTLE_RELEASE:
		return finalize_release(heap, next, items);
	case SETTLE_LIGHT:
		return finalize_run_light(heap, survivor, next, items);
	default:
		return fate_old(heap, survivor, next, items);
	}
}

bool settle_has_work(const struct gc_heap *heap)
{
	return heap->major.stage != SETTLE_NOTHING;
}

/* Goes on for so many items, with nothing gray; true when all is done. */
bool settle_some(struct gc_heap *heap, size_t items)
{
	while (heap->major.stage != SETTLE_DONE) {
		if (settle_part(heap, items))
			return false;
		set_stage(heap, heap->major.stage + 1);
	}
	set_stage(heap, SETTLE_NOTHING);
	return true;
}
