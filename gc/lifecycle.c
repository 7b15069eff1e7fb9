/* SPDX-License-Identifier: BSD-2-Clause */
/* lifecycle.c: creates and destroys heaps; fork, exit, and statistics. */
#include "barrier.h"
#include "finalize.h"
#include "large.h"
#include "major.h"
#include "nursery.h"
#include "old.h"
#include "options.h"
#include "outcomes.h"
#include "pairs.h"
#include "sampler.h"
#include "threads.h"
#include "types.h"
#include "weak.h"

#include <stdlib.h>

/* All heaps of the process, for fork. */
static pthread_mutex_t heaps_lock = PTHREAD_MUTEX_INITIALIZER;
static struct gc_heap *heaps;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

/* Takes all locks in one order, so that the child finds consistent data. */
static void fork_prepare(void)
{
	pthread_mutex_lock(&heaps_lock);
	for (struct gc_heap *heap = heaps; heap; heap = heap->next)
		heap_lock(heap);
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
	for (struct gc_heap *heap = heaps; heap; heap = heap->next) {
		outcomes_forget(heap);
		threads_forked(heap);
	}
}

/* At exit. Sums of a heap that is still collecting are not reported. */
__attribute__((destructor)) static void flush_all(void)
{
	if (pthread_mutex_trylock(&heaps_lock))
		return;
	for (struct gc_heap *heap = heaps; heap; heap = heap->next) {
		if (pthread_mutex_trylock(&heap->lock))
			continue;
		if (!heap->collector)
			gcprof_flush_sums(heap->provider);
		pthread_mutex_unlock(&heap->lock);
	}
	pthread_mutex_unlock(&heaps_lock);
}

static void watch_forks(void)
{
	pthread_atfork(fork_prepare, fork_parent, fork_child);
}

static void enlist(struct gc_heap *heap)
{
	pthread_once(&fork_once, watch_forks);
	pthread_mutex_lock(&heaps_lock);
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
	heap = os_alloc_lines(sizeof(*heap));
	if (!heap)
		return gcprof_error_set(-ENOMEM, "gc_heap_create: out of memory");
	result = options_check(options, &heap->options);
	if (!result)
		result = sampler_init(heap);
	if (result)
		goto fail;
	heap->processors = os_processors();
	result = types_init(heap);
	if (!result)
		result = nursery_init(heap);
	if (result) {
		gcprof_error_set(
			result,
			"gc_heap_create: the system has no memory for a nursery of %zu bytes",
			heap->options.nursery_size);
		goto fail;
	}
	threads_init_lock(heap);
	old_init(&heap->old);
	major_init(heap);
	enlist(heap);
	*out = heap;
	return 0;
fail:
	gcprof_close(heap->provider);
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
	finalize_free(heap);
	weak_free(heap);
	large_free(heap);
	old_free(&heap->old);
	nursery_free(heap);
	types_free(heap);
	sampler_free(heap);
	worklist_free(&heap->roots);
	worklist_free(&heap->pins);
	worklist_free(&heap->remembered);
	worklist_free(&heap->work);
	worklist_free(&heap->large.reached);
	worklist_free(&heap->major.gray);
	pthread_cond_destroy(&heap->resumed);
	pthread_cond_destroy(&heap->stopped);
	pthread_mutex_destroy(&heap->lock);
	free(heap);
}

/* The calling thread's bytes that are not accounted yet. Only the thread itself can know. */
static uint64_t own_bytes(const struct gc_heap *heap)
{
	uint64_t bytes = 0;

	for (const struct gc_thread *thread = heap->threads; thread; thread = thread->next)
		if (pthread_equal(thread->owner, pthread_self()))
			bytes +=
				(uint64_t)(thread->head.free - thread->segment) + thread->uncounted;
	return bytes;
}

void gc_stats(struct gc_heap *heap, struct gc_stats *out)
{
	heap_lock(heap);
	*out = heap->stats;
	out->allocated_bytes = heap_allocated(heap) + own_bytes(heap);
	out->live_bytes = heap->old.bytes + heap->large.bytes;
	out->arena_bytes = old_arena_bytes(&heap->old);
	out->large_bytes = heap->large.bytes;
	out->samples = __atomic_load_n(&heap->samples, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&heap->lock);
}
