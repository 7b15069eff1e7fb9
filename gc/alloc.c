/* SPDX-License-Identifier: BSD-2-Clause */
/* alloc.c: the slow path of allocation. */
#include "collect.h"
#include "finalize.h"
#include "large.h"
#include "limit.h"
#include "major.h"
#include "max_heap.h"
#include "nursery.h"
#include "sampler.h"
#include "shares.h"
#include "types.h"

/* At most this fraction of a buffer (1 / 2^WASTE_SHIFT) is wasted to start a new one. */
enum { WASTE_SHIFT = 3 };

/* The cost of scanning a modified old object, and a new weak reference or finalizer; and the
 * nursery bytes per ns from which it is too high: a third of the time of promoting a nursery. */
enum { REMEMBERED_NS = 80, WATCHED_NS = 60, COSTLY_BYTES_A_NS = 9 };

/* A buffer is zeroed in pieces of this size just before use: small enough for the level 1 cache,
 * and for the C library to use vector stores, which are faster than its string instruction. */
enum { PIECE = 2 << 10 };

/* Zeroes the buffer at least up to `end`, which is inside it. */
static void zero_up_to(struct gc_thread *thread, const char *end)
{
	size_t size = PIECE;

	if (end <= thread->zeroed)
		return;
	if (size < (size_t)(end - thread->zeroed))
		size = (size_t)(end - thread->zeroed);
	if (size > (size_t)(thread->end - thread->zeroed))
		size = (size_t)(thread->end - thread->zeroed);
	memset(thread->zeroed, 0, size);
	thread->zeroed += size;
}

/* Allocates in the thread's buffer; NULL: it has no room. */
static void *take_from_buffer(struct gc_thread *thread, size_t size)
{
	char *object = thread->head.free;

	if (size > (size_t)(thread->end - object))
		return NULL;
	zero_up_to(thread, object + size);
	thread->head.free = object + size;
	thread->segment = object + size;
	thread->uncounted += size;
	return object;
}

/* What to take from the nursery for an object that does not fit in the buffer: a new buffer or, if
 * that would waste much of the current one, memory for this object alone. */
static size_t unit_for(const struct gc_heap *heap, size_t size)
{
	size_t buffer_size = heap->nursery.buffer;

	return size > buffer_size >> WASTE_SHIFT ? size : buffer_size;
}

/* Allocates there; NULL: the nursery is full. */
static void *take_from_nursery(struct gc_thread *thread, size_t size)
{
	size_t unit = unit_for(thread->heap, size);
	char *start = shares_take(thread, unit);

	if (!start)
		return NULL;
	if (unit == size) {
		thread->uncounted += size;
		return memset(start, 0, size);
	}
	thread->head.free = start;
	thread->segment = start;
	thread->zeroed = start;
	thread->end = start + unit;
	return take_from_buffer(thread, size);
}

static void *take_large(struct gc_thread *thread, gc_type type, size_t size)
{
	struct gc_heap *heap = thread->heap;
	void *object;

	if (large_is_due(heap, size))
		collect_run(thread, COLLECT_MINOR, GCPROF_REASON_LARGE, heap_cycle(heap));
	else if (major_has_work(heap))
		collect_step(thread, GCPROF_REASON_LARGE, heap_cycle(heap));
	finalize_run(thread);
	for (bool collected = false; max_heap_allows(thread, size); collected = true) {
		object = large_alloc(heap, &heap->types[type], size);
		if (object) {
			__atomic_fetch_add(&heap->before, size, __ATOMIC_RELAXED);
			return object;
		}
		if (!max_heap_refused(thread, size, collected))
			break;
	}
	return NULL;
}

/* True if scanning the old objects that this thread modified, and all new weak references and
 * finalizers, would make the next pause too long to wait until the nursery is full. Costs are
 * constants, so the same program collects at the same points. */
