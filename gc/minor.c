/* SPDX-License-Identifier: BSD-2-Clause */
/* minor.c: the minor collection: promotes what is reachable in the nursery. */
/*
 * Copies each young object that a root, a remembered old object or another
 * survivor refers to into the old generation, once: the copy's address overwrites
 * the original's header. An address has 48 bits, and the type in the lowest 16
 * bits of a valid header is never 0. So one word holds either, and even objects
 * of 8 bytes can move.
 */
#include "minor.h"
#include "barrier.h"
#include "cards.h"
#include "finalize.h"
#include "large.h"
#include "limit.h"
#include "nursery.h"
#include "old.h"
#include "outcomes.h"
#include "roots.h"
#include "trace.h"
#include "weak.h"

/* Number of references between prefetching an object and copying it. */
enum { AHEAD = 8 };

/* See struct trail. */
enum { LATER = 1 };

struct minor {
	struct gc_heap *heap;
	uintptr_t base; /* of the nursery */
	uintptr_t size;
	uint64_t objects; /* objects promoted */
	uint64_t young;   /* of these, those allocated last, at young_from or above */
	uintptr_t young_from;
	bool marking;   /* old.c marks what is promoted */
	bool shade;     /* visiting a slot makes its old object gray */
	bool watch_old; /* marking, or there are young large objects */
};

_Static_assert(sizeof(struct gc_header) == 8, "a forwarding address fits into it");
_Static_assert(offsetof(struct gc_header, type) == 0, "the type is the low half-word");

static inline void count_promoted(struct minor *minor, const void *object)
{
	minor->objects++;
	minor->young += (uintptr_t)object >= minor->young_from;
}

static inline void *forwarded(uint64_t word)
{
	return (uint16_t)word ? NULL : (void *)(uintptr_t)(word >> 16);
}

static inline uint64_t header_word(const void *object)
{
	uint64_t word;

	memcpy(&word, object, sizeof(word));
	return word;
}

/* For small objects, calling memcpy() costs more than copying. */
static inline void copy_words(char *to, const char *from, size_t size)
{
	if (size & 8) {
		memcpy(to, from, 8);
		to += 8;
		from += 8;
	}
	for (size &= ~(size_t)15; size; size -= 16, to += 16, from += 16) {
		memcpy(to, from, 16);
		__asm__("" : "+r"(to)); /* prevents the compiler from calling memcpy() */
	}
}

/* Copies a small object; writes its header as one word, as it is read. */
static inline void copy_simple(char *copy, const char *object, uint64_t header, size_t size)
{
	const uint64_t flags = UINT64_C(0xffff) << (8 * offsetof(struct gc_header, flags));
	const uint64_t old = (uint64_t)GC_FLAG_TRACK_YOUNG
			     << (8 * offsetof(struct gc_header, flags));

	header = (header & ~flags) | old;
	memcpy(copy, &header, sizeof(header));
	copy_words(copy + sizeof(header), object + sizeof(header), size - sizeof(header));
}

static inline void forward(char *object, const void *copy)
{
	uint64_t word = (uint64_t)(uintptr_t)copy << 16;

	memcpy(object, &word, sizeof(word));
}

/*
 * Visits a reference to an object outside the nursery. During marking, every
 * referrer here counts as black: a root, a promoted object, or a remembered one.
 * (A remembered object that is white may be dead. It then keeps alive until the
 * next cycle what was stored into it, which is harmless.)
 */
static void visit_old(struct minor *minor, void *object, bool shade)
{
	struct gc_chunk *chunk = chunk_of(object);

	if (chunk_is_large(object) && chunk->age != LARGE_OLD) {
		if (chunk->age == LARGE_YOUNG)
			worklist_push(&minor->heap->large.reached, object);
		chunk->age = LARGE_YOUNG_VISITED;
		return;
	}
	if (shade && chunk_mark(object))
		worklist_push(&minor->heap->major.gray, object);
}

static inline bool is_young(const struct minor *minor, const void *object)
{
	return (uintptr_t)object - minor->base < minor->size;
}

/*
 * The work stack with its top in a register. A word on it is either the address of
 * a slot that refers to a young object, or, tagged with LATER, an object whose
 * slots are not traced yet: objects with many references would fill the stack.
 */
struct trail {
	void **base;
	void **top;
	void **end;
};

