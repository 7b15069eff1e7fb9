/* SPDX-License-Identifier: BSD-2-Clause */
/* sample.c: which allocations are sampled, and taking the samples. */
/*
 * Imagine the bytes that a thread allocates numbered in their order. Every byte
 * is a hit with probability 1 - exp(-1/R), independently; an object is sampled if
 * it contains a hit, so an object of s bytes is with 1 - exp(-s/R), wherever it
 * lies. The distance to the next hit is therefore an exponential variate of mean
 * R, rounded up, and it forgets: drawing it anew at any point that was chosen
 * without looking ahead changes nothing. `budget` is that distance, counted from
 * `segment`; the limit stands just before the hit, so the object that contains
 * the hit takes the slow path and no other object notices.
 *
 * Only bytes of objects count: tails of buffers are skipped, and so nothing
 * depends on where buffers and collections happen to lie.
 */
#include "internal.h"

#if !GCPROF_NO_SAMPLING

/* Exported: a recorder that attaches to a running program writes here. */
__attribute__((visibility("default"))) struct gcprof_control gcprof_control = {
	.magic = GCPROF_CONTROL_MAGIC,
	.version = GCPROF_CONTROL_VERSION,
};

__attribute__((visibility("default"))) struct gcprof_arrivals gcprof_arrivals = {
	.magic = GCPROF_ARRIVALS_MAGIC,
	.version = GCPROF_ARRIVALS_VERSION,
};

__attribute__((visibility("default"))) struct gcprof_singly gcprof_singly = {
	.magic = GCPROF_SINGLY_MAGIC,
	.version = GCPROF_SINGLY_VERSION,
};

#define LOOK_NS   UINT64_C(200000)
#define POLLS_MAX 32 /* between two readings, should the program go slower: a MiB in buffers */

/* Ids are of the process: two heaps must not give the same one. */
static uint64_t last_sample;

void sampler_init(struct gc_heap *heap)
{
	struct gc_heap_sampler *sampler = &heap->sampler;

	pthread_mutex_init(&sampler->lock, NULL);
	if (heap->options.fixed_stride == STRIDE_EVERY) {
		heap->options.period = 1;
		heap->options.ceiling = UINT64_MAX;
	}
	sampler->base_period = heap->options.period;
	sampler->period = sampler->base_period;
	sampler->ceiling = heap->options.ceiling;
	sampler->summary.phase = heap->major.phase;
}

void sampler_free(struct gc_heap *heap)
{
	fate_free(&heap->sampler.old);
	fate_free(&heap->sampler.orphans);
	pthread_mutex_destroy(&heap->sampler.lock);
}

static void seed_thread(struct gc_thread *thread)
{
	struct gc_heap *heap = thread->heap;
	uint64_t number = __atomic_add_fetch(&heap->sampler.threads, 1, __ATOMIC_RELAXED);
	uint64_t seed = heap->options.seed;

	if (seed)
		seed ^= number * UINT64_C(0xd1342543de82ef95);
	else
		seed = os_random();
	random_seed(thread->sampler.random, seed);
}

void sampler_attach(struct gc_thread *thread)
{
	seed_thread(thread);
	sampler_poll(thread);
}

void sampler_detach(struct gc_thread *thread)
{
	batch_free(thread);
	fate_move(&thread->heap->sampler.orphans, &thread->sampler.young);
}

void sampler_consume(struct gc_thread *thread, size_t size)
{
	if (thread->sampler.on)
		thread->sampler.budget -= (int64_t)size;
}

static void draw(struct gc_thread *thread, int64_t offset)
{
	struct gc_thread_sampler *sampler = &thread->sampler;

	sampler->budget = offset + (int64_t)rate_draw(thread, sampler->period);
}

static bool is_wanted(const struct gc_heap *heap)
{
	if (__atomic_load_n(&heap->sampler.paused, __ATOMIC_RELAXED))
		return false;
	return heap->options.always_sample || probe_sample_listeners();
}

static uint64_t period_in_force(const struct gc_heap *heap)
{
	return __atomic_load_n(&heap->sampler.period, __ATOMIC_ACQUIRE);
}

/*
 * Does what depends on the clock, if anything does. Looking at it takes longer than the rest of a
 * slow path, and a program that allocates gigabytes a second comes by every few
 * hundred nanoseconds: so it is looked at each LOOK_NS or so, counted in polls
 * at the pace of the last ones.
 */
static void look_at_clock(struct gc_thread *thread)
{
	struct gc_thread_sampler *sampler = &thread->sampler;
	uint64_t now, passed, most;

	if (!batch_waiting(thread) && !rate_is_raised(thread->heap))
		return;
	if (++sampler->polls < sampler->polls_most)
		return;
	now = os_now();
	passed = now - sampler->looked + 1;
	most = sampler->polls * LOOK_NS / passed;
	sampler->polls_most = most < POLLS_MAX ? (uint32_t)most : POLLS_MAX;
	sampler->polls = 0;
	sampler->looked = now;
	batch_look(thread, now);
	rate_look(thread->heap);
}