static bool collection_is_costly(const struct gc_thread *thread)
{
	const struct gc_heap *heap = thread->heap;
	uint64_t watched = __atomic_load_n(&heap->nursery.watched, __ATOMIC_RELAXED);
	uint64_t cost = thread->remembered.count * REMEMBERED_NS + watched * WATCHED_NS;

	return cost > heap->options.nursery_size / COSTLY_BYTES_A_NS;
}

static void *take_anywhere(struct gc_thread *thread, gc_type type, size_t size)
{
	struct gc_heap *heap = thread->heap;
	void *object;

	for (;;) {
		uint64_t seen = heap_cycle(heap);

		if (threads_stop_wanted(heap))
			threads_park(thread);
		if (size >= heap->options.large_size)
			return take_large(thread, type, size);
		object = take_from_buffer(thread, size);
		if (object)
			return object;
		/* Only here: sampled allocations also reach this function, but must not change the
		 * points at which steps run. */
		if (major_step_is_due(heap)) {
			collect_step(thread, GCPROF_REASON_THRESHOLD, seen);
			continue;
		}
		object = collection_is_costly(thread) ? NULL : take_from_nursery(thread, size);
		if (object)
			return object;
		collect_run(thread, COLLECT_MINOR, GCPROF_REASON_NURSERY, seen);
		finalize_run(thread);
		if (!max_heap_allows(thread, 0))
			return NULL;
	}
}

/* The common case: only the next piece of the buffer is due. Nothing else is checked, and the
 * object is allocated as on the fast path. NULL: something else may be due. */
static struct gc_header *take_piece(struct gc_thread *thread, size_t size)
{
	struct gc_thread_head *head = &thread->head;
	char *object = head->free;

	if (__atomic_load_n(&head->limit, __ATOMIC_RELAXED) != thread->zeroed ||
	    size > (size_t)(thread->end - object))
		return NULL;
	zero_up_to(thread, object + size);
	limit_update(thread);
	if (object + size > __atomic_load_n(&head->limit, __ATOMIC_RELAXED))
		return NULL;
	head->free = object + size;
	return (struct gc_header *)object;
}

void *gc_alloc_slow(struct gc_thread *thread, gc_type type, size_t size)
{
	struct gc_heap *heap = thread->heap;
	struct gc_header *object;

	GC_ASSERT(type && type < __atomic_load_n(&heap->n_types, __ATOMIC_RELAXED),
		  "an object of a type that was not registered");
	/* A size beyond the address space is refused like other objects that are too large. */
	size = GC_ALIGN(size < PTRDIFF_MAX ? size : PTRDIFF_MAX);
	object = take_piece(thread, size);
	if (object) {
		object->type = type;
		return object;
	}
	GC_ASSERT(__atomic_load_n(&thread->state, __ATOMIC_RELAXED) == THREAD_RUNNING,
		  "an object was allocated between gc_blocking_begin() and gc_blocking_end()");
	nursery_account(thread);
	sampler_poll(thread);
	object = take_anywhere(thread, type, size);
	if (!object) {
		limit_update(thread);
		return NULL;
	}
	object->type = type;
	sampler_allocated(thread, object, size);
	sampler_settle(thread);
	limit_update(thread);
	return object;
}

void *gc_alloc_array_slow(struct gc_thread *thread, gc_type type, uint64_t length)
{
	const struct gc_type_info *info = &thread->heap->types[type];
	size_t size = types_array_size(info, length);
	char *object = thread->head.free;

	/* Only types of arrays have a length. */
	GC_ASSERT(info->item_size, "an array of a type that was not registered as one");
	/* Two comparisons, because object + size may wrap around. */
	if (size < thread->head.large_size &&
	    object + size <= __atomic_load_n(&thread->head.limit, __ATOMIC_RELAXED)) {
		thread->head.free = object + size;
		((struct gc_header *)object)->type = type;
	} else {
		object = gc_alloc_slow(thread, type, size);
	}
	if (object)
		*(uint64_t *)(object + info->length_offset) = length;
	return object;
}
