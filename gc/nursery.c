/* SPDX-License-Identifier: BSD-2-Clause */
/* nursery.c: the nursery, its buffers, and the slow path of allocation. */
#include "internal.h"

/* The largest part of a buffer that may be wasted to start a new one. */
enum { WASTE_SHIFT = 3 };

/* So much of a buffer is zeroed at a time, just before it is used: in the level 1 cache, and short
 * enough for the C library to use vector stores, which are faster than its string instruction. */
enum { PIECE = 2 << 10 };

/* It does not grow beyond this: more than that no caches hold. */
enum { GROWTH_MAX = 64 << 20 };

/* What it may ever have: its size for each processor. */
static size_t largest_size(const struct gc_heap *heap)
{
	size_t one = heap->options.nursery_size;
	size_t n = heap->processors < LANES_MAX ? heap->processors : LANES_MAX;

	while (n > 1 && n * one > GROWTH_MAX)
		n--;
	return n * one;
}

/* Aligned to large pages if it can use one; not to the chunks' size in vain: nothing ever searches
 * a chunk header in the nursery. */
static void *map_nursery(size_t size)
{
	const size_t alignment = 4 * CHUNK_SIZE;

	return size >= alignment ? os_map_aligned(size, alignment) : os_map(size);
}

int nursery_init(struct gc_heap *heap)
{
	struct gc_nursery *nursery = &heap->nursery;
	size_t size = largest_size(heap);

	/* Where memory is limited (RLIMIT_AS) one without room to grow will do. */
	nursery->base = map_nursery(size);
	if (!nursery->base) {
		size = heap->options.nursery_size;
		nursery->base = map_nursery(size);
	}
	if (!nursery->base)
		return -ENOMEM;
	os_prefer_huge(nursery->base, size);
	nursery->end = nursery->base + size;
	lanes_reset(heap);
	survey_reset(heap);
	return 0;
}

void nursery_free(struct gc_heap *heap)
{
	os_unmap(heap->nursery.base, (size_t)(heap->nursery.end - heap->nursery.base));
}

/* A maximum of the heap leaves room for it, and for it to survive. */
static bool has_room(const struct gc_heap *heap, size_t size)
{
	return !heap->options.max_heap ||
	       heap->old.bytes + heap->large.bytes + 2 * size <= heap->options.max_heap;
}

/*
 * The nursery is empty. Each thread that runs adds its size, so that several do not collect more
 * often than one would, unless it is to be expected that more than that survives in all: the pause
 * does not grow with the threads.
 */
void nursery_resize(struct gc_heap *heap, uint32_t running)
{
	struct gc_nursery *nursery = &heap->nursery;
	size_t one = heap->options.nursery_size, size = (size_t)(nursery->end - nursery->base);
	uint64_t used = heap->major.used, promoted = heap->major.promoted;

	if (running < size / one)
		size = running ? running * one : one;
	if (promoted && size > used / promoted * one)
		size = used / promoted * one;
	if (size < one || !has_room(heap, size))
		size = one;
	nursery->size = size;
	if (nursery->largest < size)
		nursery->largest = size;
	if (nursery->touched < size)
		nursery->touched = size;
}

/* Threads are gone: gives back what has not been used since the last major collection, a little
 * each time. */
void nursery_trim(struct gc_heap *heap)
{
	struct gc_nursery *nursery = &heap->nursery;
	size_t size = heap->options.nursery_size;

	if (nursery->touched > nursery->largest) {
		nursery->touched -= size;
		os_release(nursery->base + nursery->touched, size);
	}
	nursery->largest = nursery->size;
}

/* Everything in it was promoted or is dead. The world is stopped. */
void nursery_empty(struct gc_heap *heap)
{
	struct gc_nursery *nursery = &heap->nursery;

	if (GC_CHECK)
		lanes_poison(nursery);
	lanes_reset(heap);
	heap->before += nursery->used;
	nursery->used = 0;
	survey_reset(heap);
}

/* Makes the buffer zero up to `end` at least, which lies in it. */
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

/* Counts what was allocated since the last time. The thread itself, or in a stop. */
void nursery_account(struct gc_thread *thread)
{
	size_t consumed = (size_t)(thread->head.free - thread->segment);
	size_t bytes = consumed + thread->uncounted;

	if (!bytes)
		return;
	thread->segment = thread->head.free;
	thread->uncounted = 0;
	__atomic_fetch_add(&thread->heap->nursery.used, bytes, __ATOMIC_RELAXED);
	if (!GCPROF_NO_SAMPLING)
		gcprof_consume(thread->sampler, consumed);
}

/* Allocates in the thread's buffer, or NULL. */
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

