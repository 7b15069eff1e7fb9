/* SPDX-License-Identifier: BSD-2-Clause */
/* finalize.c: functions that the program wants called when an object has died. */
/*
 * Light ones run inside the collection that finds the object dead, with its
 * memory still there for the last time; they may touch nothing of the heap.
 *
 * Ordered ones may do anything: allocate, and store the object somewhere so that
 * it lives again. So a minor collection takes these objects for roots. At the
 * end of marking each that is unmarked makes gray what it refers to: then none
 * that is still unmarked can be reached from another, except around a cycle, and
 * these are ready to be finalized. The others wait for the next cycle. All of it
 * goes in steps: nothing else can reach what is dead. Ready ones are roots until a
 * thread has called their functions, outside the collector.
 */
#include "internal.h"

#include <stdlib.h>

struct gc_finalizer {
	void *object;
	gc_finalize function;
	void *context;
	bool dying; /* ordered: to be made ready */
};

int gc_finalizer_add(struct gc_thread *thread, void *object, enum gc_finalizer_kind kind,
		     gc_finalize function, void *context)
{
	struct gc_heap *heap = thread->heap;
	struct gc_stack *list = &heap->final.light_old;
	struct gc_finalizer *entry;

	if (!object || !function)
		return error_set(-EINVAL, "gc_finalizer_add: there is no %s",
				 object ? "function" : "object");
	entry = malloc(sizeof(*entry));
	if (!entry)
		return error_set(-ENOMEM, "gc_finalizer_add: out of memory");
	*entry = (struct gc_finalizer){object, function, context, false};
	heap_lock(heap);
	if (kind == GC_FINALIZER_ORDERED)
		list = &heap->final.ordered;
	else if (heap_is_young(heap, object))
		list = &heap->final.light_young;
	stack_push(list, entry);
	if (list != &heap->final.light_old)
		survey_watch(heap);
	pthread_mutex_unlock(&heap->lock);
	return 0;
}

/* Objects with ordered finalizers that came since the last minor collection. */
void finalize_visit_young(struct gc_heap *heap, gc_visit visit, void *context)
{
	struct gc_final *final = &heap->final;

	for (size_t i = final->settled; i < final->ordered.count; i++)
		visit(context, &((struct gc_finalizer *) final->ordered.base[i])->object);
}

/* Objects whose finalizers are to be run. */
void finalize_visit_ready(struct gc_heap *heap, gc_visit visit, void *context)
{
	struct gc_final *final = &heap->final;

	for (size_t i = final->next; i < final->ready.count; i++)
		visit(context, &((struct gc_finalizer *) final->ready.base[i])->object);
}

static void run_and_free(struct gc_finalizer *entry, struct gc_thread *thread)
{
	entry->function(thread, entry->object, entry->context);
	free(entry);
}

/* Of those that came since the last minor collection. */
static void settle_light(struct gc_heap *heap, gc_survivor survivor)
{
	struct gc_stack *young = &heap->final.light_young;
	size_t count = young->count;

	young->count = 0;
	for (size_t i = 0; i < count; i++) {
		struct gc_finalizer *entry = young->base[i];
		void *object = survivor(heap, entry->object);

		if (object) {
			entry->object = object;
			stack_push(&heap->final.light_old, entry);
		} else {
			run_and_free(entry, NULL);
		}
	}
}

/* Runs those of dead old objects, looking at so many from number *next on; true if there are more.
 * The last one takes the place of one that is gone. */
bool finalize_run_light(struct gc_heap *heap, gc_survivor survivor, size_t *next, size_t items)
{
	struct gc_stack *old = &heap->final.light_old;

	for (; items && *next < old->count; items--) {
		struct gc_finalizer *entry = old->base[*next];

		if (survivor(heap, entry->object)) {
			++*next;
			continue;
		}
		old->base[*next] = stack_pop(old);
		run_and_free(entry, NULL);
	}
	return *next < old->count;
}

void finalize_finish_minor(struct gc_heap *heap, gc_survivor survivor)
{
	settle_light(heap, survivor);
	heap->final.settled = heap->final.ordered.count;
}

/* What may be marked for each object that is looked at, see mark.c. */
static uint64_t marking_for(size_t items)
{
	const uint64_t each = 256;

	return items < UINT64_MAX / each ? items * each : UINT64_MAX;
}

static struct gc_finalizer *ordered_at(const struct gc_final *final, size_t i)
{
	return final->ordered.base[i];
}

