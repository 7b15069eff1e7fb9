/* SPDX-License-Identifier: BSD-2-Clause */
/* announce.c: tells a profiler what was there before it: types, managed functions, threads. */
/*
 * A profiler has arrived when a probe has more consumers than at the last check.
 * Each arrival begins an epoch; whatever was announced in an earlier one is
 * announced again when it is next used. Each probe has epochs of its own: a
 * tracer attaches them one after another, and may want few of them.
 *
 * The kernel counts a tracer before its breakpoint is in the code, so what is
 * announced at once may reach no consumer. A profiler that takes samples attaches
 * `sample` behind the rest: when that gets a consumer, all is announced once more.
 * A consumer that comes while another is attached is not counted at all, nor is one that comes
 * after another left, if no thread checked in between; both may say so (frame.h), to the same
 * effect.
 */
#include "internal.h"

struct audience {
	uint32_t listeners; /* when we last looked; atomic */
	uint32_t epoch;     /* arrivals so far; atomic */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct audience of_types, of_codes, of_threads, of_samples;
static uint32_t arrivals; /* when we last looked; atomic */

static uint32_t epoch_of(const struct audience *audience)
{
	return __atomic_load_n(&audience->epoch, __ATOMIC_ACQUIRE);
}

static void begin_epoch(struct audience *audience)
{
	__atomic_add_fetch(&audience->epoch, 1, __ATOMIC_RELEASE);
}

/* A consumer came or went: notes how many are attached now; true if one came. */
static __attribute__((noinline)) bool count(struct audience *audience, uint32_t now)
{
	bool came;

	pthread_mutex_lock(&lock);
	came = now > audience->listeners;
	if (came)
		begin_epoch(audience);
	__atomic_store_n(&audience->listeners, now, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&lock);
	return came;
}

/* True if somebody came. Inline: this is what an unprofiled program does for each buffer. */
static inline bool notice(struct audience *audience, uint32_t now)
{
	if (__builtin_expect(now == __atomic_load_n(&audience->listeners, __ATOMIC_RELAXED), 1))
		return false;
	return count(audience, now);
}

static void fire_thread(struct gcprof_thread *thread, uint32_t event)
{
	thread->announced = epoch_of(&of_threads);
	probe_thread(&(struct probe_thread){
		.heap = thread->provider->id,
		.anchor = thread->anchor,
		.event = event,
	});
}

/* True, to one thread, if somebody said that it came. */
static bool notice_arrivals(void)
{
	uint32_t now = sampler_arrivals();

	return __atomic_load_n(&arrivals, __ATOMIC_RELAXED) != now &&
	       __atomic_exchange_n(&arrivals, now, __ATOMIC_RELAXED) != now;
}

void announce_poll(struct gcprof_thread *thread)
{
	bool came = notice(&of_samples, probe_sample_listeners());

	came |= notice_arrivals();
	notice(&of_types, probe_type_listeners());
	notice(&of_threads, probe_thread_listeners());
	if (notice(&of_codes, probe_code_listeners()) || came)
		names_announce_codes();
	if (came) {
		begin_epoch(&of_types);
		begin_epoch(&of_threads);
	}
	if (thread->announced != epoch_of(&of_threads))
		fire_thread(thread, GCPROF_THREAD_ANNOUNCE);
}

/* Before a sample of this type. Two threads may both announce it: no harm. */
void announce_type(struct gcprof_provider *provider, uint64_t type)
{
	struct type_name *known = names_type(provider, type);
	uint32_t epoch = epoch_of(&of_types);

	if (!known || __atomic_load_n(&known->epoch, __ATOMIC_RELAXED) == epoch)
		return;
	__atomic_store_n(&known->epoch, epoch, __ATOMIC_RELAXED);
	probe_type(&(struct probe_type){.type = type, .name = known->name});
}

void announce_attach(struct gcprof_thread *thread)
{
	notice(&of_threads, probe_thread_listeners());
	fire_thread(thread, GCPROF_THREAD_ATTACH);
}

void announce_detach(struct gcprof_thread *thread)
{
	fire_thread(thread, GCPROF_THREAD_DETACH);
}

/* Around a fork: the child finds no count half changed. */
void announce_lock(void)
{
	pthread_mutex_lock(&lock);
}

void announce_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

/* The child of a fork is another process to a profiler: it starts over. */
void announce_forked(void)
{
	of_types.listeners = 0;
	of_codes.listeners = 0;
	of_threads.listeners = 0;
	of_samples.listeners = 0;
}
