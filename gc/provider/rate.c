/* SPDX-License-Identifier: BSD-2-Clause */
/* rate.c: the sampling period in force: requests, and the ceiling on samples. */
/*
 * Samples would slow down a program that allocates faster than expected. Dropping
 * some would bias every estimate, so the period is raised until they come at about
 * the ceiling's rate, and lowered again when the rate falls. Each sample carries
 * the period with which it was drawn, so estimates need not know about this.
 *
 * The rate is measured over windows of a fixed number of samples (a quota). A
 * window that fills in less time than the ceiling allows raises the period at
 * once; one that is not full after twice that time lowers it. A burst, such as a
 * text that grows by realloc(), may last for less than one window at the new rate,
 * so a window changes the period by a limited factor.
 */
#include "rate.h"
#include "control.h"
#include "data.h"
#include "random.h"
#include "system.h"

#define PERIOD_MAX  (UINT64_C(1) << 40)
#define GAP_MAX     (INT64_MAX / 4)
#define NO_CEILING  UINT64_MAX
#define QUOTA_MIN   32
#define WINDOWS     50 /* per second: at the ceiling a quota takes at least 20 ms */
#define CHANGE_MOST 4  /* the period's largest factor in one window, up or down */
#define NS_A_SECOND 1000000000.0
#define WAITING_MAX (10 * MS) /* waiting time in a batch, by default */

/* A recorder sorts events within 200 ms, and waiting may use only a part of that. */
enum { THRIFT_MAX = 16, THRIFT_WAITING = 4 };

