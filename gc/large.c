/* SPDX-License-Identifier: BSD-2-Clause */
/* large.c: large objects, each in its own mapping; they never move. */
#include "large.h"
#include "cards.h"

/* Young large objects start a collection when they outgrow this many nurseries. */
enum { YOUNG_NURSERIES = 4 };

/* Freed mappings are kept for reuse, up to one nursery in total. A reused mapping may be larger
 * than needed by this fraction. */
enum { SPARE_FIT = 4 };

/* The fraction of a mapping that must be resident for clear() to zero it. */
enum { RESIDENT = 2 };

static size_t mapping_size(size_t size, bool with_cards)
{
	size_t cards = with_cards ? GC_ALIGN(cards_count(size)) : 0;

	return (LARGE_OFFSET + size + cards + OS_PAGE - 1) & ~(OS_PAGE - 1);
}

static struct gc_chunk *take_spare(struct gc_heap *heap, size_t mapped)
{
	struct gc_chunk **link = &heap->large.spare, *chunk;

	heap_lock(heap);
	while ((chunk = *link)) {
		if (chunk->mapped >= mapped && chunk->mapped - mapped <= mapped / SPARE_FIT)
			break;
		link = &chunk->next;
	}
	if (chunk) {
		*link = chunk->next;
		heap->large.spare_bytes -= chunk->mapped;
	}
	pthread_mutex_unlock(&heap->lock);
	return chunk;
}

static bool keep_spare(struct gc_heap *heap, struct gc_chunk *chunk)
{
	struct gc_large *large = &heap->large;

	if (chunk->mapped > heap->options.nursery_size - large->spare_bytes)
		return false;
	chunk->next = large->spare;
	large->spare = chunk;
	large->spare_bytes += chunk->mapped;
	return true;
}

void large_free_spare(struct gc_heap *heap)
{
	struct gc_chunk *chunk, *next;

	for (chunk = heap->large.spare; chunk; chunk = next) {
		next = chunk->next;
		os_unmap(chunk, chunk->mapped);
	}
	heap->large.spare = NULL;
	heap->large.spare_bytes = 0;
}

/* If most pages are resident, zeroing them is faster than page faults. If few are, the system drops
 * these, and the others cost nothing. */
static void clear(void *memory, size_t size)
{
	if (os_resident(memory, size) > size / RESIDENT)
		memset(memory, 0, size);
	else
		os_release(memory, size);
}

/* Returns zeroed memory with `mapped` set. NULL: the system refused. */
static struct gc_chunk *get_chunk(struct gc_heap *heap, size_t mapped)
{
	size_t alignment = mapped >= 4 * CHUNK_SIZE ? 4 * CHUNK_SIZE : CHUNK_SIZE;
	struct gc_chunk *chunk = take_spare(heap, mapped);

	if (chunk) {
		size_t kept = chunk->mapped;

		clear(chunk, mapped);
		chunk->mapped = kept;
		return chunk;
	}
	chunk = os_map_aligned(mapped, alignment);
	if (!chunk)
		return NULL;
	if (mapped >= 4 * CHUNK_SIZE)
		os_prefer_huge(chunk, mapped);
	chunk->mapped = mapped;
	return chunk;
}

bool large_is_due(struct gc_heap *heap, size_t size)
{
	uint64_t young = __atomic_load_n(&heap->large.young_bytes, __ATOMIC_RELAXED);

	return young && young + size > YOUNG_NURSERIES * (uint64_t)heap->options.nursery_size;
}

static void set_mark(struct gc_chunk *chunk, bool marked)
{
	chunk->marks[LARGE_OFFSET / 8 / 64] = marked;
}

