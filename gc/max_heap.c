/* SPDX-License-Identifier: BSD-2-Clause */
/* max_heap.c: a heap's maximum, memory outside the heap, and refused memory. */
#include "max_heap.h"
#include "collect.h"
#include "finalize.h"
#include "limit.h"
#include "nursery.h"

/* Memory outside the heap triggers a minor collection each time it grows by this many nurseries. */
enum { PRESSURE_NURSERIES = 8 };

void gc_on_out_of_memory(struct gc_heap *heap, gc_out_of_memory function, void *context)
{
	heap_lock(heap);
	heap->out_of_memory = function;
	heap->out_of_memory_context = context;
	pthread_mutex_unlock(&heap->lock);
}

/* Counts the nursery as if it survived as a whole. */
static bool fits(struct gc_heap *heap, size_t size)
{
	uint64_t bytes;

	heap_lock(heap);
	bytes = heap->old.bytes + heap->large.bytes + heap->nursery.size;
	pthread_mutex_unlock(&heap->lock);
	return bytes <= heap->options.max_heap && size <= heap->options.max_heap - bytes;
}

/* Asks the program, which may drop references, and allocate up to a nursery for that. If it leaves
 * by longjmp, it keeps this allowance once. */
static bool ask(struct gc_thread *thread, size_t size)
{
	struct gc_heap *heap = thread->heap;
	bool again;

	if (!heap->out_of_memory)
		os_fatal("out of memory: the heap's maximum is %zu bytes", heap->options.max_heap);
	thread->allowance = heap->options.nursery_size;
	again = heap->out_of_memory(heap->out_of_memory_context, thread, size) != 0;
	thread->allowance = 0;
	nursery_account(thread);
	return again;
}

static bool is_allowed(struct gc_thread *thread, size_t size)
{
	uint64_t bytes = size ? size : thread->heap->options.nursery_size;

	if (bytes > thread->allowance)
		return false;
	thread->allowance -= bytes;
	return true;
}

bool max_heap_allows(struct gc_thread *thread, size_t size)
{
	struct gc_heap *heap = thread->heap;

	if (!heap->options.max_heap || is_allowed(thread, size))
		return true;
	while (!fits(heap, size)) {
		collect_run(thread, COLLECT_FULL, GCPROF_REASON_PRESSURE, COLLECT_ALWAYS);
		finalize_run(thread);
		if (!fits(heap, size) && !ask(thread, size))
			return false;
	}
	return true;
}

/* Collects the first time, so that the heap returns memory to the system; then (`collected`) asks
 * the program. */
bool max_heap_refused(struct gc_thread *thread, size_t size, bool collected)
{
	if (!thread->heap->out_of_memory)
		os_out_of_memory(size, "a large object");
	if (collected)
		return ask(thread, size);
	collect_run(thread, COLLECT_FULL, GCPROF_REASON_PRESSURE, COLLECT_ALWAYS);
	finalize_run(thread);
	return true;
}

void gc_memory_pressure(struct gc_thread *thread, size_t bytes)
{
	struct gc_heap *heap = thread->heap;
	uint64_t before = __atomic_fetch_add(&heap->pressure, bytes, __ATOMIC_RELAXED);
	uint64_t unit = PRESSURE_NURSERIES * (uint64_t)heap->options.nursery_size;

	if (before / unit == (before + bytes) / unit)
		return;
	nursery_account(thread);
	collect_run(thread, COLLECT_MINOR, GCPROF_REASON_PRESSURE, heap_cycle(heap));
	finalize_run(thread);
	limit_update(thread);
}