static inline struct trail trail_open(const struct gc_worklist *stack)
{
	/* Adding 0 to NULL is undefined in C. */
	if (!stack->base)
		return (struct trail){0};
	return (struct trail){stack->base, stack->base + stack->count,
			      stack->base + stack->capacity};
}

static inline void trail_close(struct gc_worklist *stack, struct trail trail)
{
	stack->count = (size_t)(trail.top - trail.base);
}

__attribute__((noinline)) static struct trail trail_grow(struct gc_worklist *stack,
							 struct trail trail)
{
	trail_close(stack, trail);
	worklist_grow(stack);
	return trail_open(stack);
}

/* Tags an object as a word on the work stack: its slots are traced later. */
static inline void *later(void *object)
{
	return (char *)object + LATER;
}

static inline bool is_later(const void *word)
{
	return (uintptr_t)word & LATER;
}

static inline void *untagged(void *word)
{
	return (void *)((uintptr_t)word & ~(uintptr_t)LATER);
}

/* `pointer` if `set`, else NULL. Never a branch, even where the compiler would prefer one. */
static inline void *if_set(void *pointer, bool set)
{
	uintptr_t mask = -(uintptr_t)set;

	__asm__("" : "+r"(mask));
	return (void *)((uintptr_t)pointer & mask);
}

/* Data that the loop needs for every slot, in registers. */
struct place {
	uintptr_t base; /* of the nursery */
	uintptr_t size;
	const struct gc_type_info *types;
};

/*
 * Copies an object with few references, and pushes its slots that refer to young
 * objects: without a branch, because no processor can predict which do. Slots are
 * read from the original, which does not wait for the stores of the copy. With
 * `watch`, references to old objects are visited, too.
 */
__attribute__((always_inline)) static inline void *
promote_simple(struct minor *minor, struct place place, char *object, uint64_t header,
	       const struct gc_type_info *type, struct trail *trail, bool watch)
{
	size_t size = type->size;
	char *copy = old_alloc_small(&minor->heap->old, type->class, size);

	if (__builtin_expect(trail->end - trail->top < FEW_OFFSETS, 0))
		*trail = trail_grow(&minor->heap->work, *trail);
	for (uint32_t i = type->n_pointers; i--;) {
		size_t offset = type->few[i];
		void *child = *(void **)(object + offset);
		bool young = (uintptr_t)child - place.base < place.size;

		*trail->top = copy + offset;
		trail->top += young;
		if (watch && __builtin_expect(if_set(child, !young) != NULL, 0))
			visit_old(minor, child, minor->marking);
	}
	copy_simple(copy, object, header, size);
	forward(object, copy);
	count_promoted(minor, object);
	return copy;
}

/* Copies any other object; its slots are traced later. */
static void *promote_other(struct minor *minor, char *object, const struct gc_type_info *type)
{
	size_t size = type_object_size(type, object);
	struct gc_header *copy = old_alloc(&minor->heap->old, size);

	if (size > SMALL_COPY)
		memcpy(copy, object, size);
	else
		copy_words((char *)copy, object, size);
	copy->flags = GC_FLAG_TRACK_YOUNG;
	forward(object, copy);
	count_promoted(minor, object);
	if (type_has_references(type))
		worklist_push(&minor->heap->work, later(copy));
	return copy;
}

static inline struct place place_of(const struct minor *minor)
{
	return (struct place){minor->base, minor->size, minor->heap->types};
}

/* Copies an object that is not forwarded. */
__attribute__((noinline)) static void *promote(struct minor *minor, char *object)
{
	struct gc_heap *heap = minor->heap;
	uint64_t header = header_word(object);
	const struct gc_type_info *type = &heap->types[(uint16_t)header];
	struct trail trail;
	void *copy;

	if (!type->is_simple)
		return promote_other(minor, object, type);
	trail = trail_open(&heap->work);
	copy = promote_simple(minor, place_of(minor), object, header, type, &trail,
			      minor->watch_old);
	trail_close(&heap->work, trail);
	return copy;
}

static inline void visit(void *context, void **slot)
{
	struct minor *minor = context;
	char *object = *slot;
	void *copy;

	if (is_young(minor, object)) {
		copy = forwarded(header_word(object));
		*slot = copy ? copy : promote(minor, object);
	} else if (minor->watch_old && object) {
		visit_old(minor, object, minor->shade);
	}
}