/* Called in the slow path before it allocates; the thread's bytes are accounted. */
void sampler_poll(struct gc_thread *thread)
{
	struct gc_heap *heap = thread->heap;
	struct gc_thread_sampler *sampler = &thread->sampler;

	/* The store is dear, and news are rare. */
	if (__atomic_load_n(&thread->news, __ATOMIC_RELAXED))
		__atomic_store_n(&thread->news, 0, __ATOMIC_SEQ_CST);
	announce_poll(thread);
	if (sampler->on)
		look_at_clock(thread);
	if (!is_wanted(heap))
		return;
	rate_poll(heap);
	if (sampler->on)
		return;
	rate_start(heap);
	sampler->period = period_in_force(heap);
	draw(thread, 0);
	sampler->on = true;
}

void sampler_settle(struct gc_thread *thread)
{
	struct gc_thread_sampler *sampler = &thread->sampler;
	uint64_t period = period_in_force(thread->heap);

	if (!sampler->on)
		return;
	if (!is_wanted(thread->heap)) {
		batch_end(thread);
		rate_stop(thread->heap);
		sampler->on = false;
	} else if (period != sampler->period) {
		sampler->period = period;
		draw(thread, 0);
	}
}

/* Makes every thread look at the sampler's settings at its next allocation. */
static void notify(struct gc_heap *heap)
{
	heap_lock(heap);
	for (struct gc_thread *thread = heap->threads; thread; thread = thread->next) {
		__atomic_store_n(&thread->news, 1, __ATOMIC_SEQ_CST);
		limit_request(thread);
	}
	pthread_mutex_unlock(&heap->lock);
}

static void set_paused(struct gc_heap *heap, uint32_t paused)
{
	__atomic_store_n(&heap->sampler.paused, paused, __ATOMIC_RELAXED);
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
	rate_request(heap, period);
	notify(heap);
}

static void remember(struct gc_thread *thread, void *object, uint64_t id)
{
	struct gc_heap *heap = thread->heap;
	struct gc_sampled entry = {
		.object = object,
		.sample = id,
		.birth = heap_allocated(heap) + thread->uncounted,
		.minors = heap->stats.minor_collections,
	};

	if (probe_fate_listeners())
		fate_add(&thread->sampler.young, &entry);
}

static void take_sample(struct gc_thread *thread, void *object, size_t size)
{
	struct gc_heap *heap = thread->heap;
	uint32_t type = ((struct gc_header *)object)->type;
	uint64_t id = __atomic_add_fetch(&last_sample, 1, __ATOMIC_RELAXED);
	bool young = nursery_has(&heap->nursery, object);

	struct probe_sample sample = {
		.sample = id,
		.type = type_probe_id(heap, type),
		.size = size,
		.period = thread->sampler.period,
		.kind = young ? GCPROF_SAMPLE_NURSERY : GCPROF_SAMPLE_LARGE,
		.anchor = &thread->head.anchor,
	};

	announce_type(heap, type);
	if (!batch_take(thread, &sample))
		probe_sample(&sample);
	remember(thread, object, id);
	rate_count(heap);
}

/*
 * The first hit behind an object of `size` bytes that contains one. Those within
 * it are passed by without drawing them, since the distance forgets: a large
 * object and a short period would make it millions.
 */
static void pass_object(struct gc_thread *thread, int64_t size)
{
	struct gc_thread_sampler *sampler = &thread->sampler;
	int64_t period = (int64_t)sampler->period;

	if (thread->heap->options.fixed_stride)
		sampler->budget += ((size - sampler->budget) / period + 1) * period;
	else
		draw(thread, size);
}

/*
 * One object, one sample, however many hits it contains. A change of the period
 * takes effect behind the object: applied before it, an object that is here
 * because it contains a hit would lose it, and estimates would be biased.
 */
void sampler_allocated(struct gc_thread *thread, void *object, size_t size)
{
	struct gc_thread_sampler *sampler = &thread->sampler;
	uint64_t period;

	if (!sampler->on)
		return;
	if (sampler->budget <= (int64_t)size)
		take_sample(thread, object, size);
	period = period_in_force(thread->heap);
	if (period != sampler->period) {
		sampler->period = period;
		draw(thread, (int64_t)size);
	}
	if (thread->heap->options.fixed_stride == STRIDE_EVERY)
		sampler->budget = (int64_t)size + 1;
	if (sampler->budget <= (int64_t)size)
		pass_object(thread, (int64_t)size);
	sampler->budget -= (int64_t)size;
}

void sampler_forked(struct gc_heap *heap)
{
	struct gc_heap_sampler *sampler = &heap->sampler;

	pthread_mutex_init(&sampler->lock, NULL);
	sampler->on = false;
	sampler->old.count = 0;
	sampler->orphans.count = 0;
	summary_forked(heap);
	for (struct gc_thread *thread = heap->threads; thread; thread = thread->next) {
		thread->sampler.on = false;
		thread->sampler.young.count = 0;
		batch_forked(thread);
		seed_thread(thread);
	}
}

#else

void gc_sampling_pause(struct gc_heap *heap)
{
	(void)heap;
}

void gc_sampling_resume(struct gc_heap *heap)
{
	(void)heap;
}

void gc_sampling_set_period(struct gc_heap *heap, uint64_t period)
{
	(void)heap;
	(void)period;
}

#endif
