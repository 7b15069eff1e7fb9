/* SPDX-License-Identifier: BSD-2-Clause */
/* lifecycle.c: creates and destroys providers and threads; fork and exit. */
#include "batch.h"
#include "data.h"
#include "names.h"

#include <errno.h>
#include <stdlib.h>

/* All providers of the process and their threads, guarded by `lock`. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct gcprof_provider *providers;
static uint64_t last_id;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

/* Takes all locks in one order, so that the child finds consistent data. */
static void fork_prepare(void)
{
	pthread_mutex_lock(&lock);
	names_lock();
}

static void fork_release(void)
{
	names_unlock();
	pthread_mutex_unlock(&lock);
}

/* The child has used this thread number (clock_seed()); the next child gets another one. */
static void fork_parent(void)
{
	for (struct gcprof_provider *provider = providers; provider; provider = provider->next)
		__atomic_fetch_add(&provider->n_threads, 1, __ATOMIC_RELAXED);
	fork_release();
}

static void thread_free(struct gcprof_thread *thread)
{
	batch_free(thread);
	free(thread);
}

/* Resets the remaining thread; its samples so far belong to the parent. */
static void thread_forked(struct gcprof_thread *thread)
{
	thread->head.on = 0;
	batch_forked(thread);
	clock_seed(thread);
}

static void provider_forked(struct gcprof_provider *provider)
{
	struct gcprof_thread **link = &provider->threads, *thread;

	/* A thread that was changing the period is gone. */
	pthread_mutex_init(&provider->lock, NULL);
	provider->on = false;
	/* Differs from the random numbers of the parent's next threads. */
	if (provider->options.seed)
		provider->options.seed ^= (provider->n_threads + 1) * UINT64_C(0xaef17502108ef2d9);
	collections_forked(provider);
	addresses_free(provider);
	while ((thread = *link)) {
		if (pthread_equal(thread->owner, pthread_self())) {
			thread_forked(thread);
			link = &thread->next;
		} else {
			*link = thread->next;
			thread_free(thread);
		}
	}
}

static void fork_child(void)
{
	for (struct gcprof_provider *provider = providers; provider; provider = provider->next)
		provider_forked(provider);
	fork_release();
}

static void watch_forks(void)
{
	pthread_atfork(fork_prepare, fork_parent, fork_child);
}

static void enlist(struct gcprof_provider *provider)
{
	pthread_once(&fork_once, watch_forks);
	pthread_mutex_lock(&lock);
	provider->id = ++last_id;
	provider->next = providers;
	providers = provider;
	pthread_mutex_unlock(&lock);
}

static void delist(struct gcprof_provider *provider)
{
	struct gcprof_provider **link = &providers;

	pthread_mutex_lock(&lock);
	while (*link != provider)
		link = &(*link)->next;
	*link = provider->next;
	pthread_mutex_unlock(&lock);
}

static int take_options(struct gcprof_provider *provider, const struct gcprof_options *given)
{
	struct gcprof_options *options = &provider->options;
	int result = 0;

	if (given)
		*options = *given;
	else
		result = gcprof_options_default(options);
	if (!result)
		result = provider_options_check(options);
	if (options->fixed_stride == GCPROF_STRIDE_EVERY) {
		options->period = 1;
		options->ceiling = UINT64_MAX;
	}
	return result;
}

int gcprof_open(const struct gcprof_options *options, struct gcprof_provider **out)
{
	struct gcprof_provider *provider = calloc(1, sizeof(*provider));
	int result;

	if (!provider)
		return gcprof_error_set(-ENOMEM, "gcprof_open: out of memory");
	result = take_options(provider, options);
	if (!result && names_gc(provider->options.gc_names, provider->options.n_gc_names))
		result = gcprof_error_set(-ENOMEM, "gcprof_open: out of memory");
	if (result) {
		free(provider);
		return result;
	}
	pthread_mutex_init(&provider->lock, NULL);
	provider->base_period = provider->options.period;
	provider->period = provider->base_period;
	provider->ceiling = provider->options.ceiling;
	provider->collection.phase = GCPROF_PHASE_SCANNING;
	provider->summary.phase = GCPROF_PHASE_SCANNING;
	enlist(provider);
	names_provider(provider->options.name, provider->options.version,
		       provider->options.refused);
	*out = provider;
	return 0;
}

void gcprof_close(struct gcprof_provider *provider)
{
	if (!provider)
		return;
	delist(provider);
	pthread_mutex_destroy(&provider->lock);
	addresses_free(provider);
	free(provider);
}

int gcprof_thread_attach(struct gcprof_provider *provider, const struct gc_anchor *anchor,
			 struct gcprof_thread **out)
{
	struct gcprof_thread *thread = calloc(1, sizeof(*thread));

	if (!thread)
		return gcprof_error_set(-ENOMEM, "gcprof_thread_attach: out of memory");
	thread->provider = provider;
	thread->owner = pthread_self();
	thread->anchor = anchor ? anchor : &thread->no_frames;
	pthread_mutex_lock(&lock);
	thread->next = provider->threads;
	provider->threads = thread;
	pthread_mutex_unlock(&lock);
	clock_seed(thread);
	clock_announce(thread, GCPROF_THREAD_ATTACH);
	gcprof_poll(thread);
	*out = thread;
	return 0;
}

void gcprof_thread_detach(struct gcprof_thread *thread)
{
	struct gcprof_thread **link = &thread->provider->threads;

	batch_flush(thread);
	clock_announce(thread, GCPROF_THREAD_DETACH);
	pthread_mutex_lock(&lock);
	while (*link != thread)
		link = &(*link)->next;
	*link = thread->next;
	pthread_mutex_unlock(&lock);
	thread_free(thread);
}

void gcprof_flush(struct gcprof_thread *thread)
{
	batch_flush(thread);
}

/* At exit: reports this thread's samples. Those of other threads are lost, unless they are detached
 * or blocked. */
__attribute__((destructor)) static void flush_own(void)
{
	if (pthread_mutex_trylock(&lock))
		return;
	for (struct gcprof_provider *provider = providers; provider; provider = provider->next)
		for (struct gcprof_thread *thread = provider->threads; thread;
		     thread = thread->next)
			if (pthread_equal(thread->owner, pthread_self()))
				batch_flush(thread);
	pthread_mutex_unlock(&lock);
}
