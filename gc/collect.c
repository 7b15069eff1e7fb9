/* SPDX-License-Identifier: BSD-2-Clause */
/* collect.c: the order of events in a collection, and what is reported of it. */
#include "internal.h"

/* A collection under way: what its end must know of its beginning. */
struct gc_collection {
	uint64_t begin;
	uint64_t majors; /* major collections so far */
	uint32_t kind;
};

/* How many collections have ended, steps included. One that others have begun, and that has not
 * stopped this thread yet, does not count: when it has ended there is no need for another. */
uint64_t heap_cycle(const struct gc_heap *heap)
{
	return __atomic_load_n(&heap->ended, __ATOMIC_ACQUIRE);
}

static void begin(struct gc_heap *heap, struct gc_collection *c, uint32_t kind, uint32_t reason)
{
	c->kind = kind;
	c->begin = os_now();
	c->majors = heap->stats.full_collections;
	heap->last = (struct gcprof_gc_stats){0};
	heap->cycle++;
	if (!heap->stop_cycle) {
		heap->stop_cycle = heap->cycle;
		heap->stop_begin = c->begin;
	}
	gcprof_gc_begin(heap->collector->sampler, kind, reason, c->begin);
}

static void fill_stats(struct gc_heap *heap)
{
	struct gcprof_gc_stats *last = &heap->last;

	last->allocated_bytes = heap_allocated(heap);
	last->arena_bytes = old_arena_bytes(&heap->old);
	last->large_bytes = heap->large.bytes;
	last->live_bytes = heap->old.bytes + heap->large.bytes;
	last->threads = heap->n_threads;
	last->phase = heap->major.phase;
}

static void call_hook(struct gc_heap *heap, const struct gc_collection *c, uint64_t pause)
{
	struct gc_hook_event event = {
		.kind = (enum gc_hook_kind)c->kind,
		.cycle_done = heap->stats.full_collections != c->majors,
		.pause_ns = pause,
		.promoted_bytes = heap->last.promoted_bytes,
		.live_bytes = heap->last.live_bytes,
	};

	if (heap->hook)
		heap->hook(heap->hook_context, &event);
}

static void end(struct gc_heap *heap, struct gc_collection *c)
{
	struct gc_stats *stats = &heap->stats;
	uint64_t now = os_now(), pause = now - c->begin;

	fill_stats(heap);
	stats->promoted_bytes += heap->last.promoted_bytes;
	stats->pause_ns += pause;
	raise_to(&stats->max_pause_ns, now - heap->stop_begin);
	if (c->kind == GCPROF_GC_STEP)
		raise_to(&stats->max_step_ns, pause);
	gcprof_gc_end(heap->collector->sampler, &heap->last, now);
	call_hook(heap, c, pause);
	__atomic_store_n(&heap->ended, heap->cycle, __ATOMIC_RELEASE);
}

/* Small heaps are checked at every collection, large ones once in as many bytes as they hold;
 * of the many steps only a few. */
void collect_check(struct gc_heap *heap, enum check_when when)
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

static void collect_minor(struct gc_thread *self, uint32_t reason)
{
	struct gc_heap *heap = self->heap;
	struct gc_collection c;

	begin(heap, &c, GCPROF_GC_MINOR, reason);
	threads_stop(self);
	heap->last.stop_ns = os_now() - c.begin;
	barrier_gather(heap);
	collect_check(heap, CHECK_BEFORE);
	heap->stats.minor_collections++;
	minor_trace(heap);
	minor_finish(heap);
	collect_check(heap, CHECK_MINOR_DONE);
	end(heap, &c);
}

/* Counts what a minor collection would promote; false: it is time for one. */
static bool collect_survey(struct gc_thread *self)
{
	struct gc_heap *heap = self->heap;
	struct gc_collection c;
	bool goes_on;

	begin(heap, &c, GCPROF_GC_SURVEY, GCPROF_REASON_NURSERY);
	threads_stop(self);
	heap->last.stop_ns = os_now() - c.begin;
	heap->last.nursery_used = heap->nursery.used;
	goes_on = survey_goes_on(heap);
	end(heap, &c);
	return goes_on;
}

/* Behind a minor collection: the nursery is empty and the world still stopped. */
static void collect_full(struct gc_heap *heap, uint32_t reason)
{
	struct gc_collection c;

	begin(heap, &c, GCPROF_GC_FULL, reason);
	major_full(heap);
	large_free_spare(heap);
	old_drop_reserve(&heap->old);
	collect_check(heap, CHECK_FULL_DONE);
	end(heap, &c);
}