void *large_alloc(struct gc_heap *heap, const struct gc_type_info *type, size_t size)
{
	bool with_cards = type->n_item_pointers;
	struct gc_chunk *chunk = get_chunk(heap, mapping_size(size, with_cards));

	if (!chunk)
		return NULL;
	chunk->kind = CHUNK_LARGE;
	chunk->size = size;
	chunk->cards = with_cards ? (unsigned char *)chunk + LARGE_OFFSET + size : NULL;
	chunk->age = LARGE_YOUNG;
	set_mark(chunk, true);
	heap_lock(heap);
	chunk->next = heap->large.young;
	heap->large.young = chunk;
	heap->large.bytes += size;
	heap->major.large += size;
	__atomic_fetch_add(&heap->large.young_bytes, size, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&heap->lock);
	return (char *)chunk + LARGE_OFFSET;
}

static void release(struct gc_heap *heap, struct gc_chunk *chunk)
{
	heap->large.bytes -= chunk->size;
	heap->last.freed_bytes += chunk->size;
	if (!keep_spare(heap, chunk))
		os_unmap(chunk, chunk->mapped);
}

static void make_old(struct gc_heap *heap, struct gc_chunk *chunk)
{
	struct gc_header *object = (struct gc_header *)((char *)chunk + LARGE_OFFSET);

	object->flags = chunk->cards ? GC_FLAG_TRACK_YOUNG | GC_FLAG_CARDS : GC_FLAG_TRACK_YOUNG;
	chunk->age = LARGE_OLD;
	/* Marking ignored it while it was young; now it is gray. */
	set_mark(chunk, major_is_marking(heap));
	if (major_is_marking(heap)) {
		worklist_push(&heap->major.gray, object);
		if (chunk->cards)
			heap->major.promoted += chunk->size;
	}
	chunk->next = heap->large.old;
	heap->large.old = chunk;
	heap->last.promoted_bytes += chunk->size;
	heap->last.promoted_objects++;
}

void large_finish_minor(struct gc_heap *heap)
{
	struct gc_chunk *chunk = heap->large.young, *next;

	heap->large.young = NULL;
	heap->large.young_bytes = 0;
	for (; chunk; chunk = next) {
		next = chunk->next;
		if (chunk->age == LARGE_YOUNG_VISITED)
			make_old(heap, chunk);
		else
			release(heap, chunk);
	}
}

static void clear_marks(struct gc_chunk *chunk)
{
	for (; chunk; chunk = chunk->next)
		set_mark(chunk, false);
}

void large_clear_marks(struct gc_heap *heap)
{
	clear_marks(heap->large.old);
}

void large_begin_sweeping(struct gc_heap *heap)
{
	heap->large.unswept = heap->large.old;
	heap->large.old = NULL;
}

/* Unmaps a part at the end, since the cost grows with the size; true if that was all of it. */
static bool release_some(struct gc_heap *heap, struct gc_chunk *chunk, size_t *budget)
{
	if (chunk->mapped <= *budget) {
		*budget -= chunk->mapped;
		release(heap, chunk);
		return true;
	}
	chunk->mapped -= *budget;
	os_unmap((char *)chunk + chunk->mapped, *budget);
	*budget = 0;
	return false;
}

bool large_sweep_some(struct gc_heap *heap, size_t chunks)
{
	size_t budget;

	if (__builtin_mul_overflow(chunks, CHUNK_SIZE, &budget))
		budget = SIZE_MAX & ~(OS_PAGE - 1);
	while (heap->large.unswept && budget) {
		struct gc_chunk *chunk = heap->large.unswept, *next = chunk->next;

		if (chunk_is_marked((char *)chunk + LARGE_OFFSET)) {
			set_mark(chunk, false);
			chunk->next = heap->large.old;
			heap->large.old = chunk;
			budget -= OS_PAGE;
		} else if (!release_some(heap, chunk, &budget)) {
			break;
		}
		heap->large.unswept = next;
	}
	return !heap->large.unswept;
}

void large_free(struct gc_heap *heap)
{
	large_finish_minor(heap);
	clear_marks(heap->large.unswept);
	large_sweep_some(heap, SIZE_MAX);
	large_clear_marks(heap);
	large_begin_sweeping(heap);
	large_sweep_some(heap, SIZE_MAX);
	large_free_spare(heap);
}
