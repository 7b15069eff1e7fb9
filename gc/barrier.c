/* SPDX-License-Identifier: BSD-2-Clause */
/* barrier.c: the remembered sets: old objects that may refer to young ones. */
#include "internal.h"

/* The first store into an old object since the last collection. Two threads may come here with
 * the same object at once: it is then remembered twice, which does no harm. */
void gc_barrier_slow(struct gc_thread *thread, struct gc_header *object)
{
	stack_push(&thread->remembered, object);
	__atomic_fetch_and(&object->flags, (uint16_t)~GC_FLAG_TRACK_YOUNG, __ATOMIC_RELAXED);
}

static void visit_stack(struct gc_heap *heap, const struct gc_stack *stack,
			void (*visit)(struct gc_heap *, struct gc_header *))
{
	for (size_t i = 0; i < stack->count; i++)
		visit(heap, stack->base[i]);
}

/* Calls visit for every remembered object of every thread. The world is stopped. */
void barrier_visit(struct gc_heap *heap, void (*visit)(struct gc_heap *, struct gc_header *))
{
	for (struct gc_thread *thread = heap->threads; thread; thread = thread->next)
		visit_stack(heap, &thread->remembered, visit);
	visit_stack(heap, &heap->remembered, visit);
}

static void track_again(struct gc_heap *heap, struct gc_header *object)
{
	(void)heap;
	object->flags |= GC_FLAG_TRACK_YOUNG;
}

/* After a minor collection no object is young: nothing need be remembered. */
void barrier_reset(struct gc_heap *heap)
{
	barrier_visit(heap, track_again);
	for (struct gc_thread *thread = heap->threads; thread; thread = thread->next)
		thread->remembered.count = 0;
	heap->remembered.count = 0;
}
