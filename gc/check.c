/* SPDX-License-Identifier: BSD-2-Clause */
/* check.c: walks the whole heap and verifies the named invariants; slow, for debug builds. */
#include "check.h"
#include "barrier.h"
#include "cards.h"
#include "limit.h"
#include "old.h"
#include "pairs.h"
#include "roots.h"
#include "trace.h"
#include "weak.h"

/* Heaps checked at every collection are mostly small and need no further memory. */
enum { FIRST_SLOTS = 512 };

/* A hash set. */
struct object_set {
	void **slots;
	size_t count, capacity;
	void *first[FIRST_SLOTS];
};

static void **slot_of(const struct object_set *set, const void *object)
{
	uint64_t hash = (uint64_t)(uintptr_t)object * UINT64_C(0x9e3779b97f4a7c15);
	size_t i = (size_t)(hash >> 20) & (set->capacity - 1);

	while (set->slots[i] && set->slots[i] != object)
		i = (i + 1) & (set->capacity - 1);
	return &set->slots[i];
}

static void set_init(struct object_set *set)
{
	set->slots = set->first;
	set->count = 0;
	set->capacity = FIRST_SLOTS;
	memset(set->first, 0, sizeof(set->first));
}

static void set_free_slots(void **slots, size_t capacity)
{
	if (capacity > FIRST_SLOTS)
		os_unmap(slots, capacity * sizeof(void *));
}

static void set_free(struct object_set *set)
{
	set_free_slots(set->slots, set->capacity);
}

static void set_grow(struct object_set *set)
{
	void **smaller = set->slots;
	size_t capacity = set->capacity;

	set->capacity = capacity * 2;
	set->slots = os_map(set->capacity * sizeof(void *));
	if (!set->slots)
		os_out_of_memory(set->capacity * sizeof(void *), "the heap check");
	for (size_t i = 0; i < capacity; i++)
		if (smaller[i])
			*slot_of(set, smaller[i]) = smaller[i];
	set_free_slots(smaller, capacity);
}

/* True if the object was not in the set. */
static bool set_add(struct object_set *set, void *object)
{
	void **slot;

	if (set->count * 2 >= set->capacity)
		set_grow(set);
	slot = slot_of(set, object);
	if (*slot)
		return false;
	*slot = object;
	set->count++;
	return true;
}

static bool set_has(const struct object_set *set, const void *object)
{
	return *slot_of(set, object);
}

struct checker {
	struct gc_heap *heap;
	enum check_when when;
	const void *object; /* the object whose references are being checked; NULL: a root */
	struct gc_worklist work;
	struct object_set seen; /* reachable */
	struct object_set gray; /* during marking */
	uint64_t old_bytes;     /* in reachable old and large objects */
};

static const char *const when_names[] = {
	[CHECK_BEFORE] = "before a collection",
	[CHECK_MINOR_DONE] = "after a minor collection",
	[CHECK_STEP_DONE] = "after a step",
	[CHECK_MARKED] = "after marking",
	[CHECK_FULL_DONE] = "after a full collection",
};

/* Ends the program unless `holds`. */
static void verify(const struct checker *checker, bool holds, const char *invariant,
		   const void *object)
{
	if (!holds)
		os_fatal("heap check %s: [%s] does not hold for %p, found in %p",
			 when_names[checker->when], invariant, object, checker->object);
}

static bool young_allowed(const struct checker *checker)
{
	return checker->when == CHECK_BEFORE || checker->when == CHECK_STEP_DONE;
}

static bool in_nursery(const struct checker *checker, const void *object)
{
	return nursery_has(&checker->heap->nursery, object);
}

static bool is_remembered(const void *object)
{
	uint16_t flags = ((const struct gc_header *)object)->flags;

	return !(flags & GC_FLAG_TRACK_YOUNG) || flags & GC_FLAG_REMEMBERED;
}

static void check_type(const struct checker *checker, const void *object)
{
	uint32_t type = ((const struct gc_header *)object)->type;

	verify(checker, type && type < checker->heap->n_types, "type-known", object);
}

