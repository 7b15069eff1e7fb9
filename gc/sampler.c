/* SPDX-License-Identifier: BSD-2-Clause */
/* sampler.c: reports heaps, threads and allocations to the provider. */
#include "sampler.h"
#include "limit.h"
#include "outcomes.h"
#include "types.h"

int sampler_init(struct gc_heap *heap)
{
	struct gcprof_options options = heap->options.sampling;

	options.always_sample &= !GCPROF_NO_SAMPLING;
	if (!options.name) {
		options.name = "gcprof-gc";
		options.version = GCPROF_VERSION;
	}
	return gcprof_open(&options, &heap->provider);
}

void sampler_free(struct gc_heap *heap)
{
	outcomes_free(&heap->sampled_old);
	outcomes_free(&heap->sampled_orphans);
	gcprof_close(heap->provider);
}

int sampler_attach(struct gc_thread *thread)
{
	return gcprof_thread_attach(thread->heap->provider, &thread->head.anchor, &thread->sampler);
}

void sampler_detach(struct gc_thread *thread)
{
	gcprof_thread_detach(thread->sampler);
	outcomes_orphan(thread);
}

void sampler_poll(struct gc_thread *thread)
{
	/* Avoids the expensive store, since news are rare. */
	if (__atomic_load_n(&thread->news, __ATOMIC_RELAXED))
		__atomic_store_n(&thread->news, 0, __ATOMIC_SEQ_CST);
	if (!GCPROF_NO_SAMPLING)
		gcprof_poll(thread->sampler);
}

void sampler_settle(struct gc_thread *thread)
{
	if (!GCPROF_NO_SAMPLING)
		gcprof_settle(thread->sampler);
}

void sampler_allocated(struct gc_thread *thread, void *object, size_t size)
{
	struct gc_heap *heap = thread->heap;
	uint32_t kind = nursery_has(&heap->nursery, object) ? GCPROF_SAMPLE_NURSERY
							    : GCPROF_SAMPLE_LARGE;
	uint64_t sample;

	if (GCPROF_NO_SAMPLING)
		return;
	sample = gcprof_allocated(thread->sampler, size,
				  type_probe_id(heap, ((struct gc_header *)object)->type), kind);
	if (!sample)
		return;
	__atomic_fetch_add(&heap->samples, 1, __ATOMIC_RELAXED);
	if (gcprof_wants_outcomes())
		outcomes_remember(thread, object, sample);
}

/* Makes every thread read the sampler's settings at its next allocation. */
static void notify(struct gc_heap *heap)
{
	heap_lock(heap);
	for (struct gc_thread *thread = heap->threads; thread; thread = thread->next) {
		__atomic_store_n(&thread->news, 1, __ATOMIC_SEQ_CST);
		limit_request(thread);
	}
	pthread_mutex_unlock(&heap->lock);
}

static void set_paused(struct gc_heap *heap, int paused)
{
	gcprof_set_paused(heap->provider, paused);
	notify(heap);
}

void gc_sampling_pause(struct gc_heap *heap)
{
	set_paused(heap, 1);
}

void gc_sampling_resume(struct gc_heap *heap)
{
	set_paused(heap, 0);
}

void gc_sampling_set_period(struct gc_heap *heap, uint64_t period)
{
	gcprof_set_period(heap->provider, period);
	notify(heap);
}

uint32_t gc_code(const char *name, const char *file, uint32_t line)
{
	return gcprof_code(name, file, line);
}
