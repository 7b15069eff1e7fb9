/* SPDX-License-Identifier: BSD-2-Clause */
/* mark.c: marks what is reachable in the old generation, all at once or in steps. */
/*
 * Old objects are white (no mark), gray (marked, and waiting on the gray stack) or
 * black (marked, with their references traced). Marking is done when nothing is
 * gray. Between two steps the program may store a white object into a black one.
 * The barrier makes the white one gray, or remembers the black one, and then the
 * next minor collection makes the white one gray (barrier.c, minor.c). So after a
 * minor collection no black object refers to a white one [no-black-to-white], and
 * neither does a root.
 *
 * Young objects are ignored here: the minor collection marks them as it promotes
 * them.
 */
#include "mark.h"
#include "gray.h"
#include "large.h"
#include "old.h"
#include "pairs.h"
#include "roots.h"
#include "trace.h"

/* Number of objects between prefetching one and tracing it. */
enum { AHEAD = 16 };

/* Items of an array traced at a time; the rest waits on the gray stack. */
enum { PIECE = 512 };

/* Cost of an object and of a reference in it; a node with two references costs 64. Most of the time
 * is spent waiting for the mark bits of referenced objects. */
enum { OBJECT_COST = 16, REFERENCE_COST = 24 };

/* Ephemerons of one key visited at a time, and the cost of each. */
enum { PAIRS = 64, PAIR_COST = 64 };

/* Tags of words on the gray stack: an array with the index of its next item below it on the stack;
 * an object for whose mark ephemerons wait. */
#define IN_PIECES ((uintptr_t)1)
#define IS_KEY    ((uintptr_t)2)
#define TAGS      (IN_PIECES | IS_KEY)

static inline void visit(void *context, void **slot)
{
	gray_add(context, *slot);
}

static void *tagged(void *object, uintptr_t tag)
{
	return (void *)((uintptr_t)object | tag);
}

static void push_rest(struct gc_heap *heap, void *array, uint64_t from)
{
	worklist_push(&heap->major.gray, (void *)(uintptr_t)from);
	worklist_push(&heap->major.gray, tagged(array, IN_PIECES));
}

/* Prefetches the mark bits of the referenced object, which are rarely cached in a large heap. */
static inline void prefetch_mark(void *context, void **slot)
{
	uintptr_t chunk = (uintptr_t)chunk_of(*slot); /* 0 for NULL */
	size_t offset = offsetof(struct gc_chunk, marks) + chunk_bit(*slot) / 64 * 8;

	(void)context;
	__builtin_prefetch((const void *)(chunk + offset), 1);
}

static uint64_t at_most(uint64_t number, uint64_t limit)
{
	return number < limit ? number : limit;
}

/* Prefetches the next items while the previous ones are traced. */
static void trace_ahead(struct gc_heap *heap, const struct gc_type_info *type, void *array,
			uint64_t from, uint64_t to)
{
	for (uint64_t next; from < to; from = next) {
		next = at_most(from + AHEAD, to);
		trace_items(type, array, next, at_most(next + AHEAD, to), prefetch_mark, NULL);
		trace_items(type, array, from, next, visit, heap);
	}
}

static uint64_t trace_piece(struct gc_heap *heap, void *array)
{
	const struct gc_type_info *type = type_of(heap, array);
	uint64_t from = (uint64_t)(uintptr_t)worklist_pop(&heap->major.gray);
	uint64_t to = type_length(type, array);

	if (to - from > PIECE) {
		to = from + PIECE;
		push_rest(heap, array, to);
	}
	trace_ahead(heap, type, array, from, to);
	return OBJECT_COST + (to - from) * type->n_item_pointers * REFERENCE_COST;
}

static uint64_t trace_pairs(struct gc_heap *heap, void *key)
{
	unsigned n = pairs_resolve(heap, key, PAIRS);

	if (n == PAIRS)
		worklist_push(&heap->major.gray, tagged(key, IS_KEY));
	return n * PAIR_COST;
}

/* Counts an object that became black. */
static inline void count(struct gc_heap *heap, size_t size)
{
	heap->major.live += size;
	if (size >= heap->options.large_size)
		heap->major.live_large += size;
}

/* Makes a gray object black; returns the cost. */
static inline uint64_t trace(struct gc_heap *heap, void *object)
{
	const struct gc_type_info *type = type_of(heap, object);
	uint64_t references = type->n_pointers, length;

	count(heap, type_object_size(type, object));
	if (((const struct gc_header *)object)->flags & GC_FLAG_KEY)
		worklist_push(&heap->major.gray, tagged(object, IS_KEY));
	trace_fixed(type, object, visit, heap);
	if (type->n_item_pointers) {
		length = type_length(type, object);
		if (length > PIECE) {
			push_rest(heap, object, 0);
			length = 0;
		}
		trace_items(type, object, 0, length, visit, heap);
		references += length * type->n_item_pointers;
	}
	return OBJECT_COST + references * REFERENCE_COST;
}

static uint64_t trace_tagged(struct gc_heap *heap, void *word)
{
	void *object = (void *)((uintptr_t)word & ~TAGS);

	return (uintptr_t)word & IS_KEY ? trace_pairs(heap, object) : trace_piece(heap, object);
}

/* The next gray object; NULL if the budget is used up. Traces tagged words itself. */
static inline void *pop(struct gc_heap *heap, uint64_t *cost, uint64_t budget)
{
	struct gc_worklist *gray = &heap->major.gray;

	while (gray->count && *cost < budget) {
		void *object = worklist_pop(gray);

		if (!((uintptr_t)object & TAGS)) {
			__builtin_prefetch(object);
			return object;
		}
		*cost += trace_tagged(heap, object);
	}
	return NULL;
}

/* A short queue between the stack and the tracing hides memory latency. */
bool mark_spend(struct gc_heap *heap, uint64_t *budget)
{
	void *queue[AHEAD] = {NULL};
	unsigned waiting = 0, at = 0;
	uint64_t cost = 0;

	while ((heap->major.gray.count && cost < *budget) || waiting) {
		void *next = pop(heap, &cost, *budget);
		void *object = queue[at];

		queue[at] = next;
		at = (at + 1) % AHEAD;
		waiting += (next != NULL) - (object != NULL);
		if (object)
			cost += trace(heap, object);
	}
	*budget -= cost < *budget ? cost : *budget;
	return !heap->major.gray.count;
}

bool mark_some(struct gc_heap *heap, uint64_t budget)
{
	return mark_spend(heap, &budget);
}

void mark_begin(struct gc_heap *heap)
{
	heap->major.live = 0;
	heap->major.live_large = 0;
	pairs_begin(heap);
	roots_visit(heap, visit, heap);
}

void mark_abandon(struct gc_heap *heap)
{
	heap->major.gray.count = 0;
	pairs_abandon(heap);
	old_clear_marks(&heap->old);
	large_clear_marks(heap);
}
