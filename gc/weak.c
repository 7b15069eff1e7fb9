/* SPDX-License-Identifier: BSD-2-Clause */
/* weak.c: weak references and ephemerons: references that keep nothing alive by themselves. */
/*
 * An ephemeron is a pair: its value is alive as long as its key is, and what
 * the value refers to does not count for the key. A weak reference is one
 * without a value. They lie outside the heap, in two lists: all, and those
 * whose key or value may be young. A minor collection takes every old key for
 * alive. When marking has nothing gray left, values of marked keys become gray,
 * until there are none; then the pairs of unmarked keys are cleared.
 */
#include "internal.h"

#include <stdlib.h>

struct gc_weak {
	void *key; /* NULL: it died, or never was */
	void *value;
	bool destroyed; /* to be freed when no list names it */
};

int gc_weak_create(struct gc_thread *thread, void *key, void *value, struct gc_weak **out)
{
	struct gc_heap *heap = thread->heap;
	struct gc_weak *weak = malloc(sizeof(*weak));

	if (!weak)
		return error_set(-ENOMEM, "gc_weak_create: out of memory");
	*weak = (struct gc_weak){.key = key, .value = key ? value : NULL};
	pthread_mutex_lock(&heap->lock);
	stack_push(&heap->weak.all, weak);
	stack_push(&heap->weak.young, weak);
	pthread_mutex_unlock(&heap->lock);
	*out = weak;
	return 0;
}

void gc_weak_destroy(struct gc_thread *thread, struct gc_weak *weak)
{
	if (!weak)
		return;
	pthread_mutex_lock(&thread->heap->lock);
	*weak = (struct gc_weak){.destroyed = true};
	pthread_mutex_unlock(&thread->heap->lock);
}

void *gc_weak_get(const struct gc_weak *weak)
{
	return weak->key;
}

void *gc_weak_value(const struct gc_weak *weak)
{
	return weak->value;
}

void gc_weak_set_value(struct gc_thread *thread, struct gc_weak *weak, void *value)
{
	struct gc_heap *heap = thread->heap;

	if (!weak->key)
		return;
	pthread_mutex_lock(&heap->lock);
	weak->value = value;
	stack_push(&heap->weak.young, weak);
	pthread_mutex_unlock(&heap->lock);
}

/* Visits young values of keys that survive; true if there were any. `survivor` as in minor.c. */
bool weak_visit_young(struct gc_heap *heap, gc_survivor survivor, gc_visit visit, void *context)
{
	bool found = false;

	for (size_t i = 0; i < heap->weak.young.count; i++) {
		struct gc_weak *weak = heap->weak.young.base[i];

		if (!weak->value || !survivor(heap, weak->key) || survivor(heap, weak->value))
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

/* The end of a minor collection: what died is cleared, what moved is followed. One that is in the
 * list twice finds itself old the second time. */
void weak_finish_minor(struct gc_heap *heap, gc_survivor survivor)
{
	for (size_t i = 0; i < heap->weak.young.count; i++)
		settle(heap, heap->weak.young.base[i], survivor);
	heap->weak.young.count = 0;
}

/* Makes the values of marked keys gray; true if there were any. Behind a minor collection. */
bool weak_mark(struct gc_heap *heap)
{
	size_t before = heap->major.gray.count;

	for (size_t i = 0; i < heap->weak.all.count; i++) {
		struct gc_weak *weak = heap->weak.all.base[i];

		if (weak->value && old_is_marked(weak->key) && old_mark(weak->value))
			stack_push(&heap->major.gray, weak->value);
	}
	return heap->major.gray.count > before;
}

/* Marking is done: clears the pairs of dead keys, frees what was destroyed. */
void weak_clear(struct gc_heap *heap, gc_survivor survivor)
{
	struct gc_stack *all = &heap->weak.all;
	size_t kept = 0;

	for (size_t i = 0; i < all->count; i++) {
		struct gc_weak *weak = all->base[i];

		if (weak->destroyed) {
			free(weak);
			continue;
		}
		settle(heap, weak, survivor);
		all->base[kept++] = weak;
	}
	all->count = kept;
}

static void each(const struct gc_stack *list, void (*visit)(void *context, void *key, void **value),
		 void *context)
{
	for (size_t i = 0; i < list->count; i++) {
		struct gc_weak *weak = list->base[i];

		if (weak->value)
			visit(context, weak->key, &weak->value);
	}
}

/* Calls visit for every pair with a value. */
void weak_each(struct gc_heap *heap, void (*visit)(void *context, void *key, void **value),
	       void *context)
{
	each(&heap->weak.all, visit, context);
}

/* The same for those that may be young. */
void weak_each_young(struct gc_heap *heap, void (*visit)(void *context, void *key, void **value),
		     void *context)
{
	each(&heap->weak.young, visit, context);
}

void weak_free(struct gc_heap *heap)
{
	for (size_t i = 0; i < heap->weak.all.count; i++)
		free(heap->weak.all.base[i]);
	stack_free(&heap->weak.all);
	stack_free(&heap->weak.young);
}
