/* SPDX-License-Identifier: BSD-2-Clause */
/* roots.c: the roots of tracing: shadow-stack frames, registered variables and pins. */
#include "roots.h"
#include "finalize.h"

int gc_root_add(struct gc_heap *heap, void **slot)
{
	if (!slot)
		return gcprof_error_set(-EINVAL,
					"gc_root_add: the address of a variable is needed");
	heap_lock(heap);
	worklist_push(&heap->roots, slot);
	pthread_mutex_unlock(&heap->lock);
	return 0;
}

void gc_root_remove(struct gc_heap *heap, void **slot)
{
	heap_lock(heap);
	worklist_remove(&heap->roots, slot);
	pthread_mutex_unlock(&heap->lock);
}

static void visit_frames(const struct gc_thread *thread, gc_visit visit, void *context)
{
	uint64_t top = __atomic_load_n(&thread->head.anchor.top, __ATOMIC_ACQUIRE);
	struct gc_frame *frame = (struct gc_frame *)(uintptr_t)top;

	while (frame) {
		void **slots = (void **)(frame + 1);

		for (uint32_t i = 0; i < frame->nslots; i++)
			visit(context, &slots[i]);
		frame = (struct gc_frame *)(uintptr_t)frame->prev;
	}
}

void roots_visit(struct gc_heap *heap, gc_visit visit, void *context)
{
	for (struct gc_thread *thread = heap->threads; thread; thread = thread->next)
		visit_frames(thread, visit, context);
	for (size_t i = 0; i < heap->roots.count; i++)
		visit(context, heap->roots.base[i]);
	/* Pinned objects do not move, so the slots are not written. */
	for (size_t i = 0; i < heap->pins.count; i++)
		visit(context, &heap->pins.base[i]);
	finalize_visit(heap->final.ready, visit, context);
}
