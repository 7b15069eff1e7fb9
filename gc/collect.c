/* SPDX-License-Identifier: BSD-2-Clause */
/* collect.c: the order of events in a collection, and its reporting. */
#include "collect.h"
#include "barrier.h"
#include "check.h"
#include "finalize.h"
#include "large.h"
#include "limit.h"
#include "major.h"
#include "minor.h"
#include "old.h"
#include "nursery.h"
#include "sampler.h"

/* The current collection: data from its begin that its end needs. */
struct gc_collection {
	uint64_t begin;
	uint64_t majors; /* major collections so far */
	uint32_t kind;
};

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

static void run_minor(struct gc_thread *self, uint32_t reason)
{
	struct gc_heap *heap = self->heap;
	struct gc_collection c;

	begin(heap, &c, GCPROF_GC_MINOR, reason);
	threads_stop(self);
	heap->last.stop_ns = os_now() - c.begin;
	barrier_gather(heap);
	check_if_due(heap, CHECK_BEFORE);
	heap->stats.minor_collections++;
	minor_trace(heap);
	minor_finish(heap);
	check_if_due(heap, CHECK_MINOR_DONE);
	end(heap, &c);
}

/* After a minor collection, with the nursery empty and the world still stopped. */
static void run_full(struct gc_heap *heap, uint32_t reason)
{
	struct gc_collection c;

	begin(heap, &c, GCPROF_GC_FULL, reason);
	major_full(heap);
	large_free_spare(heap);
	check_if_due(heap, CHECK_FULL_DONE);
	end(heap, &c);
}

/* After a minor collection or, with `self`, before the world is stopped. */
static void run_step(struct gc_heap *heap, struct gc_thread *self, uint32_t reason)
{
	struct gc_collection c;

	begin(heap, &c, GCPROF_GC_STEP, reason);
	if (self)
		threads_stop(self);
	heap->last.stop_ns = os_now() - c.begin;
	heap->stats.steps++;
	barrier_gather(heap);
	major_step(heap, !self);
	check_if_due(heap, CHECK_STEP_DONE);
	end(heap, &c);
}

/* Runs a minor collection and what follows it. As the collector. */
static void collect(struct gc_thread *self, enum collect_kind kind, uint32_t reason)
{
	struct gc_heap *heap = self->heap;

	run_minor(self, reason);
	if (kind == COLLECT_FULL)
		run_full(heap, reason);
	else if (kind == COLLECT_STEP)
		run_step(heap, NULL, reason);
	else if (major_is_wanted(heap) && heap->options.stop_the_world)
		run_full(heap, GCPROF_REASON_THRESHOLD);
	else if (major_is_wanted(heap) && !major_step_can_wait(heap))
		run_step(heap, NULL, GCPROF_REASON_THRESHOLD);
}

/* Restarts the threads. */
static void end_stop(struct gc_thread *self)
{
	gcprof_stop_end(self->sampler);
	self->heap->stop_cycle = 0;
	threads_end_collecting(self);
}

void collect_run(struct gc_thread *self, enum collect_kind kind, uint32_t reason, uint64_t seen)
{
	nursery_account(self);
	if (!threads_begin_collecting(self, seen))
		return;
	collect(self, kind, reason);
	end_stop(self);
}

void collect_step(struct gc_thread *self, uint32_t reason, uint64_t seen)
{
	nursery_account(self);
	if (!threads_begin_collecting(self, seen))
		return;
	run_step(self->heap, self, reason);
	end_stop(self);
}

void gc_collect(struct gc_thread *thread, enum gc_collect_kind kind)
{
	nursery_account(thread);
	sampler_poll(thread);
	sampler_settle(thread);
	collect_run(thread, kind == GC_COLLECT_FULL ? COLLECT_FULL : COLLECT_MINOR,
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
		collect_step(thread, GCPROF_REASON_EXPLICIT, COLLECT_ALWAYS);
	else
		collect_run(thread, COLLECT_STEP, GCPROF_REASON_EXPLICIT, COLLECT_ALWAYS);
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
