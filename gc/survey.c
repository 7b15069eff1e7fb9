/* SPDX-License-Identifier: BSD-2-Clause */
/* survey.c: how much of the nursery is used before a minor collection, so that it ends in time. */
/*
 * A minor collection takes as long as there are survivors. To have few of them
 * a short nursery is no good: it also promotes what would have died a little
 * later. So the nursery is used up in slices. At the end of each the objects
 * that a minor collection would promote are counted, which is much cheaper than
 * promoting them, and costs nothing where there are none. If they are few the
 * next slice begins, as long as would still meet the goal if all of it were to
 * survive; if they are many there is a minor collection a buffer later: two
 * short pauses are better than a long one.
 *
 * Time is reckoned in what things cost as a rule, not measured: the same program
 * collects at the same moments. An object that was counted has the number of the
 * survey in its flags.
 */
#include "internal.h"
#include "trace.h"

/* What it costs to promote, in nanoseconds: an object, so many bytes of it, a reference. */
enum { OBJECT_NS = 8, BYTES_A_NS = 8, REFERENCE_NS = 1 };

/* To look at a remembered object, which may be anywhere. */
enum { REMEMBERED_NS = 80 };

/* To go through a weak reference, a pair or a finalizer that is new. */
enum { WATCHED_NS = 60 };

/* Bytes of a slice that cost a nanosecond if all of it survives. Of smaller objects than usual
 * (32 bytes) there are more. */
enum { SLICE_BYTES_A_NS = 3 };

/* Collects when so much of the goal would be used, and for the next time does not even look when
 * the last collection used so much. */
enum { ENOUGH = 2, CROWDED = 2 };

/* So little of the goal would be used that it is the moment to collect, if there is to be one. */
enum { LITTLE = 8 };

/* A thread collects when looking at what it alone has written to would use so much. */
enum { ALONE = 3 };

/* Objects wait this long between being asked for and being counted. */
enum { AHEAD = 8 };

/* Where the number of the survey lies in the flags of young objects. */
enum { NUMBER_SHIFT = 8, NUMBER_MAX = 255 };

struct survey {
	struct gc_heap *heap;
	uint64_t cost;  /* of a minor collection, in nanoseconds */
	uint64_t limit; /* how much more it is does not matter */
	uint16_t number;
};

static inline void visit(void *context, void **slot)
{
	struct survey *survey = context;
	struct gc_heap *heap = survey->heap;
	struct gc_header *object = *slot;

	survey->cost += REFERENCE_NS;
	if (object && survey->cost < survey->limit && heap_is_young(heap, object))
		stack_push(&heap->work, object);
}

static void count(struct survey *survey, struct gc_header *object)
{
	struct gc_heap *heap = survey->heap;
	const struct gc_type_info *type = type_of(heap, object);

	if (object->flags >> NUMBER_SHIFT == survey->number)
		return;
	object->flags = (uint16_t)(survey->number << NUMBER_SHIFT);
	survey->cost += OBJECT_NS;
	if (nursery_has(&heap->nursery, object))
		survey->cost += type_object_size(type, object) / BYTES_A_NS;
	else if (type->n_item_pointers)
		survey->cost += type_length(type, object) * type->n_item_pointers * REFERENCE_NS;
	/* A large array may be much longer than what is left. */
	if (survey->cost < survey->limit)
		trace_object(type, object, visit, survey);
}

static void visit_remembered(void *context, struct gc_header *object)
{
	struct survey *survey = context;

	survey->cost += REMEMBERED_NS;
	if (survey->cost >= survey->limit)
		return;
	if (object->flags & GC_FLAG_CARDS)
		cards_visit(survey->heap, object, visit, survey);
	else
		trace_object(type_of(survey->heap, object), object, visit, survey);
}

/* Whatever the value of a pair, its key may live. */
static void visit_pair(void *context, void *key, void **value)
{
	(void)key;
	visit(context, value);
}

/* By default what it takes to promote the nursery of one thread, and there is one slice: see
 * nursery_resize(). */
static uint64_t goal(const struct gc_heap *heap)
{
	uint64_t ns;

	if (!heap->options.pause_goal)
		return heap->options.nursery_size / SLICE_BYTES_A_NS + 1;
	return __builtin_mul_overflow(heap->options.pause_goal, 1000, &ns) ? UINT64_MAX : ns;
}

