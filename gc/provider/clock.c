/* SPDX-License-Identifier: BSD-2-Clause */
/* clock.c: the sampling clock: decides which allocations are sampled, and takes the samples. */
/*
 * Number the bytes that a thread allocates in order. Every byte is a hit with
 * probability 1 - exp(-1/R), independently. An object that contains a hit is
 * sampled, so an object of s bytes is sampled with 1 - exp(-s/R), wherever it is.
 * The distance to the next hit is therefore an exponential variate of mean R,
 * rounded up. It is memoryless: drawing it anew at a point that was chosen without
 * knowledge of the future changes nothing. `budget` is that distance. An allocator
 * that folds it into its limit leaves the fast path only for the object that
 * contains the hit.
 *
 * Only bytes of objects count: tails of buffers are skipped, so the samples do not
 * depend on where buffers and collections happen to fall.
 */
#include "batch.h"
#include "control.h"
#include "data.h"
#include "otel.h"
#include "random.h"
#include "rate.h"
#include "system.h"

#define CHECK_NS  UINT64_C(200000)
#define POLLS_MAX 32 /* between two readings, if the program slows down: a MiB in buffers */

enum { POLL_BYTES = 32 << 10 }; /* gcprof_alloc() polls once in this many bytes */

/* Ids are unique in the process, across providers. */
static uint64_t last_sample;

/* Seeds the thread's generator, by its number in the order of attaching. */
void clock_seed(struct gcprof_thread *thread)
{
	struct gcprof_provider *provider = thread->provider;
	uint64_t number = __atomic_add_fetch(&provider->n_threads, 1, __ATOMIC_RELAXED);
	uint64_t seed = provider->options.seed;

	if (seed)
		seed ^= number * UINT64_C(0xd1342543de82ef95);
	else
		seed = system_random();
	random_seed(thread->random, seed);
}

static void draw(struct gcprof_thread *thread, int64_t offset)
{
	thread->head.budget = offset + (int64_t)rate_draw(thread, thread->period);
}

static bool is_wanted(const struct gcprof_provider *provider)
{
	if (__atomic_load_n(&provider->paused, __ATOMIC_RELAXED))
		return false;
	return provider->options.always_sample || probe_sample_consumers() || otel_wants_samples();
}

static uint64_t period_in_force(const struct gcprof_provider *provider)
{
	return __atomic_load_n(&provider->period, __ATOMIC_ACQUIRE);
}

/*
 * Does the work that depends on the clock, if there is any. Reading the clock takes longer than the
 * rest of a slow path, and a program that allocates gigabytes a second polls every few hundred
 * nanoseconds. So the clock is read about every CHECK_NS, estimated from the recent rate of polls.
 */
static void check_clock(struct gcprof_thread *thread)
{
	uint64_t now, passed, most;

	if (!batch_waiting(thread) && !rate_is_raised(thread->provider))
		return;
	if (++thread->polls < thread->polls_most)
		return;
	now = system_now();
	passed = now - thread->checked + 1;
	most = thread->polls * CHECK_NS / passed;
	thread->polls_most = most < POLLS_MAX ? (uint32_t)most : POLLS_MAX;
	thread->polls = 0;
	thread->checked = now;
	batch_check(thread, now);
	rate_check(thread->provider);
}

void clock_announce(struct gcprof_thread *thread, uint32_t event)
{
	thread->generation = control_generation();
	probe_thread(&(struct probe_thread){
		.heap = thread->provider->id,
		.anchor = thread_anchor(thread),
		.event = event,
	});
}

void gcprof_poll(struct gcprof_thread *thread)
{
	struct gcprof_provider *provider = thread->provider;

	if (__builtin_expect(thread->generation != control_generation(), 0))
		clock_announce(thread, GCPROF_THREAD_ANNOUNCE);
	if (thread->head.on)
		check_clock(thread);
	if (!is_wanted(provider))
		return;
	rate_poll(provider);
	if (thread->head.on)
		return;
	rate_start(provider);
	thread->period = period_in_force(provider);
	draw(thread, 0);
	thread->head.on = 1;
}

