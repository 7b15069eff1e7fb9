/* SPDX-License-Identifier: BSD-2-Clause */
/* heap.c: a heap's life, and the order of events in a collection. */
#include "internal.h"

#include <stdlib.h>

/* All heaps of the process, for fork and for their ids. */
static pthread_mutex_t heaps_lock = PTHREAD_MUTEX_INITIALIZER;
static struct gc_heap *heaps;
static uint64_t last_heap;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

/* Locks in one order, so that the child finds no structure half changed. */
static void fork_prepare(void)
{
	pthread_mutex_lock(&heaps_lock);
	for (struct gc_heap *heap = heaps; heap; heap = heap->next)
		pthread_mutex_lock(&heap->lock);
}

static void fork_parent(void)
{
	for (struct gc_heap *heap = heaps; heap; heap = heap->next)
		pthread_mutex_unlock(&heap->lock);
	pthread_mutex_unlock(&heaps_lock);
}

static void fork_child(void)
{
	pthread_mutex_init(&heaps_lock, NULL);
	announce_forked();
	codes_forked();
	for (struct gc_heap *heap = heaps; heap; heap = heap->next) {
		sampler_forked(heap);
		threads_forked(heap);
	}
}

static void watch_forks(void)
{
	pthread_atfork(fork_prepare, fork_parent, fork_child);
}

static void enlist(struct gc_heap *heap)
{
	pthread_once(&fork_once, watch_forks);
	pthread_mutex_lock(&heaps_lock);
	heap->id = ++last_heap;
	heap->next = heaps;
	heaps = heap;
	pthread_mutex_unlock(&heaps_lock);
}

static void delist(struct gc_heap *heap)
{
	struct gc_heap **link = &heaps;

	pthread_mutex_lock(&heaps_lock);
	while (*link != heap)
		link = &(*link)->next;
	*link = heap->next;
	pthread_mutex_unlock(&heaps_lock);
}

int gc_heap_create(const struct gc_options *options, struct gc_heap **out)
{
	struct gc_options defaults;
	struct gc_heap *heap;
	int result = 0;

	if (!options) {
		result = gc_options_default(&defaults);
		if (result)
			return result;
		options = &defaults;
	}
	heap = calloc(1, sizeof(*heap));
	if (!heap)
		return error_set(-ENOMEM, "gc_heap_create: out of memory");
	result = options_check(options, &heap->options);
	if (result)
		goto fail;
	result = types_init(heap);
	if (!result)
		result = nursery_init(heap);
	if (result) {
		error_set(result,
			  "gc_heap_create: the system has no memory for a nursery of %zu bytes",
			  heap->options.nursery_size);
		goto fail;
	}
	pthread_mutex_init(&heap->lock, NULL);
	pthread_cond_init(&heap->stopped, NULL);
	pthread_cond_init(&heap->resumed, NULL);
	old_init(&heap->old);
	heap->threshold = heap->options.min_heap;
	sampler_init(heap);
	enlist(heap);
	*out = heap;
	return 0;
fail:
	types_free(heap);
	free(heap);
	return result;
}

void gc_heap_destroy(struct gc_heap *heap)
{
	if (!heap)
		return;
	GC_ASSERT(!heap->threads, "a heap was destroyed before its threads were detached");
	delist(heap);
	large_free(heap);
	old_free(&heap->old);
	nursery_free(heap);
	types_free(heap);
	sampler_free(heap);
	stack_free(&heap->roots);
	stack_free(&heap->remembered);
	stack_free(&heap->work);
	pthread_cond_destroy(&heap->resumed);
	pthread_cond_destroy(&heap->stopped);
	pthread_mutex_destroy(&heap->lock);
	free(heap);
}

/* The number of collections so far. */
uint64_t heap_cycle(const struct gc_heap *heap)
{
	return __atomic_load_n(&heap->cycle, __ATOMIC_ACQUIRE);
}

/* A collection under way: what its end must know of its beginning. */
struct collection {
	uint64_t begin;
	uint32_t kind;
};

static void begin(struct gc_heap *heap, struct collection *c, uint32_t kind, uint32_t reason)
{
	c->kind = kind;
	c->begin = os_now();
	heap->last = (struct gcprof_gc_stats){.phase = GCPROF_PHASE_SCANNING};
	__atomic_store_n(&heap->cycle, heap->cycle + 1, __ATOMIC_RELEASE);
	probe_gc_begin(&(struct probe_gc_begin){
		.heap = heap->id,
		.cycle = heap->cycle,
		.kind = kind,
		.reason = reason,
	});
}

