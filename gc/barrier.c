/* SPDX-License-Identifier: BSD-2-Clause */
/* barrier.c: the remembered sets: old objects that may refer to young ones. */
/*
 * Most references that are stored into old objects are old themselves: a table
 * that grows gets all of its entries anew, a tree is balanced. Such a store is
 * no business of the next minor collection, however many there were. While
 * marking is under way the value becomes gray, at once and by the thread that
 * stores it, so the store cannot hide it [no-black-to-white].
 */
#include "internal.h"

/* Remembered objects are anywhere: each is asked for so many places before it is looked at. */
enum { AHEAD = 12 };

/* A large array is remembered once, too, but each store must mark its card. */
static void remember_part(struct gc_thread *thread, struct gc_header *array, const void *start,
			  size_t size)
{
	uint16_t before;

	cards_mark(array, start, size);
	if (__atomic_load_n(&array->flags, __ATOMIC_RELAXED) & GC_FLAG_REMEMBERED)
		return;
	before = __atomic_fetch_or(&array->flags, GC_FLAG_REMEMBERED, __ATOMIC_RELAXED);
	if (!(before & GC_FLAG_REMEMBERED))
		stack_push(&thread->remembered, array);
}

/*
 * The first store into an old object since the last collection. Two threads may
 * come here with the same object at once: it is then remembered twice, which
 * does no harm.
 */
void gc_barrier_slow(struct gc_thread *thread, struct gc_header *object, void *start, size_t size)
{
	if (__atomic_load_n(&object->flags, __ATOMIC_RELAXED) & GC_FLAG_CARDS) {
		remember_part(thread, object, start, size);
		return;
	}
	stack_push(&thread->remembered, object);
	__atomic_fetch_and(&object->flags, (uint16_t)~GC_FLAG_TRACK_YOUNG, __ATOMIC_RELAXED);
}

/* A store of `value` into an object that is tracked. */
void gc_write_slow(struct gc_thread *thread, struct gc_header *object, void *slot,
		   const void *value)
{
	struct gc_heap *heap = thread->heap;

	if (!value)
		return;
	if (heap_is_young(heap, value))
		gc_barrier_slow(thread, object, slot, sizeof(value));
	else if (major_is_marking(heap) && old_mark_shared(value))
		stack_push(&thread->shaded, (void *)(uintptr_t)value);
}

/* What mutators made gray becomes known to the marking. The world is stopped. */
void barrier_gather(struct gc_heap *heap)
{
	for (struct gc_thread *thread = heap->threads; thread; thread = thread->next) {
		for (size_t i = 0; i < thread->shaded.count; i++)
			stack_push(&heap->major.gray, thread->shaded.base[i]);
		thread->shaded.count = 0;
	}
}

static void visit_stack(const struct gc_stack *stack, gc_visit_object visit, void *context)
{
	for (size_t i = 0; i < stack->count; i++) {
		if (i + AHEAD < stack->count)
			__builtin_prefetch(stack->base[i + AHEAD], 1);
		visit(context, stack->base[i]);
	}
}

/* Calls visit for every remembered object of every thread. The world is stopped. */
void barrier_visit(struct gc_heap *heap, gc_visit_object visit, void *context)
{
	for (struct gc_thread *thread = heap->threads; thread; thread = thread->next)
		visit_stack(&thread->remembered, visit, context);
	visit_stack(&heap->remembered, visit, context);
}

/* After a minor collection no object is young: nothing need be remembered. Who looked at the
 * objects has made them tracked again, while they were at hand. */
void barrier_reset(struct gc_heap *heap)
{
	for (struct gc_thread *thread = heap->threads; thread; thread = thread->next)
		thread->remembered.count = 0;
	heap->remembered.count = 0;
}