static void check_old(struct checker *checker, const void *object, size_t size)
{
	const struct gc_chunk *chunk = chunk_of(object);
	bool young = heap_is_young(checker->heap, object);

	if (chunk->kind == CHUNK_LARGE)
		verify(checker,
		       (const char *)object == (const char *)chunk + LARGE_OFFSET &&
			       size == chunk->size,
		       "cell-start", object);
	else
		verify(checker, old_is_cell(&checker->heap->old, object, size), "cell-start",
		       object);
	verify(checker, !young || young_allowed(checker), "nothing-young", object);
	if (checker->when == CHECK_MINOR_DONE || checker->when == CHECK_FULL_DONE)
		verify(checker, !is_remembered(object), "old-is-tracked", object);
	if (checker->when == CHECK_MARKED)
		verify(checker, chunk_is_marked(object), "reachable-is-marked", object);
	if (!young && checker->heap->major.stage != AFTER_MARK_NOTHING)
		verify(checker, chunk_is_marked(object), "dead-stay-dead", object);
	if (!young)
		checker->old_bytes += size;
}

/* During marking: checks an object found in a root or in checker->object. */
static void check_color(const struct checker *checker, const void *object)
{
	const void *from = checker->object;
	bool settled = !young_allowed(checker);

	if (!major_is_marking(checker->heap) || heap_is_young(checker->heap, object))
		return;
	/* Roots, young and remembered objects may refer to white ones until the minor collection.
	 */
	if (!settled && (!from || heap_is_young(checker->heap, from) || is_remembered(from)))
		return;
	if (from && (!chunk_is_marked(from) || set_has(&checker->gray, from)))
		return;
	verify(checker, chunk_is_marked(object), "no-black-to-white", object);
}

/* An array traced in pieces is gray until its last piece; the word below it is an index. */
static void collect_gray(struct checker *checker)
{
	const struct gc_worklist *gray = &checker->heap->major.gray;

	for (size_t i = gray->count; i--;) {
		uintptr_t word = (uintptr_t)gray->base[i];

		set_add(&checker->gray, (void *)(word & ~(uintptr_t)7));
		i -= word & 1;
	}
}

static void check_remembered_for(const struct checker *checker, void **slot, const void *object)
{
	const struct gc_header *from = checker->object;

	verify(checker, is_remembered(from), "no-old-to-young-unremembered", object);
	if (from->flags & GC_FLAG_CARDS)
		verify(checker, cards_is_dirty(from, slot), "no-old-to-young-unremembered", object);
}

static void visit(void *context, void **slot)
{
	struct checker *checker = context;
	void *object = *slot;

	if (!object)
		return;
	verify(checker, (uintptr_t)object % 8 == 0, "aligned", object);
	if (in_nursery(checker, object))
		verify(checker, young_allowed(checker), "nothing-young", object);
	else
		check_color(checker, object);
	if (checker->object && heap_is_young(checker->heap, object) &&
	    !heap_is_young(checker->heap, checker->object))
		check_remembered_for(checker, slot, object);
	if (set_add(&checker->seen, object))
		worklist_push(&checker->work, object);
}

static void check_object(struct checker *checker, void *object)
{
	const struct gc_type_info *type;

	check_type(checker, object);
	type = type_of(checker->heap, object);
	if (!in_nursery(checker, object))
		check_old(checker, object, type_object_size(type, object));
	checker->object = object;
	trace_object(type, object, visit, checker);
	checker->object = NULL;
}

/* During marking, while pairs wait for their keys [waits-for-key]. */
static void check_pairs(const struct checker *checker)
{
	const struct gc_heap *heap = checker->heap;

	if (!major_is_marking(heap) || heap->major.stage != AFTER_MARK_NOTHING)
		return;
	for (size_t i = 0; i < heap->weak.pairs.count && i < heap->weak.walked; i++) {
		const struct gc_weak *pair = heap->weak.pairs.base[i];

		if (!pair->value || pair->listed)
			continue;
		if (!chunk_is_marked(pair->key))
			verify(checker, pairs_finds(heap, pair), "waits-for-key", pair->key);
		else if (!set_has(&checker->gray, pair->key))
			verify(checker, chunk_is_marked(pair->value), "no-black-to-white",
			       pair->value);
	}
}