static void fill_stats(struct gc_heap *heap)
{
	struct gcprof_gc_stats *last = &heap->last;

	last->allocated_bytes = heap->allocated;
	last->arena_bytes = old_arena_bytes(&heap->old);
	last->large_bytes = heap->large.bytes;
	last->live_bytes = heap->old.bytes + heap->large.bytes;
	last->threads = heap->n_threads;
}

static void end(struct gc_heap *heap, const struct collection *c)
{
	struct gc_stats *stats = &heap->stats;
	uint64_t pause = os_now() - c->begin;

	fill_stats(heap);
	stats->promoted_bytes += heap->last.promoted_bytes;
	stats->pause_ns += pause;
	if (pause > stats->max_pause_ns)
		stats->max_pause_ns = pause;
	probe_gc_end(&(struct probe_gc_end){
		.heap = heap->id,
		.cycle = heap->cycle,
		.kind = c->kind,
		.stats = &heap->last,
	});
}

static void enter_phase(struct gc_heap *heap, uint32_t phase)
{
	heap->last.phase = phase;
	probe_phase(&(struct probe_phase){.heap = heap->id, .phase = phase});
}

/* Small heaps are checked at every collection, large ones once in as many bytes as they hold. */
static void check(struct gc_heap *heap, enum check_when when)
{
	const uint64_t small = 1 << 20;

	if (!GC_CHECK || heap->allocated < heap->check_after)
		return;
	check_heap(heap, when);
	if (heap->old.bytes > small && when != CHECK_BEFORE)
		heap->check_after = heap->allocated + 2 * heap->old.bytes;
}

static void collect_minor(struct gc_thread *self, uint32_t reason)
{
	struct gc_heap *heap = self->heap;
	struct collection c;

	begin(heap, &c, GCPROF_GC_MINOR, reason);
	threads_stop(self);
	heap->last.stop_ns = os_now() - c.begin;
	check(heap, CHECK_BEFORE);
	heap->stats.minor_collections++;
	minor_trace(heap);
	minor_finish(heap);
	check(heap, CHECK_MINOR_DONE);
	end(heap, &c);
}

/* Behind a minor collection: the nursery is empty and the world still stopped. */
static void collect_full(struct gc_heap *heap, uint32_t reason)
{
	struct collection c;

	begin(heap, &c, GCPROF_GC_FULL, reason);
	heap->stats.full_collections++;
	enter_phase(heap, GCPROF_PHASE_MARKING);
	mark_heap(heap);
	check(heap, CHECK_MARKED);
	enter_phase(heap, GCPROF_PHASE_SWEEPING);
	sweep_heap(heap);
	enter_phase(heap, GCPROF_PHASE_SCANNING);
	check(heap, CHECK_FULL_DONE);
	end(heap, &c);
}

/*
 * Collects, unless there was another collection since number `seen`. A full
 * collection follows a minor one when it was asked for or when the old
 * generation has grown past its threshold.
 */
void heap_collect(struct gc_thread *self, enum gc_collect_kind kind, uint32_t reason, uint64_t seen)
{
	struct gc_heap *heap = self->heap;

	nursery_account(self);
	if (!threads_begin_collecting(self, seen))
		return;
	collect_minor(self, reason);
	if (kind == GC_COLLECT_FULL)
		collect_full(heap, reason);
	else if (heap->old.bytes + heap->large.bytes > heap->threshold)
		collect_full(heap, GCPROF_REASON_THRESHOLD);
	threads_end_collecting(self);
}

void gc_collect(struct gc_thread *thread, enum gc_collect_kind kind)
{
	nursery_account(thread);
	sampler_poll(thread);
	heap_collect(thread, kind, GCPROF_REASON_EXPLICIT, COLLECT_ALWAYS);
	limit_update(thread);
}

/* What the calling thread allocated since it was last accounted. Nobody else can know. */
static uint64_t own_bytes(const struct gc_heap *heap)
{
	uint64_t bytes = 0;

	for (const struct gc_thread *thread = heap->threads; thread; thread = thread->next)
		if (pthread_equal(thread->owner, pthread_self()))
			bytes += (uint64_t)(thread->head.free - thread->segment);
	return bytes;
}

void gc_stats(struct gc_heap *heap, struct gc_stats *out)
{
	pthread_mutex_lock(&heap->lock);
	*out = heap->stats;
	out->allocated_bytes =
		__atomic_load_n(&heap->allocated, __ATOMIC_RELAXED) + own_bytes(heap);
	out->live_bytes = heap->old.bytes + heap->large.bytes;
	out->arena_bytes = old_arena_bytes(&heap->old);
	out->large_bytes = heap->large.bytes;
	out->samples = __atomic_load_n(&heap->sampler.samples, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&heap->lock);
}
