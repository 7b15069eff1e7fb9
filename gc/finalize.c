/* SPDX-License-Identifier: BSD-2-Clause */
/* finalize.c: functions that the program registers for the death of an object. */
/*
 * Light finalizers run inside the collection that finds the object dead, while its
 * memory still exists; they must not touch the rest of the heap.
 *
 * Ordered finalizers may do anything: allocate, and store the object somewhere so
 * that it lives again. So a minor collection treats their objects as roots. At the
 * end of marking one pass scans the list, the newest first: an object that is
 * unmarked when the pass reaches it is raised. When everything that it refers to
 * is marked it becomes ready, and the pass continues. So what a dead object refers
 * to waits for a later collection, unless its finalizer was added later. Ready
 * objects are roots until a thread has called their functions, outside the
 * collector.
 *
 * Each list has the newest first. Only the current pass removes entries from the
 * lists of old objects, so its position stays valid between steps.
 */
#include "finalize.h"
#include "gray.h"
#include "nursery.h"

#include <stdlib.h>

struct gc_finalizer {
	struct gc_finalizer *next;
	void *object;
	gc_finalize function;
	void *context;
};

int gc_finalizer_add(struct gc_thread *thread, void *object, enum gc_finalizer_kind kind,
		     gc_finalize function, void *context)
{
	struct gc_heap *heap = thread->heap;
	struct gc_finalizer *entry, **list;
	bool young;

	if (!object || !function)
		return gcprof_error_set(-EINVAL, "gc_finalizer_add: there is no %s",
					object ? "function" : "object");
	entry = malloc(sizeof(*entry));
	if (!entry)
		return gcprof_error_set(-ENOMEM, "gc_finalizer_add: out of memory");
	heap_lock(heap);
	young = heap_is_young(heap, object);
	list = young ? &heap->final.young[kind] : &heap->final.old[kind];
	*entry = (struct gc_finalizer){*list, object, function, context};
	*list = entry;
	if (young)
		nursery_watch(heap);
	pthread_mutex_unlock(&heap->lock);
	return 0;
}

void finalize_visit(struct gc_finalizer *list, gc_visit visit, void *context)
{
	for (; list; list = list->next)
		visit(context, &list->object);
}

static void run_and_free(struct gc_finalizer *entry, struct gc_thread *thread)
{
	entry->function(thread, entry->object, entry->context);
	free(entry);
}

/* Moves entries of survivors to the old list; runs the light finalizers of the others. */
static void finish_minor(struct gc_heap *heap, enum gc_finalizer_kind kind, gc_survivor survivor)
{
	struct gc_final *final = &heap->final;
	struct gc_finalizer **link = &final->young[kind], *entry;

	while ((entry = *link)) {
		void *object = survivor(heap, entry->object);

		if (object) {
			entry->object = object;
			link = &entry->next;
		} else {
			*link = entry->next;
			run_and_free(entry, NULL);
		}
	}
	*link = final->old[kind];
	final->old[kind] = final->young[kind];
	final->young[kind] = NULL;
}

void finalize_finish_minor(struct gc_heap *heap, gc_survivor survivor)
{
	finish_minor(heap, GC_FINALIZER_LIGHT, survivor);
	finish_minor(heap, GC_FINALIZER_ORDERED, survivor);
}

/* Where the current pass continues, or a new one begins. */
static struct gc_finalizer **place(struct gc_final *final, enum gc_finalizer_kind kind)
{
	return final->at ? final->at : &final->old[kind];
}

void finalize_make_ready(struct gc_heap *heap)
{
	struct gc_final *final = &heap->final;
	struct gc_finalizer *entry = final->raised;

	if (!entry)
		return;
	if (!final->ready)
		final->ready_end = &final->ready;
	entry->next = NULL;
	*final->ready_end = entry;
	final->ready_end = &entry->next;
	final->raised = NULL;
	__atomic_fetch_add(&final->waiting, 1, __ATOMIC_RELAXED);
}

bool finalize_next_ordered(struct gc_heap *heap, size_t *items)
{
	struct gc_finalizer **at = place(&heap->final, GC_FINALIZER_ORDERED), *entry;

	for (entry = *at; *items && entry && chunk_is_marked(entry->object); --*items) {
		at = &entry->next;
		entry = *at;
	}
	if (*items && entry) {
		--*items;
		*at = entry->next;
		heap->final.raised = entry;
		heap->final.at = at;
		gray_add(heap, entry->object);
		return true;
	}
	heap->final.at = *at ? at : NULL;
	return *at;
}

bool finalize_light(struct gc_heap *heap, gc_survivor survivor, size_t items)
{
	struct gc_finalizer **at = place(&heap->final, GC_FINALIZER_LIGHT), *entry;

	for (; items && (entry = *at); items--) {
		if (survivor(heap, entry->object)) {
			at = &entry->next;
			continue;
		}
		*at = entry->next;
		run_and_free(entry, NULL);
	}
	heap->final.at = *at ? at : NULL;
	return heap->final.at;
}

void finalize_abandon(struct gc_heap *heap)
{
	struct gc_final *final = &heap->final;

	if (final->raised) {
		final->raised->next = *final->at;
		*final->at = final->raised;
		final->raised = NULL;
	}
	final->at = NULL;
}

bool finalize_is_due(const struct gc_heap *heap)
{
	return __atomic_load_n(&heap->final.waiting, __ATOMIC_RELAXED);
}

static struct gc_finalizer *take_ready(struct gc_heap *heap)
{
	struct gc_finalizer *entry;

	heap_lock(heap);
	entry = heap->final.ready;
	if (entry) {
		heap->final.ready = entry->next;
		__atomic_fetch_sub(&heap->final.waiting, 1, __ATOMIC_RELAXED);
	}
	pthread_mutex_unlock(&heap->lock);
	return entry;
}

/* Finalizers in one thread do not nest. */
void finalize_run(struct gc_thread *thread)
{
	struct gc_finalizer *entry;

	if (thread->finalizing || !finalize_is_due(thread->heap))
		return;
	thread->finalizing = true;
	while ((entry = take_ready(thread->heap)))
		run_and_free(entry, thread);
	thread->finalizing = false;
	nursery_account(thread);
}

static void close_list(struct gc_finalizer *entry, bool runs)
{
	struct gc_finalizer *next;

	for (; entry; entry = next) {
		next = entry->next;
		if (runs)
			run_and_free(entry, NULL);
		else
			free(entry);
	}
}

void finalize_free(struct gc_heap *heap)
{
	struct gc_final *final = &heap->final;

	close_list(final->young[GC_FINALIZER_LIGHT], true);
	close_list(final->old[GC_FINALIZER_LIGHT], true);
	close_list(final->young[GC_FINALIZER_ORDERED], false);
	close_list(final->old[GC_FINALIZER_ORDERED], false);
	close_list(final->ready, false);
	free(final->raised);
}
