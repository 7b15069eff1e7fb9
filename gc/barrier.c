/* SPDX-License-Identifier: BSD-2-Clause */
/* barrier.c: the remembered sets: old objects that may refer to young ones. */
/*
 * Most references stored into old objects are old themselves: a growing table
 * stores all its entries again, a tree is balanced. Such stores add no work to the
 * next minor collection. During marking, the storing thread makes the value gray
 * at once, so the store cannot hide it [no-black-to-white].
 */
#include "barrier.h"
#include "cards.h"

/* Remembered objects are scattered: each is prefetched this many entries before it is traced. */
enum { AHEAD = 12 };

/* A large array is also remembered once, but each store must dirty its card. */
static void remember_part(struct gc_thread *thread, struct gc_header *array, const void *start,
			  size_t size)
{
	cards_mark(array, start, size);
	if (__atomic_load_n(&array->flags, __ATOMIC_RELAXED) & GC_FLAG_REMEMBERED)
		return;
	worklist_push(&thread->remembered, array);
	__atomic_fetch_or(&array->flags, GC_FLAG_REMEMBERED, __ATOMIC_RELEASE);
}

/*
 * The first store into an old object since the last collection. If two threads
 * get here with the same object, it is remembered twice, which is harmless. The
 * object is pushed before its flag says so, because a fork by another thread may
 * cut this one off anywhere (barrier_adopt).
 */
void gc_barrier_slow(struct gc_thread *thread, struct gc_header *object, void *start, size_t size)
{
	if (__atomic_load_n(&object->flags, __ATOMIC_RELAXED) & GC_FLAG_CARDS) {
		remember_part(thread, object, start, size);
		return;
	}
	worklist_push(&thread->remembered, object);
	__atomic_fetch_and(&object->flags, (uint16_t)~GC_FLAG_TRACK_YOUNG, __ATOMIC_RELEASE);
}

/* Makes an old object gray. Between mark and push only `shading` records that it is not traced. */
static void shade(struct gc_thread *thread, void *object)
{
	__atomic_store_n(&thread->shading, object, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (chunk_mark_shared(object))
		worklist_push(&thread->shaded, object);
	__atomic_store_n(&thread->shading, NULL, __ATOMIC_RELEASE);
}

/* Stores `value` into a tracked object. The store happens here, so that callers need not keep their
 * registers across the call. */
void gc_write_slow(struct gc_thread *thread, struct gc_header *object, void *slot,
		   const void *value)
{
	struct gc_heap *heap = thread->heap;

	if (value && heap_is_young(heap, value))
		gc_barrier_slow(thread, object, slot, sizeof(value));
	else if (value && major_is_marking(heap))
		shade(thread, (void *)(uintptr_t)value);
	memcpy(slot, &value, sizeof(value));
}

/* Sets the flags of objects that were pushed but not flagged yet. Atomic, because other threads may
 * run and write to the same objects, except in the child of a fork. */
void barrier_adopt(struct gc_heap *heap, struct gc_thread *thread)
{
	for (size_t i = 0; i < thread->remembered.count; i++) {
		uint16_t *flags = &((struct gc_header *)thread->remembered.base[i])->flags;

		if (__atomic_load_n(flags, __ATOMIC_RELAXED) & GC_FLAG_CARDS)
			__atomic_fetch_or(flags, GC_FLAG_REMEMBERED, __ATOMIC_RELEASE);
		else
			__atomic_fetch_and(flags, (uint16_t)~GC_FLAG_TRACK_YOUNG, __ATOMIC_RELEASE);
	}
	worklist_move(&heap->remembered, &thread->remembered);
	if (thread->shading && chunk_is_marked(thread->shading))
		worklist_push(&heap->major.gray, thread->shading);
	worklist_move(&heap->major.gray, &thread->shaded);
}

void barrier_gather(struct gc_heap *heap)
{
	for (struct gc_thread *thread = heap->threads; thread; thread = thread->next) {
		for (size_t i = 0; i < thread->shaded.count; i++)
			worklist_push(&heap->major.gray, thread->shaded.base[i]);
		thread->shaded.count = 0;
	}
}

static void visit_stack(const struct gc_worklist *stack, gc_visit_object visit, void *context)
{
	for (size_t i = 0; i < stack->count; i++) {
		if (i + AHEAD < stack->count)
			__builtin_prefetch(stack->base[i + AHEAD], 1);
		visit(context, stack->base[i]);
	}
}

void barrier_visit(struct gc_heap *heap, gc_visit_object visit, void *context)
{
	for (struct gc_thread *thread = heap->threads; thread; thread = thread->next)
		visit_stack(&thread->remembered, visit, context);
	visit_stack(&heap->remembered, visit, context);
}

/* Tracing has set the objects' flags to tracked again. */
void barrier_reset(struct gc_heap *heap)
{
	for (struct gc_thread *thread = heap->threads; thread; thread = thread->next)
		thread->remembered.count = 0;
	heap->remembered.count = 0;
}
