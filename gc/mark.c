/* SPDX-License-Identifier: BSD-2-Clause */
/* mark.c: marks what is reachable in the old generation. */
#include "internal.h"
#include "trace.h"

/* Objects wait this long between being prefetched and being traced. */
enum { AHEAD = 16 };

static inline void visit(void *context, void **slot)
{
	struct gc_heap *heap = context;
	void *object = *slot;

	if (object && old_mark(object))
		stack_push(&heap->work, object);
}

static void trace(struct gc_heap *heap, void *object)
{
	const struct gc_type_info *type = type_of(heap, object);

	heap->live += type_object_size(type, object);
	trace_object(type, object, visit, heap);
}

/* A short queue between the stack and the tracing hides the way to memory. */
static void trace_all(struct gc_heap *heap)
{
	void *queue[AHEAD] = {NULL};
	unsigned waiting = 0, at = 0;

	while (heap->work.count || waiting) {
		void *next = heap->work.count ? stack_pop(&heap->work) : NULL;
		void *object = queue[at];

		if (next)
			__builtin_prefetch(next);
		queue[at] = next;
		at = (at + 1) % AHEAD;
		waiting += (next != NULL) - (object != NULL);
		if (object)
			trace(heap, object);
	}
}

/* The nursery is empty and the world is stopped. heap->live is the size of what was found. */
void mark_heap(struct gc_heap *heap)
{
	heap->live = 0;
	old_begin_marking(&heap->old);
	large_begin_marking(heap);
	roots_visit(heap, visit, heap);
	trace_all(heap);
}
