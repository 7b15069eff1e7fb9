/* SPDX-License-Identifier: BSD-2-Clause */
/* weak.c: weak references and ephemerons: references that do not keep their objects alive. */
/*
 * An ephemeron is a pair: its value lives as long as its key, and references from
 * the value do not keep the key alive. A weak reference is an ephemeron without a
 * value. They are outside the heap, in three lists: all, those with a value, and
 * those whose key or value may be young. A minor collection treats every old key
 * as live. When marking has nothing gray left, values of marked keys become gray,
 * and the others when their keys are marked (pairs.c). Then steps clear the pairs
 * of unmarked keys. A pair that is not cleared yet reports its dead key as NULL.
 *
 * A destroyed one stays in its lists and is reused by the next creation. So a
 * program that creates many short-lived ones needs memory for few. Those left when
 * marking has ended are freed.
 */
#include "weak.h"
#include "nursery.h"
#include "pairs.h"

#include <stdlib.h>

/* Rounds through the young pairs, in alternating directions, that visit only values of surviving
 * keys. The next round visits all values: longer chains may live until the next collection. */
enum { EXACT_ROUNDS = 16 };

/* Lists a pair for the next minor collection: if its key or value is young, or if marking may have
 * missed the pair. */
static void enlist_young(struct gc_heap *heap, struct gc_weak *weak)
{
	if (weak->listed || (!major_is_marking(heap) && !heap_is_young(heap, weak->key) &&
			     !heap_is_young(heap, weak->value)))
		return;
	worklist_push(&heap->weak.young, weak);
	weak->listed = true;
	nursery_watch(heap);
}

static void enlist_pair(struct gc_heap *heap, struct gc_weak *weak)
{
	if (weak->value && !weak->paired) {
		worklist_push(&heap->weak.pairs, weak);
		weak->paired = true;
		pairs_make_room(heap);
	}
}

/* Whether marking found the key dead, but the pair is not cleared yet. Young keys have no mark. */
static bool is_condemned(const struct gc_heap *heap, const void *key)
{
	return key && __atomic_load_n(&heap->major.stage, __ATOMIC_RELAXED) == AFTER_MARK_WEAK &&
	       !nursery_has(&heap->nursery, key) && !chunk_is_marked_shared(key);
}

/* Reuses a destroyed one, which is still in its lists, or allocates. NULL: no memory. With the
 * lock. */
static struct gc_weak *obtain(struct gc_heap *heap)
{
	struct gc_weak_lists *lists = &heap->weak;
	struct gc_weak *weak = lists->spare.count ? worklist_pop(&lists->spare) : NULL;

	if (weak) {
		weak->destroyed = false;
		return weak;
	}
	weak = calloc(1, sizeof(*weak));
	if (!weak)
		return NULL;
	weak->heap = heap;
	worklist_push(&lists->all, weak);
	return weak;
}

int gc_weak_create(struct gc_thread *thread, void *key, void *value, struct gc_weak **out)
{
	struct gc_heap *heap = thread->heap;
	struct gc_weak *weak;

	heap_lock(heap);
	weak = obtain(heap);
	if (weak) {
		weak->key = key;
		weak->value = key ? value : NULL;
		enlist_young(heap, weak);
		enlist_pair(heap, weak);
	}
	pthread_mutex_unlock(&heap->lock);
	*out = weak;
	return weak ? 0 : gcprof_error_set(-ENOMEM, "gc_weak_create: out of memory");
}

void gc_weak_destroy(struct gc_thread *thread, struct gc_weak *weak)
{
	struct gc_heap *heap = thread->heap;

	if (!weak)
		return;
	heap_lock(heap);
	weak->key = NULL;
	weak->value = NULL;
	weak->destroyed = true;
	/* While it waits for this key it must not be reused with another. */
	if (!weak->waits_for)
		worklist_push(&heap->weak.spare, weak);
	pthread_mutex_unlock(&heap->lock);
}