/* A short queue between the stack and the counting hides the way to memory. */
static void count_all(struct survey *survey)
{
	struct gc_stack *work = &survey->heap->work;
	void *queue[AHEAD] = {NULL};
	unsigned waiting = 0, at = 0;

	while ((work->count || waiting) && survey->cost < survey->limit) {
		void *next = work->count ? stack_pop(work) : NULL;
		void *object = queue[at];

		__builtin_prefetch(next, 1);
		queue[at] = next;
		at = (at + 1) % AHEAD;
		waiting += (next != NULL) - (object != NULL);
		if (object)
			count(survey, object);
	}
	work->count = 0;
}

/* What a minor collection would cost now, or the limit and a little more. */
static uint64_t cost_now(struct gc_heap *heap, uint64_t limit)
{
	struct survey survey = {.heap = heap, .limit = limit, .number = heap->nursery.surveys};

	survey.cost = (uint64_t)heap->nursery.watched * WATCHED_NS;
	roots_visit(heap, visit, &survey);
	finalize_visit_young(heap, visit, &survey);
	weak_each_young(heap, visit_pair, &survey);
	barrier_visit(heap, visit_remembered, &survey);
	count_all(&survey);
	return survey.cost;
}

/* How long a slice may be of which all survives in so many nanoseconds. */
static size_t slice_of(uint64_t ns)
{
	uint64_t bytes;

	return __builtin_mul_overflow(ns, SLICE_BYTES_A_NS, &bytes) ? SIZE_MAX : bytes;
}

static size_t left(const struct gc_heap *heap)
{
	return heap->nursery.size - nursery_taken(&heap->nursery);
}

static void open_slice(struct gc_heap *heap, size_t bytes, size_t least)
{
	struct gc_nursery *nursery = &heap->nursery;

	if (bytes < least)
		bytes = least;
	if (bytes > left(heap))
		bytes = left(heap);
	__atomic_store_n(&nursery->slice, nursery_taken(nursery) + bytes, __ATOMIC_RELAXED);
}

/* The nursery is empty. */
void survey_reset(struct gc_heap *heap)
{
	heap->nursery.surveys = 0;
	heap->nursery.last_slice = false;
	__atomic_store_n(&heap->nursery.watched, 0, __ATOMIC_RELAXED);
	open_slice(heap, heap->options.pause_goal ? slice_of(goal(heap)) : SIZE_MAX,
		   heap->options.large_size);
}

/* A minor collection promoted so much: the next one will promote as much, until it does not. */
void survey_learn(struct gc_heap *heap, uint64_t objects, uint64_t bytes)
{
	uint64_t cost = objects * OBJECT_NS + bytes / BYTES_A_NS;

	heap->nursery.crowded = cost >= goal(heap) / CROWDED;
}

/* A slice is used up. False: it is time to collect, whatever a survey would find. */
bool survey_is_worth_it(const struct gc_heap *heap)
{
	const struct gc_nursery *nursery = &heap->nursery;

	return !nursery->crowded && !nursery->last_slice && nursery->surveys < NUMBER_MAX;
}

/*
 * The same, with the world stopped: opens the next slice, which is one buffer
 * if it is time to collect. False: collect at once, because next to nothing
 * survives, and when the rest of the nursery is used up it may be much.
 */
bool survey_goes_on(struct gc_heap *heap)
{
	struct gc_nursery *nursery = &heap->nursery;
	uint64_t most = goal(heap), enough = most / ENOUGH, cost;
	size_t slice;

	nursery->surveys++;
	heap->stats.surveys++;
	cost = cost_now(heap, enough);
	slice = slice_of(most - cost);
	if (cost <= most / LITTLE && slice > left(heap))
		return false;
	nursery->last_slice = cost >= enough;
	if (nursery->last_slice)
		open_slice(heap, 0, nursery->buffer);
	else
		open_slice(heap, slice, heap->options.large_size);
	return true;
}

/* There is a new weak reference or finalizer, or a new value. */
void survey_watch(struct gc_heap *heap)
{
	__atomic_fetch_add(&heap->nursery.watched, 1, __ATOMIC_RELAXED);
}

/* True if the thread wrote to so many old objects, or all threads made so many weak references and
 * finalizers, that it is time to collect. */
bool survey_is_over(const struct gc_thread *thread)
{
	const struct gc_heap *heap = thread->heap;
	uint64_t watched = __atomic_load_n(&heap->nursery.watched, __ATOMIC_RELAXED);
	uint64_t cost = thread->remembered.count * REMEMBERED_NS + watched * WATCHED_NS;

	return cost > goal(heap) / ALONE;
}