/*
 * First: marks what dead objects with ordered finalizers refer to, looking at so
 * many from number *next on; true if there is more to do. An object that is
 * unmarked in its turn and marked by its own references lies on a cycle: it is
 * unmarked again, so that what counts is only whether another one reaches it.
 */
bool finalize_hold(struct gc_heap *heap, size_t *next, size_t items)
{
	struct gc_final *final = &heap->final;
	uint64_t budget = marking_for(items);

	for (; items && *next < final->settled; items--, ++*next) {
		void *object = ordered_at(final, *next)->object;

		if (!final->holding) {
			if (old_is_marked(object))
				continue;
			mark_children(heap, object);
		}
		final->holding = !mark_spend(heap, &budget);
		if (final->holding)
			return true;
		if (old_is_marked(object))
			mark_undo(heap, object);
	}
	return *next < final->settled;
}

/* Second: decides who is finalized. */
bool finalize_choose(struct gc_heap *heap, size_t *next, size_t items)
{
	struct gc_final *final = &heap->final;

	for (; items && *next < final->settled; items--, ++*next) {
		struct gc_finalizer *entry = ordered_at(final, *next);

		entry->dying = !old_is_marked(entry->object);
	}
	final->kept = 0;
	return *next < final->settled;
}

static void make_ready(struct gc_heap *heap, struct gc_finalizer *entry)
{
	struct gc_final *final = &heap->final;

	stack_push(&final->ready, entry);
	__atomic_fetch_add(&final->waiting, 1, __ATOMIC_RELAXED);
	mark_object(heap, entry->object);
}

/* Those from number *next on move down to where the others were taken out. */
static void close_gap(struct gc_final *final, size_t *next)
{
	size_t gap = *next - final->kept;

	for (size_t i = *next; i < final->ordered.count; i++)
		final->ordered.base[i - gap] = final->ordered.base[i];
	final->ordered.count -= gap;
	final->settled -= gap;
	*next -= gap;
}

/* Third: makes them ready. Until all had their turn there is a gap of NULLs before *next. */
bool finalize_release(struct gc_heap *heap, size_t *next, size_t items)
{
	struct gc_final *final = &heap->final;
	uint64_t budget = marking_for(items);
	bool more;

	for (; items && *next < final->settled; items--, ++*next) {
		struct gc_finalizer *entry = ordered_at(final, *next);

		final->ordered.base[*next] = NULL;
		if (entry->dying)
			make_ready(heap, entry);
		else
			final->ordered.base[final->kept++] = entry;
	}
	more = *next < final->settled;
	if (!more)
		close_gap(final, next);
	return !mark_spend(heap, &budget) || more;
}

/* The marks are about to be forgotten. `next` is that of the stage under way. */
void finalize_abandon(struct gc_heap *heap, size_t next)
{
	heap->final.holding = false;
	if (heap->major.stage == SETTLE_RELEASE)
		close_gap(&heap->final, &next);
}

bool finalize_is_due(const struct gc_heap *heap)
{
	return __atomic_load_n(&heap->final.waiting, __ATOMIC_RELAXED);
}

static struct gc_finalizer *take_ready(struct gc_heap *heap)
{
	struct gc_final *final = &heap->final;
	struct gc_finalizer *entry = NULL;

	heap_lock(heap);
	if (final->next < final->ready.count) {
		entry = final->ready.base[final->next++];
		__atomic_fetch_sub(&final->waiting, 1, __ATOMIC_RELAXED);
	} else {
		final->next = 0;
		final->ready.count = 0;
	}
	pthread_mutex_unlock(&heap->lock);
	return entry;
}

/* Runs what is ready, oldest first. Finalizers do not interrupt each other in one thread. */
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

static void drop(struct gc_stack *stack, size_t from)
{
	for (size_t i = from; i < stack->count; i++)
		free(stack->base[i]);
	stack_free(stack);
}

static void run_rest(struct gc_stack *light)
{
	for (size_t i = 0; i < light->count; i++)
		run_and_free(light->base[i], NULL);
	stack_free(light);
}

/* The heap is closed, its objects are still there: light ones run, ordered ones do not. */
void finalize_free(struct gc_heap *heap)
{
	struct gc_final *final = &heap->final;

	run_rest(&final->light_young);
	run_rest(&final->light_old);
	drop(&final->ordered, 0);
	drop(&final->ready, final->next);
}
