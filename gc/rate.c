/* SPDX-License-Identifier: BSD-2-Clause */
/* rate.c: the sampling period in force: who asked for which, and the ceiling on samples. */
/*
 * A program that allocates faster than expected would be slowed down by its
 * samples. Instead of dropping some, which would bias every estimate, the
 * period is raised so that they come at about the ceiling's rate, and lowered
 * again when the rate falls. Each sample carries the period that it was drawn
 * with, so estimates need not know about any of this.
 *
 * The rate is measured over windows of a fixed number of samples (a quota):
 * a window that fills in less time than the ceiling allows raises the period at
 * once, one that is still not full after twice that time lowers it.
 */
#include "internal.h"

#if !GCPROF_NO_SAMPLING

#define PERIOD_MAX  (UINT64_C(1) << 40)
#define GAP_MAX     (INT64_MAX / 4)
#define NO_CEILING  UINT64_MAX
#define QUOTA_MIN   32
#define WINDOWS     50 /* a second: a quota comes to at least 20 ms at the ceiling */
#define LOWER_MOST  4  /* the period falls to a quarter at most in one window */
#define NS_A_SECOND 1000000000.0
#define MS          UINT64_C(1000000)
#define WAITING_MAX (10 * MS) /* for the batch, by default */

/* A recorder sorts what comes within 200 ms: not all of that may be spent on waiting. */
enum { THRIFT_MAX = 16, THRIFT_WAITING = 4 };

/* Bytes to the next hit, at least 1. */
uint64_t rate_draw(struct gc_thread *thread, uint64_t period)
{
	double gap;

	if (thread->heap->options.fixed_stride)
		return period;
	gap = random_exponential(thread->sampler.random) * (double)period;
	if (gap >= (double)GAP_MAX)
		return GAP_MAX;
	return (uint64_t)gap + ((double)(uint64_t)gap < gap || gap < 1);
}

static uint64_t clamp_period(double period)
{
	if (period < 1)
		return 1;
	return period > (double)PERIOD_MAX ? PERIOD_MAX : (uint64_t)period;
}

static void start_window(struct gc_heap_sampler *sampler)
{
	__atomic_store_n(&sampler->window_count, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&sampler->window_start, os_now(), __ATOMIC_RELAXED);
}

/* The probe fires first: no sample may carry a period that was not reported. */
static void set_period(struct gc_heap_sampler *sampler, uint64_t period, uint32_t reason)
{
	probe_period(&(struct probe_period){
		.old_period = sampler->on ? sampler->period : 0,
		.new_period = period,
		.reason = reason,
	});
	__atomic_store_n(&sampler->period, period, __ATOMIC_RELEASE);
	start_window(sampler);
}

static void set_base(struct gc_heap_sampler *sampler, uint64_t period)
{
	__atomic_store_n(&sampler->base_period, period, __ATOMIC_RELAXED);
}

/* What the control block asks for. Another process wrote it: take nothing on trust. */
static bool read_control(struct gc_heap *heap)
{
	struct gc_heap_sampler *sampler = &heap->sampler;
	uint32_t generation = __atomic_load_n(&gcprof_control.generation, __ATOMIC_ACQUIRE);
	uint64_t period, ceiling;

	if (generation == sampler->generation || heap->options.fixed_stride == STRIDE_EVERY)
		return false;
	period = __atomic_load_n(&gcprof_control.period, __ATOMIC_RELAXED);
	ceiling = __atomic_load_n(&gcprof_control.ceiling, __ATOMIC_RELAXED);
	/* Set back by a recorder that left: the program's own again. */
	if (!generation)
		ceiling = heap->options.ceiling;
	set_base(sampler, period ? clamp_period((double)period) : heap->options.period);
	__atomic_store_n(&sampler->ceiling, ceiling ? ceiling : NO_CEILING, __ATOMIC_RELAXED);
	__atomic_store_n(&sampler->generation, generation, __ATOMIC_RELAXED);
	return true;
}

/* The program asks; a recorder that asks later has its way again. */
void rate_request(struct gc_heap *heap, uint64_t period)
{
	struct gc_heap_sampler *sampler = &heap->sampler;

	if (heap->options.fixed_stride == STRIDE_EVERY)
		return;
	pthread_mutex_lock(&sampler->lock);
	heap->options.period = clamp_period((double)period);
	set_base(sampler, heap->options.period);
	if (sampler->on && sampler->period != sampler->base_period)
		set_period(sampler, sampler->base_period, GCPROF_PERIOD_REQUEST);
	pthread_mutex_unlock(&sampler->lock);
}