void *gc_weak_get(const struct gc_weak *weak)
{
	return is_condemned(weak->heap, weak->key) ? NULL : weak->key;
}

void *gc_weak_value(const struct gc_weak *weak)
{
	return is_condemned(weak->heap, weak->key) ? NULL : weak->value;
}

void gc_weak_set_value(struct gc_thread *thread, struct gc_weak *weak, void *value)
{
	struct gc_heap *heap = thread->heap;

	if (!gc_weak_get(weak))
		return;
	heap_lock(heap);
	weak->value = value;
	enlist_young(heap, weak);
	enlist_pair(heap, weak);
	pthread_mutex_unlock(&heap->lock);
}

bool weak_visit_young(struct gc_heap *heap, gc_survivor survivor, gc_visit visit, void *context)
{
	const struct gc_worklist *young = &heap->weak.young;
	unsigned round = heap->weak.rounds++;
	bool found = false;

	for (size_t i = 0; i < young->count; i++) {
		struct gc_weak *weak = young->base[round % 2 ? young->count - 1 - i : i];

		heap->weak.visits++;
		if (!weak->value || survivor(heap, weak->value))
			continue;
		if (round < EXACT_ROUNDS && !survivor(heap, weak->key))
			continue;
		visit(context, &weak->value);
		found = true;
	}
	return found;
}

static void settle(struct gc_heap *heap, struct gc_weak *weak, gc_survivor survivor)
{
	void *key = weak->key ? survivor(heap, weak->key) : NULL;

	weak->key = key;
	if (!key)
		weak->value = NULL;
	else if (weak->value)
		weak->value = survivor(heap, weak->value);
}

/* Passes a value to marking, at once or when its key is marked. */
static void attend(struct gc_heap *heap, struct gc_weak *weak)
{
	if (weak->value && major_is_marking(heap) && heap->major.stage == AFTER_MARK_NOTHING)
		pairs_attend(heap, weak);
}

void weak_finish_minor(struct gc_heap *heap, gc_survivor survivor)
{
	for (size_t i = 0; i < heap->weak.young.count; i++) {
		struct gc_weak *weak = heap->weak.young.base[i];

		settle(heap, weak, survivor);
		weak->listed = false;
		attend(heap, weak);
	}
	heap->weak.young.count = 0;
	heap->weak.rounds = 0;
}

/* After marking: clears the pair if its key is dead. A listed pair is new, so its key was live when
 * marking ended. */
static void clear(struct gc_heap *heap, struct gc_weak *weak, gc_survivor survivor)
{
	if (!weak->listed)
		settle(heap, weak, survivor);
}

bool weak_clear(struct gc_heap *heap, gc_survivor survivor, size_t *next, size_t items)
{
	struct gc_worklist *all = &heap->weak.all;

	/* Some of these may be freed now. */
	heap->weak.spare.count = 0;
	for (; items && *next < all->count; items--) {
		struct gc_weak *weak = all->base[*next];

		pairs_forget(heap, weak);
		if (weak->destroyed && !weak->listed && !weak->paired) {
			all->base[*next] = worklist_pop(all);
			free(weak);
			continue;
		}
		clear(heap, weak, survivor);
		++*next;
	}
	return *next < all->count;
}

void weak_each(struct gc_heap *heap, void (*visit)(void *context, void *key, void **value),
	       void *context)
{
	for (size_t i = 0; i < heap->weak.pairs.count; i++) {
		struct gc_weak *weak = heap->weak.pairs.base[i];

		if (weak->value)
			visit(context, weak->key, &weak->value);
	}
}

void weak_free(struct gc_heap *heap)
{
	for (size_t i = 0; i < heap->weak.all.count; i++)
		free(heap->weak.all.base[i]);
	worklist_free(&heap->weak.all);
	worklist_free(&heap->weak.pairs);
	worklist_free(&heap->weak.young);
	worklist_free(&heap->weak.spare);
	pairs_free(heap);
}