void gcprof_settle(struct gcprof_thread *thread)
{
	uint64_t period = period_in_force(thread->provider);

	if (!thread->head.on)
		return;
	if (!is_wanted(thread->provider)) {
		batch_end(thread);
		rate_stop(thread->provider);
		thread->head.on = 0;
	} else if (period != thread->period) {
		thread->period = period;
		draw(thread, 0);
	}
}

void gcprof_set_paused(struct gcprof_provider *provider, int paused)
{
	__atomic_store_n(&provider->paused, paused != 0, __ATOMIC_RELAXED);
}

static uint64_t take_sample(struct gcprof_thread *thread, size_t size, uint64_t type, uint32_t kind)
{
	struct probe_sample sample = {
		.sample = __atomic_add_fetch(&last_sample, 1, __ATOMIC_RELAXED),
		.type = type,
		.size = size,
		.period = thread->period,
		.kind = kind,
		.anchor = thread_anchor(thread),
	};

	if (!batch_take(thread, &sample))
		probe_sample(&sample);
	otel_sample(&sample);
	rate_count(thread->provider);
	return sample.sample;
}

/*
 * Draws the first hit after an object of `size` bytes that contains one. Hits
 * within the object are not drawn, since the distance is memoryless: a large
 * object and a short period would have millions.
 */
static void pass_object(struct gcprof_thread *thread, int64_t size)
{
	struct gcprof_thread_head *head = &thread->head;
	int64_t period = (int64_t)thread->period;

	if (thread->provider->options.fixed_stride)
		head->budget += ((size - head->budget) / period + 1) * period;
	else
		draw(thread, size);
}

/*
 * Takes one sample per object, however many hits it contains. A change of the
 * period takes effect after the object: if applied before, an object that is in
 * the slow path because it contains a hit would lose it, which biases estimates.
 */
uint64_t gcprof_allocated(struct gcprof_thread *thread, size_t size, uint64_t type, uint32_t kind)
{
	struct gcprof_thread_head *head = &thread->head;
	uint64_t period, sample = 0;

	if (!head->on)
		return 0;
	if (head->budget <= (int64_t)size)
		sample = take_sample(thread, size, type, kind);
	period = period_in_force(thread->provider);
	if (period != thread->period) {
		thread->period = period;
		draw(thread, (int64_t)size);
	}
	if (thread->provider->options.fixed_stride == GCPROF_STRIDE_EVERY)
		head->budget = (int64_t)size + 1;
	if (head->budget <= (int64_t)size)
		pass_object(thread, (int64_t)size);
	head->budget -= (int64_t)size;
	return sample;
}

void gcprof_typed(struct gcprof_thread *thread, uint64_t sample, uint64_t type)
{
	if (!batch_typed(thread, sample, type))
		probe_typed(&(struct probe_typed){.sample = sample, .type = type});
}

uint64_t gcprof_followed(void)
{
	struct probe_followed followed = {0};

	if (!probe_followed_consumers())
		return 0;
	followed.sample = __atomic_add_fetch(&last_sample, 1, __ATOMIC_RELAXED);
	probe_followed(&followed);
	return followed.sample;
}

/* Sets the countdown to end at the hit, or earlier to poll. */
static void arm(struct gcprof_thread *thread)
{
	int64_t left = gcprof_bytes_left(thread);

	thread->armed = left < POLL_BYTES ? left : POLL_BYTES;
	thread->head.countdown = thread->armed;
}

uint64_t gcprof_alloc_slow(struct gcprof_thread *thread, size_t size, uint64_t type, uint32_t kind)
{
	int64_t before = thread->armed - thread->head.countdown - (int64_t)size;
	uint64_t sample;

	gcprof_consume(thread, (size_t)before);
	gcprof_poll(thread);
	sample = gcprof_allocated(thread, size, type, kind);
	gcprof_settle(thread);
	arm(thread);
	return sample;
}
