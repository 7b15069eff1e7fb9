/* SPDX-License-Identifier: BSD-2-Clause */
/* barrier.c: the remembered sets: old objects that may refer to young ones. */
#include "internal.h"

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

static void visit_stack(const struct gc_stack *stack, gc_visit_object visit, void *context)
{
	for (size_t i = 0; i < stack->count; i++)
		visit(context, stack->base[i]);
}

/* Calls visit for every remembered object of every thread. The world is stopped. */
void barrier_visit(struct gc_heap *heap, gc_visit_object visit, void *context)
{
	for (struct gc_thread *thread = heap->threads; thread; thread = thread->next)
		visit_stack(&thread->remembered, visit, context);
	visit_stack(&heap->remembered, visit, context);
}

static void track_again(void *context, struct gc_header *object)
{
	(void)context;
	object->flags = (object->flags | GC_FLAG_TRACK_YOUNG) & (uint16_t)~GC_FLAG_REMEMBERED;
}

/* After a minor collection no object is young: nothing need be remembered. */
void barrier_reset(struct gc_heap *heap)
{
	barrier_visit(heap, track_again, NULL);
	for (struct gc_thread *thread = heap->threads; thread; thread = thread->next)
		thread->remembered.count = 0;
	heap->remembered.count = 0;
}