static void trace_remembered(void *context, struct gc_header *object)
{
	struct minor *minor = context;

	object->flags = (object->flags | GC_FLAG_TRACK_YOUNG) & (uint16_t)~GC_FLAG_REMEMBERED;
	if (object->flags & GC_FLAG_CARDS) {
		cards_visit(minor->heap, object, visit, minor);
		cards_clean(object);
	} else {
		trace_object(type_of(minor->heap, object), object, visit, minor);
	}
}

/* Prefetches what is needed when the object leaves the queue. */
static void prefetch_references(const struct gc_heap *heap, const char *object)
{
	const struct gc_type_info *type = type_of(heap, object);

	for (uint32_t i = 0; i < type->n_pointers; i++)
		__builtin_prefetch(*(void **)(object + type->pointers[i]), 1);
}

/* Visits the slots of a tagged object, or a slot whose object is not simple. */
__attribute__((noinline)) static void follow_other(struct minor *minor, void *word)
{
	if (is_later(word))
		trace_object(type_of(minor->heap, untagged(word)), untagged(word), visit, minor);
	else
		visit(minor, word);
}

/* Processes one word of the work stack. Inlined, so that the trail stays in registers. */
__attribute__((always_inline)) static inline void
follow(struct minor *minor, struct place place, void *word, struct trail *trail, bool watch)
{
	struct gc_worklist *work = &minor->heap->work;
	const struct gc_type_info *type;
	void **slot = word;
	uint64_t header;

	if (!is_later(word)) {
		header = header_word(*slot);
		type = &place.types[(uint16_t)header];
		if (forwarded(header)) {
			*slot = forwarded(header);
			return;
		}
		if (type->is_simple) {
			*slot = promote_simple(minor, place, *slot, header, type, trail, watch);
			return;
		}
	}
	trail_close(work, *trail);
	follow_other(minor, word);
	*trail = trail_open(work);
}

/* Words taken off the stack whose objects are being prefetched. */
struct queue {
	void *words[AHEAD];
	unsigned at;
};

static inline void *exchange(struct queue *queue, void *word)
{
	void *first = queue->words[queue->at];

	queue->words[queue->at] = word;
	queue->at = (queue->at + 1) % AHEAD;
	return first;
}

/* A short queue between the stack and the tracing hides memory latency. */
__attribute__((always_inline)) static inline void trace_with(struct minor *minor, bool watch)
{
	struct gc_heap *heap = minor->heap;
	struct trail trail = trail_open(&heap->work);
	struct place place = place_of(minor);
	struct queue queue = {.at = 0};
	unsigned empty = 0; /* words taken from the queue since the stack became empty */

	while (trail.top > trail.base || empty < AHEAD) {
		void *word = NULL;

		empty++;
		if (trail.top > trail.base) {
			word = *--trail.top;
			empty = 0;
			if (is_later(word))
				prefetch_references(heap, untagged(word));
			else
				__builtin_prefetch(*(void **)word, 1);
		}
		word = exchange(&queue, word);
		if (word)
			follow(minor, place, word, &trail, watch);
	}
	trail_close(&heap->work, trail);
}

__attribute__((noinline)) static void trace_young(struct minor *minor)
{
	trace_with(minor, false);
}

__attribute__((noinline)) static void trace_watching(struct minor *minor)
{
	trace_with(minor, true);
}

static void trace_all(struct minor *minor)
{
	if (minor->watch_old)
		trace_watching(minor);
	else
		trace_young(minor);
}

/* In a hash table NULLs are unpredictable, and most other references are to old objects. So there
 * is one branch, for the rest. */
static inline void visit_large(void *context, void **slot)
{
	struct minor *minor = context;

	if (__builtin_expect(is_young(minor, *slot) | chunk_is_large(*slot), 0))
		visit(minor, slot);
}

static bool are_null(void *const *slots)
{
	return !((uintptr_t)slots[0] | (uintptr_t)slots[1] | (uintptr_t)slots[2] |
		 (uintptr_t)slots[3] | (uintptr_t)slots[4] | (uintptr_t)slots[5] |
		 (uintptr_t)slots[6] | (uintptr_t)slots[7]);
}