/* What the nursery must have for an object that does not fit the buffer: a new buffer, or, when
 * that would throw away much of this one, room for the object beside it. */
static size_t unit_for(const struct gc_heap *heap, size_t size)
{
	size_t buffer_size = heap->nursery.buffer;

	return size > buffer_size >> WASTE_SHIFT ? size : buffer_size;
}

/* Takes that; NULL: the nursery, or its slice, is full. */
static void *take_from_nursery(struct gc_thread *thread, size_t size)
{
	size_t unit = unit_for(thread->heap, size);
	char *start = lanes_take(thread, unit);

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
		heap_collect(thread, COLLECT_MINOR, GCPROF_REASON_LARGE, heap_cycle(heap));
	else if (major_has_work(heap))
		heap_step(thread, GCPROF_REASON_LARGE, heap_cycle(heap));
	finalize_run(thread);
	for (bool collected = false; room_for(thread, size); collected = true) {
		object = large_alloc(heap, &heap->types[type], size);
		if (object) {
			__atomic_fetch_add(&heap->before, size, __ATOMIC_RELAXED);
			return object;
		}
		if (!room_refused(thread, size, collected))
			break;
	}
	return NULL;
}

/* The last collection wants memory for the next one, and the nursery is in use again. Before the
 * first one it, or what may be used of it until then, is to be used by half: many programs have no
 * collection at all. */
static bool prepare_is_due(const struct gc_heap *heap, size_t slice)
{
	size_t first = slice < heap->options.nursery_size ? slice : heap->options.nursery_size;

	return old_wants_reserve(&heap->old) &&
	       nursery_taken(&heap->nursery) > (heap_cycle(heap) ? 0 : first / 2);
}

static void *take_anywhere(struct gc_thread *thread, gc_type type, size_t size)
{
	struct gc_heap *heap = thread->heap;
	void *object;
	bool over;

	for (;;) {
		uint64_t seen = heap_cycle(heap);
		size_t slice = nursery_slice(&heap->nursery);

		if (threads_stop_wanted(heap))
			threads_park(thread);
		if (size >= heap->options.large_size)
			return take_large(thread, type, size);
		object = take_from_buffer(thread, size);
		if (object)
			return object;
		/* Only here: for a sample one also comes by, but it must not change when steps are.
		 */
		if (major_step_is_due(heap)) {
			heap_step(thread, GCPROF_REASON_THRESHOLD, seen);
			continue;
		}
		if (prepare_is_due(heap, slice)) {
			heap_prepare(thread);
			continue;
		}
		over = survey_is_over(thread);
		object = over ? NULL : take_from_nursery(thread, size);
		if (object)
			return object;
		if (over || !lanes_have(&heap->nursery, unit_for(heap, size)))
			heap_collect(thread, COLLECT_MINOR, GCPROF_REASON_NURSERY, seen);
		else
			heap_survey(thread, slice, seen);
		finalize_run(thread);
		if (!room_for(thread, 0))
			return NULL;
	}
}

/* Most of the time nothing is due but the next piece of the buffer: then nothing else is looked at,
 * and the object is allocated as on the fast path. NULL: something else may be due. */
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

static void *alloc_slow(struct gc_thread *thread, gc_type type, size_t size)
{
	struct gc_heap *heap = thread->heap;
	struct gc_header *object;

	GC_ASSERT(type && type < __atomic_load_n(&heap->n_types, __ATOMIC_RELAXED),
		  "an object of a type that was not registered");
	/* What no address space holds is refused like other objects that are too large. */
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

void *gc_alloc_slow(struct gc_thread *thread, gc_type type, size_t size)
{
	return alloc_slow(thread, type, size);
}

void *gc_alloc_array_slow(struct gc_thread *thread, gc_type type, uint64_t length)
{
	const struct gc_type_info *info = &thread->heap->types[type];
	size_t size = types_array_size(info, length);
	char *object = thread->head.free;

	/* Types of other objects have no length. */
	GC_ASSERT(info->item_size, "an array of a type that was not registered as one");
	/* Two compares: a size near the top of the address space must not wrap around. */
	if (size < thread->head.large_size &&
	    object + size <= __atomic_load_n(&thread->head.limit, __ATOMIC_RELAXED)) {
		thread->head.free = object + size;
		((struct gc_header *)object)->type = type;
	} else {
		object = alloc_slow(thread, type, size);
	}
	if (object)
		*(uint64_t *)(object + info->length_offset) = length;
	return object;
}

void gc_safepoint_slow(struct gc_thread *thread)
{
	nursery_account(thread);
	sampler_poll(thread);
	sampler_settle(thread);
	if (threads_stop_wanted(thread->heap))
		threads_park(thread);
	limit_update(thread);
}
