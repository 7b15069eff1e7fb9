/* SPDX-License-Identifier: BSD-2-Clause */
/* large.c: objects too large to copy: each in a mapping of its own, young until a collection. */
#include "internal.h"

/* Young large objects start a collection when they outgrow this many nurseries. */
enum { YOUNG_NURSERIES = 4 };

static size_t mapping_size(size_t size)
{
	return (size + LARGE_OFFSET + OS_PAGE - 1) & ~(OS_PAGE - 1);
}

bool large_is_due(struct gc_heap *heap, size_t size)
{
	uint64_t young = __atomic_load_n(&heap->large.young_bytes, __ATOMIC_RELAXED);

	return young && young + size > YOUNG_NURSERIES * (uint64_t)heap->options.nursery_size;
}

/* A zeroed young object. Ends the program when the system refuses. */
void *large_alloc(struct gc_heap *heap, size_t size)
{
	size_t mapped = mapping_size(size);
	size_t alignment = mapped >= 4 * CHUNK_SIZE ? 4 * CHUNK_SIZE : CHUNK_SIZE;
	struct gc_chunk *chunk = os_map_aligned(mapped, alignment);

	if (!chunk)
		os_out_of_memory(size, "a large object");
	if (mapped >= 4 * CHUNK_SIZE)
		os_prefer_huge(chunk, mapped);
	chunk->kind = CHUNK_LARGE;
	chunk->mapped = mapped;
	chunk->size = size;
	chunk->age = LARGE_YOUNG;
	pthread_mutex_lock(&heap->lock);
	chunk->next = heap->large.young;
	heap->large.young = chunk;
	heap->large.bytes += size;
	__atomic_fetch_add(&heap->large.young_bytes, size, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&heap->lock);
	return (char *)chunk + LARGE_OFFSET;
}

static void release(struct gc_heap *heap, struct gc_chunk *chunk)
{
	heap->large.bytes -= chunk->size;
	os_unmap(chunk, chunk->mapped);
}

static void make_old(struct gc_heap *heap, struct gc_chunk *chunk)
{
	struct gc_header *object = (struct gc_header *)((char *)chunk + LARGE_OFFSET);

	object->flags = GC_FLAG_TRACK_YOUNG;
	chunk->age = LARGE_OLD;
	chunk->next = heap->large.old;
	heap->large.old = chunk;
	heap->last.promoted_bytes += chunk->size;
	heap->last.promoted_objects++;
}

/* Young objects that were reached become old, the others are given back. */
void large_finish_minor(struct gc_heap *heap)
{
	struct gc_chunk *chunk = heap->large.young, *next;

	heap->large.young = NULL;
	heap->large.young_bytes = 0;
	for (; chunk; chunk = next) {
		next = chunk->next;
		if (chunk->age == LARGE_YOUNG_VISITED) {
			make_old(heap, chunk);
		} else {
			heap->last.freed_bytes += chunk->size;
			release(heap, chunk);
		}
	}
}

void large_begin_marking(struct gc_heap *heap)
{
	for (struct gc_chunk *chunk = heap->large.old; chunk; chunk = chunk->next)
		chunk->marks[LARGE_OFFSET / 8 / 64] = 0;
}

void large_sweep(struct gc_heap *heap)
{
	struct gc_chunk **link = &heap->large.old, *chunk;

	while ((chunk = *link)) {
		if (old_is_marked((char *)chunk + LARGE_OFFSET)) {
			link = &chunk->next;
			continue;
		}
		*link = chunk->next;
		release(heap, chunk);
	}
}

void large_free(struct gc_heap *heap)
{
	heap->last.freed_bytes = 0;
	large_finish_minor(heap);
	large_begin_marking(heap);
	large_sweep(heap);
}