/* A new table for a million references is mostly empty: skips eight NULLs at once. */
static void trace_table(struct minor *minor, const struct gc_type_info *type, void *table)
{
	void **slot = (void **)((char *)table + type->size);
	void **end = slot + type_length(type, table);

	trace_fixed(type, table, visit_large, minor);
	while (end - slot >= 8) {
		void **next = slot + 8;

		if (!are_null(slot))
			for (; slot < next; slot++)
				visit_large(minor, slot);
		slot = next;
	}
	for (; slot < end; slot++)
		visit_large(minor, slot);
}

/* Traces young large objects. During marking they become gray, not black, so that the old objects
 * that they refer to are traced in steps. */
static void trace_large(struct minor *minor)
{
	struct gc_heap *heap = minor->heap;

	minor->shade = false;
	while (heap->large.reached.count) {
		void *object = worklist_pop(&heap->large.reached);
		const struct gc_type_info *type = type_of(heap, object);

		if (type->n_item_pointers == 1 && type->item_size == sizeof(void *))
			trace_table(minor, type, object);
		else
			trace_object(type, object, visit_large, minor);
	}
	minor->shade = minor->marking;
}

static bool has_work(const struct gc_heap *heap)
{
	return heap->work.count || heap->large.reached.count;
}

/* Traces everything that the survivors so far refer to. */
static void trace_survivors(struct minor *minor)
{
	while (has_work(minor->heap)) {
		trace_all(minor);
		trace_large(minor);
	}
}

/* An object's current address; NULL if it was young and not reached. */
static void *survivor(struct gc_heap *heap, void *object)
{
	if (nursery_has(&heap->nursery, object))
		return forwarded(header_word(object));
	return chunk_is_large(object) && chunk_of(object)->age == LARGE_YOUNG ? NULL : object;
}

/* The start of the cache-sized part that was allocated last, if there is one share: a share is used
 * in the order of addresses. */
static uintptr_t young_from(const struct gc_nursery *nursery)
{
	size_t used = (size_t)(nursery->shares[0].next - nursery->base);
	size_t part = used < NURSERY_CACHED ? used : NURSERY_CACHED;

	return (uintptr_t)nursery->base + used - part;
}

/*
 * The additional bytes that collections of such parts would have promoted, assuming the survival
 * rate of the last part for all. Several shares have no common order: then the bytes promoted.
 */
static size_t saved_by_size(const struct minor *minor, uint64_t bytes)
{
	const struct gc_nursery *nursery = &minor->heap->nursery;
	uint64_t parts = nursery->used / NURSERY_CACHED, small;

	if (nursery->n_shares > 1 || !bytes)
		return bytes;
	small = bytes * minor->young / minor->objects * parts;
	return small > bytes ? small - bytes : 0;
}

void minor_trace(struct gc_heap *heap)
{
	struct minor minor = {
		.heap = heap,
		.base = (uintptr_t)heap->nursery.base,
		.size = (uintptr_t)(heap->nursery.end - heap->nursery.base),
		.young_from = young_from(&heap->nursery),
		.marking = major_is_marking(heap),
		.shade = major_is_marking(heap),
		.watch_old = major_is_marking(heap) || heap->large.young,
	};
	uint64_t bytes = heap->old.bytes;

	for (struct gc_thread *thread = heap->threads; thread; thread = thread->next)
		nursery_account(thread);
	heap->last.nursery_used = heap->nursery.used;
	old_begin_minor(&heap->old, minor.marking);
	roots_visit(heap, visit, &minor);
	barrier_visit(heap, trace_remembered, &minor);
	finalize_visit(heap->final.young[GC_FINALIZER_ORDERED], visit, &minor);
	do
		trace_survivors(&minor);
	while (weak_visit_young(heap, survivor, visit, &minor));
	bytes = heap->old.bytes - bytes;
	if (minor.marking)
		heap->major.live += bytes;
	heap->major.promoted = bytes;
	heap->major.used = heap->nursery.used;
	heap->nursery.saved = saved_by_size(&minor, bytes);
	heap->last.promoted_bytes += bytes;
	heap->last.promoted_objects += minor.objects;
}

void minor_finish(struct gc_heap *heap)
{
	weak_finish_minor(heap, survivor);
	finalize_finish_minor(heap, survivor);
	outcomes_minor(heap, survivor);
	large_finish_minor(heap);
	old_end_minor(&heap->old);
	barrier_reset(heap);
	nursery_empty(heap);
	for (struct gc_thread *thread = heap->threads; thread; thread = thread->next)
		limit_drop_buffer(thread);
}