uint64_t rate_draw(struct gcprof_thread *thread, uint64_t period)
{
	double gap;

	if (thread->provider->options.fixed_stride)
		return period;
	gap = random_exponential(thread->random) * (double)period;
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

static void start_window(struct gcprof_provider *provider)
{
	__atomic_store_n(&provider->window_count, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&provider->window_start, system_now(), __ATOMIC_RELAXED);
}

/* Fires the probe first, because no sample may carry an unreported period. */
static void set_period(struct gcprof_provider *provider, uint64_t period, uint32_t reason)
{
	probe_period(&(struct probe_period){
		.old_period = provider->on ? provider->period : 0,
		.new_period = period,
		.reason = reason,
	});
	__atomic_store_n(&provider->period, period, __ATOMIC_RELEASE);
	start_window(provider);
}

static void set_base(struct gcprof_provider *provider, uint64_t period)
{
	__atomic_store_n(&provider->base_period, period, __ATOMIC_RELAXED);
}

/* Adopts the recorders' requests; false if unchanged. */
static bool read_control(struct gcprof_provider *provider)
{
	uint64_t generation = control_generation();
	uint64_t period = provider->options.period, ceiling = provider->options.ceiling;
	struct asked asked;

	if (generation == provider->generation)
		return false;
	__atomic_store_n(&provider->generation, generation, __ATOMIC_RELAXED);
	if (provider->options.fixed_stride == GCPROF_STRIDE_EVERY)
		return false;
	asked = control_asked();
	if (asked.period && (!asked.any_period || asked.period < period))
		period = clamp_period((double)asked.period);
	if (asked.ceiling && (!asked.any_ceiling || asked.ceiling > ceiling))
		ceiling = asked.ceiling;
	if (period == provider->base_period && ceiling == provider->ceiling)
		return false;
	set_base(provider, period);
	__atomic_store_n(&provider->ceiling, ceiling, __ATOMIC_RELAXED);
	return true;
}

/* A request of the program; a recorder that asks later overrides it. */
void gcprof_set_period(struct gcprof_provider *provider, uint64_t period)
{
	if (provider->options.fixed_stride == GCPROF_STRIDE_EVERY)
		return;
	pthread_mutex_lock(&provider->lock);
	provider->options.period = clamp_period((double)period);
	set_base(provider, provider->options.period);
	if (provider->on && provider->period != provider->base_period)
		set_period(provider, provider->base_period, GCPROF_PERIOD_REQUEST);
	pthread_mutex_unlock(&provider->lock);
}

void rate_start(struct gcprof_provider *provider)
{
	pthread_mutex_lock(&provider->lock);
	if (!provider->on) {
		read_control(provider);
		set_period(provider, provider->base_period, GCPROF_PERIOD_START);
		provider->on = true;
	}
	pthread_mutex_unlock(&provider->lock);
}

void rate_stop(struct gcprof_provider *provider)
{
	pthread_mutex_lock(&provider->lock);
	if (provider->on) {
		probe_period(&(struct probe_period){
			.old_period = provider->period,
			.new_period = 0,
			.reason = GCPROF_PERIOD_STOP,
		});
		provider->on = false;
	}
	pthread_mutex_unlock(&provider->lock);
}

static uint64_t quota(const struct gcprof_provider *provider)
{
	uint64_t samples = __atomic_load_n(&provider->ceiling, __ATOMIC_RELAXED) / WINDOWS;

	return samples < QUOTA_MIN ? QUOTA_MIN : samples;
}

/* Closes the window if it is full or its time is over, and adapts the period. */
static void adapt(struct gcprof_provider *provider)
{
	uint64_t count = __atomic_load_n(&provider->window_count, __ATOMIC_RELAXED);
	double passed = (double)(system_now() - provider->window_start) + 1;
	double expected = (double)quota(provider) * NS_A_SECOND / (double)provider->ceiling;
	double ratio = (double)count / (double)quota(provider) * (expected / passed);
	uint64_t period;

	if (count < quota(provider) && passed < 2 * expected)
		return;
	if (ratio < 1.0 / CHANGE_MOST)
		ratio = 1.0 / CHANGE_MOST;
	if (ratio > CHANGE_MOST)
		ratio = CHANGE_MOST;
	period = clamp_period((double)provider->period * ratio);
	if (period < provider->base_period)
		period = provider->base_period;
	/* Small differences are noise: a quota of samples varies by a tenth or two. */
	if (ratio > 1.25 && period > provider->period)
		set_period(provider, period, GCPROF_PERIOD_CEILING);
	else if (ratio < 0.75 && period < provider->period)
		set_period(provider, period, GCPROF_PERIOD_RECOVERY);
	else
		start_window(provider);
}

static void adapt_locked(struct gcprof_provider *provider)
{
	/* Another thread is adapting it; no need to wait. */
	if (pthread_mutex_trylock(&provider->lock))
		return;
	if (provider->on && provider->ceiling != NO_CEILING)
		adapt(provider);
	pthread_mutex_unlock(&provider->lock);
}

void rate_poll(struct gcprof_provider *provider)
{
	if (control_generation() != __atomic_load_n(&provider->generation, __ATOMIC_RELAXED)) {
		pthread_mutex_lock(&provider->lock);
		if (provider->on && read_control(provider))
			set_period(provider, provider->base_period, GCPROF_PERIOD_REQUEST);
		pthread_mutex_unlock(&provider->lock);
	}
}

bool rate_is_raised(const struct gcprof_provider *provider)
{
	return __atomic_load_n(&provider->period, __ATOMIC_RELAXED) !=
	       __atomic_load_n(&provider->base_period, __ATOMIC_RELAXED);
}

uint64_t rate_thrift(const struct gcprof_provider *provider)
{
	uint64_t asked = __atomic_load_n(&provider->ceiling, __ATOMIC_RELAXED);
	uint64_t usual = provider->options.ceiling;

	if (usual == NO_CEILING || asked >= usual)
		return 1;
	return usual / asked < THRIFT_MAX ? usual / asked : THRIFT_MAX;
}

uint64_t rate_waiting_max(const struct gcprof_provider *provider)
{
	uint64_t thrift = rate_thrift(provider);

	return WAITING_MAX * (thrift < THRIFT_WAITING ? thrift : THRIFT_WAITING);
}

void rate_check(struct gcprof_provider *provider)
{
	if (rate_is_raised(provider))
		adapt_locked(provider);
}

void rate_count(struct gcprof_provider *provider)
{
	if (__atomic_add_fetch(&provider->window_count, 1, __ATOMIC_RELAXED) >= quota(provider))
		adapt_locked(provider);
}