/* Behind a minor collection, or, with `self`, when the world is still to be stopped. */
static void collect_step(struct gc_heap *heap, struct gc_thread *self, uint32_t reason)
{
	struct gc_collection c;

	begin(heap, &c, GCPROF_GC_STEP, reason);
	if (self)
		threads_stop(self);
	heap->last.stop_ns = os_now() - c.begin;
	heap->stats.steps++;
	barrier_gather(heap);
	major_step(heap, !self);
	collect_check(heap, CHECK_STEP_DONE);
	end(heap, &c);
}

/* Gets memory ready for the next collection, which other threads may begin meanwhile. Not at once
 * behind the last one: two short pauses are better than a long one. */
void heap_prepare(struct gc_thread *self)
{
	gc_blocking_begin(self);
	old_prepare(&self->heap->old, &self->heap->lock);
	threads_return(self);
}

/* A minor collection and what follows it. As the collector. */
static void collect(struct gc_thread *self, enum collect_kind kind, uint32_t reason)
{
	struct gc_heap *heap = self->heap;

	collect_minor(self, reason);
	if (kind == COLLECT_FULL)
		collect_full(heap, reason);
	else if (kind == COLLECT_STEP)
		collect_step(heap, NULL, reason);
	else if (major_is_wanted(heap) && heap->options.stop_the_world)
		collect_full(heap, GCPROF_REASON_THRESHOLD);
	else if (major_is_wanted(heap) && !major_step_can_wait(heap))
		collect_step(heap, NULL, GCPROF_REASON_THRESHOLD);
}

/* The threads go on. */
static void end_stop(struct gc_thread *self)
{
	gcprof_stop_end(self->sampler);
	self->heap->stop_cycle = 0;
	threads_end_collecting(self);
}

/*
 * Collects, unless there was another collection since number `seen`. A full
 * collection follows a minor one when it was asked for. When the old generation
 * has grown past its threshold the steps of a major collection begin.
 */
void heap_collect(struct gc_thread *self, enum collect_kind kind, uint32_t reason, uint64_t seen)
{
	nursery_account(self);
	if (!threads_begin_collecting(self, seen))
		return;
	collect(self, kind, reason);
	end_stop(self);
}

/* A slice of the nursery, up to `slice` bytes, is used up: on to the next one, unless so much is
 * alive that it is better to collect. */
void heap_survey(struct gc_thread *self, size_t slice, uint64_t seen)
{
	struct gc_heap *heap = self->heap;
	bool goes_on;

	nursery_account(self);
	if (!threads_begin_collecting(self, seen))
		return;
	goes_on = heap->nursery.slice != slice ||
		  (survey_is_worth_it(heap) && collect_survey(self));
	if (!goes_on)
		collect(self, COLLECT_MINOR, GCPROF_REASON_NURSERY);
	end_stop(self);
}

/* A step of the major collection under way; it moves nothing. */
void heap_step(struct gc_thread *self, uint32_t reason, uint64_t seen)
{
	nursery_account(self);
	if (!threads_begin_collecting(self, seen))
		return;
	collect_step(self->heap, self, reason);
	end_stop(self);
}

void gc_collect(struct gc_thread *thread, enum gc_collect_kind kind)
{
	nursery_account(thread);
	sampler_poll(thread);
	sampler_settle(thread);
	heap_collect(thread, kind == GC_COLLECT_FULL ? COLLECT_FULL : COLLECT_MINOR,
		     GCPROF_REASON_EXPLICIT, COLLECT_ALWAYS);
	finalize_run(thread);
	limit_update(thread);
}

int gc_collect_step(struct gc_thread *thread)
{
	struct gc_heap *heap = thread->heap;
	int more;

	nursery_account(thread);
	if (major_has_work(heap))
		heap_step(thread, GCPROF_REASON_EXPLICIT, COLLECT_ALWAYS);
	else
		heap_collect(thread, COLLECT_STEP, GCPROF_REASON_EXPLICIT, COLLECT_ALWAYS);
	finalize_run(thread);
	limit_update(thread);
	heap_lock(heap);
	more = heap->major.phase == GCPROF_PHASE_MARKING ||
	       heap->major.phase == GCPROF_PHASE_SWEEPING;
	pthread_mutex_unlock(&heap->lock);
	return more;
}

void gc_hook_set(struct gc_heap *heap, gc_hook hook, void *context)
{
	heap_lock(heap);
	heap->hook = hook;
	heap->hook_context = context;
	pthread_mutex_unlock(&heap->lock);
}