void rate_start(struct gc_heap *heap)
{
	struct gc_heap_sampler *sampler = &heap->sampler;

	pthread_mutex_lock(&sampler->lock);
	if (!sampler->on) {
		read_control(heap);
		set_period(sampler, sampler->base_period, GCPROF_PERIOD_START);
		sampler->on = true;
	}
	pthread_mutex_unlock(&sampler->lock);
}

void rate_stop(struct gc_heap *heap)
{
	struct gc_heap_sampler *sampler = &heap->sampler;

	pthread_mutex_lock(&sampler->lock);
	if (sampler->on) {
		probe_period(&(struct probe_period){
			.old_period = sampler->period,
			.new_period = 0,
			.reason = GCPROF_PERIOD_STOP,
		});
		sampler->on = false;
	}
	pthread_mutex_unlock(&sampler->lock);
}

static uint64_t quota(const struct gc_heap_sampler *sampler)
{
	uint64_t samples = __atomic_load_n(&sampler->ceiling, __ATOMIC_RELAXED) / WINDOWS;

	return samples < QUOTA_MIN ? QUOTA_MIN : samples;
}

/* Closes the window if it is full or over and sets the period that fits. */
static void adapt(struct gc_heap_sampler *sampler)
{
	uint64_t count = __atomic_load_n(&sampler->window_count, __ATOMIC_RELAXED);
	double passed = (double)(os_now() - sampler->window_start) + 1;
	double expected = (double)quota(sampler) * NS_A_SECOND / (double)sampler->ceiling;
	double ratio = (double)count / (double)quota(sampler) * (expected / passed);
	uint64_t period;

	if (count < quota(sampler) && passed < 2 * expected)
		return;
	if (ratio < 1.0 / LOWER_MOST)
		ratio = 1.0 / LOWER_MOST;
	period = clamp_period((double)sampler->period * ratio);
	if (period < sampler->base_period)
		period = sampler->base_period;
	/* Small differences are chance: a quota of samples varies by a tenth or two. */
	if (ratio > 1.25 && period > sampler->period)
		set_period(sampler, period, GCPROF_PERIOD_CEILING);
	else if (ratio < 0.75 && period < sampler->period)
		set_period(sampler, period, GCPROF_PERIOD_RECOVERY);
	else
		start_window(sampler);
}

static void adapt_locked(struct gc_heap_sampler *sampler)
{
	/* Somebody else is at it: there is nothing to wait for. */
	if (pthread_mutex_trylock(&sampler->lock))
		return;
	if (sampler->on && sampler->ceiling != NO_CEILING)
		adapt(sampler);
	pthread_mutex_unlock(&sampler->lock);
}

/* In slow paths while sampling is on: the recorder may have asked for another period. */
void rate_poll(struct gc_heap *heap)
{
	struct gc_heap_sampler *sampler = &heap->sampler;

	if (__atomic_load_n(&gcprof_control.generation, __ATOMIC_RELAXED) !=
	    __atomic_load_n(&sampler->generation, __ATOMIC_RELAXED)) {
		pthread_mutex_lock(&sampler->lock);
		if (sampler->on && read_control(heap))
			set_period(sampler, sampler->base_period, GCPROF_PERIOD_REQUEST);
		pthread_mutex_unlock(&sampler->lock);
	}
}

bool rate_is_raised(const struct gc_heap *heap)
{
	const struct gc_heap_sampler *sampler = &heap->sampler;

	return __atomic_load_n(&sampler->period, __ATOMIC_RELAXED) !=
	       __atomic_load_n(&sampler->base_period, __ATOMIC_RELAXED);
}

uint64_t rate_thrift(const struct gc_heap *heap)
{
	uint64_t asked = __atomic_load_n(&heap->sampler.ceiling, __ATOMIC_RELAXED);
	uint64_t usual = heap->options.ceiling;

	if (usual == NO_CEILING || asked >= usual)
		return 1;
	return usual / asked < THRIFT_MAX ? usual / asked : THRIFT_MAX;
}

uint64_t rate_waiting_max(const struct gc_heap *heap)
{
	uint64_t thrift = rate_thrift(heap);

	return WAITING_MAX * (thrift < THRIFT_WAITING ? thrift : THRIFT_WAITING);
}

/* Now and then: a period that was raised so far that no sample comes must still come down. */
void rate_look(struct gc_heap *heap)
{
	if (rate_is_raised(heap))
		adapt_locked(&heap->sampler);
}

/* A sample was taken. */
void rate_count(struct gc_heap *heap)
{
	struct gc_heap_sampler *sampler = &heap->sampler;

	__atomic_fetch_add(&sampler->samples, 1, __ATOMIC_RELAXED);
	if (__atomic_add_fetch(&sampler->window_count, 1, __ATOMIC_RELAXED) >= quota(sampler))
		adapt_locked(sampler);
}

#endif