/* A value is reachable if its key is. During marking it may be white until the end. */
static void visit_pair(void *context, void *key, void **value)
{
	struct checker *checker = context;

	if (set_has(&checker->seen, key) && set_add(&checker->seen, *value))
		worklist_push(&checker->work, *value);
}

static void check_thread(struct checker *checker, const struct gc_thread *thread)
{
	const char *limit = __atomic_load_n(&thread->head.limit, __ATOMIC_RELAXED);
	bool requested = !limit;

	verify(checker,
	       thread->segment <= thread->head.free && thread->head.free <= thread->zeroed &&
		       thread->zeroed <= thread->end,
	       "buffer", thread);
	verify(checker, requested || limit == limit_wanted(thread) || limit == thread->zeroed,
	       "limit", thread);
	for (const char *byte = thread->head.free; byte < thread->zeroed; byte++)
		verify(checker, !*byte, "buffer-is-zero", byte);
	if (!young_allowed(checker))
		verify(checker, thread->head.free == thread->end && !thread->remembered.count,
		       "nothing-young", thread);
}

/* Every untracked old object must be in a remembered set. */
static void check_remembered(void *context, struct gc_header *object)
{
	const struct checker *checker = context;

	verify(checker, is_remembered(object) && !heap_is_young(checker->heap, object),
	       "remembered-is-untracked", object);
}

static void check_totals(const struct checker *checker)
{
	const struct gc_heap *heap = checker->heap;

	if (checker->when == CHECK_FULL_DONE)
		verify(checker, checker->old_bytes == heap->old.bytes + heap->large.bytes,
		       "live-is-reachable", NULL);
	else if (checker->when == CHECK_MINOR_DONE)
		verify(checker, checker->old_bytes <= heap->old.bytes + heap->large.bytes,
		       "live-is-reachable", NULL);
}

static void check_samples(const struct checker *checker)
{
	const struct gc_sampled_table *old = &checker->heap->sampled_old;

	for (size_t i = 0; i < old->count; i++) {
		verify(checker, !in_nursery(checker, old->entries[i].object), "samples-are-old",
		       old->entries[i].object);
		if (checker->when == CHECK_FULL_DONE)
			verify(checker, set_has(&checker->seen, old->entries[i].object),
			       "samples-are-old", old->entries[i].object);
	}
}

void check_heap(struct gc_heap *heap, enum check_when when)
{
	struct checker checker;

	checker.heap = heap;
	checker.when = when;
	checker.object = NULL;
	checker.work = (struct gc_worklist){0};
	checker.old_bytes = 0;
	set_init(&checker.seen);
	set_init(&checker.gray);
	for (const struct gc_thread *thread = heap->threads; thread; thread = thread->next)
		check_thread(&checker, thread);
	if (young_allowed(&checker))
		barrier_visit(heap, check_remembered, &checker);
	collect_gray(&checker);
	roots_visit(heap, visit, &checker);
	do {
		while (checker.work.count)
			check_object(&checker, worklist_pop(&checker.work));
		weak_each(heap, visit_pair, &checker);
	} while (checker.work.count);
	check_totals(&checker);
	check_pairs(&checker);
	check_samples(&checker);
	worklist_free(&checker.work);
	set_free(&checker.seen);
	set_free(&checker.gray);
}

/* Checks small heaps at every collection, large ones after about twice as many allocated bytes as
 * they hold, and only one in several steps. */
void check_if_due(struct gc_heap *heap, enum check_when when)
{
	const uint64_t small = 1 << 20, steps = 7;

	if (!GC_CHECK || heap_allocated(heap) < heap->check_after)
		return;
	if (when == CHECK_STEP_DONE && heap->cycle % steps)
		return;
	check_heap(heap, when);
	if (heap->old.bytes > small && when != CHECK_BEFORE)
		heap->check_after = heap_allocated(heap) + 2 * heap->old.bytes;
}
