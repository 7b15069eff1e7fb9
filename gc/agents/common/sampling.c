/* SPDX-License-Identifier: BSD-2-Clause */
/* sampling.c: decides which allocations are sampled, and tracks their outcomes. */
/*
 * A thread counts down the bytes to its next sample, or to the next check for a recorder. The block
 * that ends the countdown gets here. A sampled block is placed in the region, where free() and
 * realloc() find its sample; all others come from the next allocator.
 *
 * While the agent runs (`inside`), its own allocations bypass it; so do those of a signal handler.
 */
#include "sampling.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "region.h"

enum {
	POLL_BYTES = 128 << 10, /* allocated between checks for a recorder or a new period */
	RETRY_BYTES = 32 << 10, /* allocated before the second attempt to find a type */
	TRIES = 2,              /* attempts to find a type */
};

#define TYPED_MAX_NS UINT64_C(80000000) /* a type found later is not reported */

enum state { WAITING, SAMPLING, PASSIVE };

__thread struct sampling_thread sampling_thread;

static enum state state; /* set once, before the program has other threads */
static struct gcprof_provider *provider;
static uint64_t types[SAMPLING_TYPES];
static bool has_type[SAMPLING_TYPES]; /* the type is known at the allocation */
static pthread_key_t ending;
static uint32_t region_wanted; /* a thread creates the region, or has */
static uint64_t allocated;     /* bytes, in the process while recorded: the clock of ages; atomic */
static uint64_t settled;       /* ends of blocks born up to this time are not reported */

/* A request to an allocator. */
struct request {
	size_t size, alignment; /* 0: any */
	uint32_t type;          /* may include SAMPLING_ZEROED */
};

/* --- begin and end ------------------------------------------------------------- */

/* If this fails there is no region, and no block is tracked. */
static void ensure_region(void)
{
	if (!__atomic_exchange_n(&region_wanted, 1, __ATOMIC_RELAXED))
		region_create();
}

/* The samples so far belong to the parent, including one that waits for its type. */
static void forked(void)
{
	region_forked();
	settled = allocated;
	sampling_thread.untyped = NULL;
}

/* Other destructors may allocate and free, so the thread is detached in their last round. */
static void thread_ends(void *context)
{
	struct sampling_thread *thread = context;

	if (++thread->endings < PTHREAD_DESTRUCTOR_ITERATIONS &&
	    !pthread_setspecific(ending, thread))
		return;
	thread->endings = PTHREAD_DESTRUCTOR_ITERATIONS;
	thread->untyped = NULL;
	thread->inside++;
	gcprof_thread_detach(thread->thread);
	thread->thread = NULL;
	thread->left = thread->armed = 0;
	thread->inside--;
}

/* Samples are not batched: another thread may free a block at once, and a process may end by
 * _exit(). Calls getrandom() now, since a program may forbid itself that system call later. */
static int open_provider(const char *name, uint64_t ceiling)
{
	struct gcprof_options options;
	int err = gcprof_options_default(&options);

	options.no_batching = 1;
	options.name = name;
	options.version = GCPROF_VERSION;
	if (ceiling && !getenv("GCPROF_CEILING"))
		options.ceiling = ceiling;
	if (!options.seed &&
	    getrandom(&options.seed, sizeof(options.seed), GRND_NONBLOCK) != sizeof(options.seed))
		options.seed = 0;
	err = err ? err : gcprof_open(&options, &provider);
	err = err ? err : -pthread_key_create(&ending, thread_ends);
	return err ? err : -pthread_atfork(NULL, NULL, forked);
}

/* Earlier allocations are not sampled. */
int sampling_start(const char *agent, uint64_t ceiling, const char *const *names, size_t n)
{
	int saved = errno, err;

	sampling_thread.inside++;
	err = open_provider(agent, ceiling);
	for (size_t i = 0; !err && i < n; i++) {
		has_type[i] = names[i] != NULL;
		types[i] = names[i] ? gcprof_type(provider, names[i]) : 0;
	}
	state = err ? PASSIVE : SAMPLING;
	if (!err && getenv("GCPROF_RECORD"))
		ensure_region();
	sampling_thread.inside--;
	errno = saved;
	return err;
}

/* The reason is a part of the version (PROBES.md). */
void sampling_refuse(const char *agent, const char *why)
{
	static char version[256];
	struct gcprof_options options;
	struct gcprof_provider *reports;
	int saved = errno;

	sampling_thread.inside++;
	snprintf(version, sizeof(version), "%s: %s", GCPROF_VERSION, why);
	if (!gcprof_options_default(&options)) {
		options.name = agent;
		options.version = version;
		gcprof_open(&options, &reports);
	}
	state = PASSIVE;
	sampling_thread.inside--;
	errno = saved;
}

/* A block that another thread allocates meanwhile may be counted either way. */
void sampling_program_ends(void)
{
	settled = __atomic_load_n(&allocated, __ATOMIC_RELAXED);
}

uint64_t sampling_type(const char *name)
{
	return gcprof_type(provider, name);
}

/* --- threads ------------------------------------------------------------------- */

static bool attach(struct sampling_thread *thread)
{
	if (thread->thread || thread->endings)
		return thread->thread != NULL;
	if (!gcprof_thread_attach(provider, NULL, &thread->thread) &&
	    pthread_setspecific(ending, thread)) {
		gcprof_thread_detach(thread->thread);
		thread->thread = NULL;
	}
	return thread->thread != NULL;
}

/* --- types that are known later ---------------------------------------------------- */

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Looks for the type in a recently allocated block, which may contain it by now. */
static void find_type(struct sampling_thread *thread, bool last)
{
	const struct block *block = region_block(thread->untyped);
	uint64_t type = 0;

	last = last || ++thread->untyped_tries >= TRIES;
	/* It may have been freed, or resized. */
	if (!block || block->sample != thread->untyped_sample ||
	    now_ns() - thread->untyped_since > TYPED_MAX_NS) {
		thread->untyped = NULL;
		return;
	}
	type = thread->untyped_next->find_type(thread->untyped, block->size, last);
	if (type)
		gcprof_typed(thread->thread, thread->untyped_sample, type);
	if (type || last)
		thread->untyped = NULL;
}

/* Remembers a sample whose type is to be found later. */
static void await_type(struct sampling_thread *thread, const struct sampling_next *next,
		       const void *place, uint64_t sample)
{
	thread->untyped = place;
	thread->untyped_sample = sample;
	thread->untyped_since = now_ns();
	thread->untyped_next = next;
	thread->untyped_tries = 0;
}

/* --- samples ----------------------------------------------------------------------- */

/* Enters the agent. False: the allocation bypasses it. */
static bool enter(struct sampling_thread *thread)
{
	if (thread->inside || state == WAITING)
		return false;
	if (state == PASSIVE) {
		thread->left = UINT64_MAX;
		return false;
	}
	thread->inside++;
	if (!attach(thread)) {
		thread->inside--;
		return false;
	}
	if (thread->untyped)
		find_type(thread, false);
	return true;
}

/* Leaves the agent. Sets the countdown to the next hit, or earlier for the next check. */
static void leave(struct sampling_thread *thread)
{
	int64_t left, most = POLL_BYTES;

	gcprof_settle(thread->thread);
	left = gcprof_bytes_left(thread->thread) - 1;
	if (thread->untyped)
		most = thread->untyped_tries ? RETRY_BYTES : 0;
	left = left < most ? left : most;
	thread->left = thread->armed = left > 0 ? (uint64_t)left : 0;
	thread->inside--;
}

/* Accounts the bytes allocated since the last call and a new block of `size` bytes; true if the
 * block is sampled. */
static bool is_hit(struct sampling_thread *thread, size_t size)
{
	uint64_t passed = thread->armed - thread->left;

	thread->armed = thread->left;
	gcprof_consume(thread->thread, passed);
	gcprof_poll(thread->thread);
	/* Only samples have ages. */
	if (gcprof_head(thread->thread)->on)
		__atomic_fetch_add(&allocated, passed + size, __ATOMIC_RELAXED);
	return size <= PTRDIFF_MAX && gcprof_bytes_left(thread->thread) <= (int64_t)size;
}

/* Reports an allocation. `place`: its block in the region; NULL: it is not tracked. */
static void take(struct sampling_thread *thread, const struct sampling_next *next,
		 const struct request *request, const void *place)
{
	uint32_t type = request->type % SAMPLING_TYPES;
	uint64_t sample = gcprof_allocated(thread->thread, request->size, types[type],
					   place ? GCPROF_SAMPLE_MANUAL : GCPROF_SAMPLE_FOREIGN);
	struct block *block;

	if (!place)
		return;
	block = region_block(place);
	block->sample = sample;
	block->born = __atomic_load_n(&allocated, __ATOMIC_RELAXED);
	if (sample && !has_type[type])
		await_type(thread, next, place, sample);
}

/* --- allocation ------------------------------------------------------------------ */

static void *allocate_next(const struct sampling_next *next, const struct request *request)
{
	return next->allocate(next->context, request->size, request->alignment,
			      request->type & SAMPLING_ZEROED);
}

static void *allocate_in_region(const struct sampling_next *next, const struct request *request)
{
	size_t head = has_type[request->type % SAMPLING_TYPES] ? 0 : SAMPLING_HEAD;
	bool zeroed;
	void *place;

	ensure_region();
	place = region_alloc(request->size, request->alignment, &zeroed);
	if (place && !zeroed)
		memset(place, 0,
		       request->type & SAMPLING_ZEROED && request->size > head ? request->size
									       : head);
	return place && next->adopt ? next->adopt(next->context, place) : place;
}

/* Releases a block of the region in the same way as all blocks. */
static void release(const struct sampling_next *next, void *place)
{
	if (next->adopt)
		next->free(next->context, place);
	else
		gcprof_sampling_free(place);
}

void *gcprof_sampling_allocate(const struct sampling_next *next, size_t size, size_t alignment,
			       uint32_t type)
{
	const struct request request = {size, alignment, type};
	struct sampling_thread *thread = &sampling_thread;
	void *place = NULL;
	int saved = errno;

	if (!enter(thread))
		return allocate_next(next, &request);
	if (is_hit(thread, size))
		place = allocate_in_region(next, &request);
	if (place) {
		take(thread, next, &request, place);
	} else {
		errno = saved;
		place = allocate_next(next, &request);
		saved = errno;
		if (place)
			take(thread, next, &request, NULL);
	}
	leave(thread);
	errno = saved;
	return place;
}

/* --- free ------------------------------------------------------------------------ */

/* Bytes allocated by the process, except for other threads' last bytes. */
static uint64_t age_clock(const struct sampling_thread *thread)
{
	uint64_t passed = gcprof_head(thread->thread)->on ? thread->armed - thread->left : 0;

	return __atomic_load_n(&allocated, __ATOMIC_RELAXED) + passed;
}

/* Reports the end of the block's sample, if it has one taken by this process. */
static void report_freed(struct sampling_thread *thread, struct block *block)
{
	struct gcprof_fate fate = {.sample = block->sample, .outcome = GCPROF_FREED};

	block->sample = 0;
	if (!fate.sample || block->born <= settled || !thread->thread)
		return;
	fate.age = age_clock(thread) - block->born + 1;
	gcprof_outcomes(thread->thread, &fate, 1);
}

/* The block at an address that the program passed. */
static struct block *block_at(const void *place)
{
	struct block *block = region_block(place);

	if (!block)
		abort(); /* as in the C library: an invalid or freed block in the region */
	return block;
}

void gcprof_sampling_free(void *place)
{
	struct sampling_thread *thread = &sampling_thread;
	struct block *block = block_at(place);
	int saved = errno;

	if (!thread->thread && !thread->inside) {
		thread->inside++;
		attach(thread);
		thread->inside--;
	}
	if (thread->untyped == place)
		find_type(thread, true);
	report_freed(thread, block);
	if (!region_free(place))
		abort();
	errno = saved;
}

/* --- resize ---------------------------------------------------------------------- */

/* A block of the region stays if the new size fits in its slot and uses enough of it, so that a
 * block that grows step by step is rarely copied. */
static bool stays(const void *place, size_t size)
{
	return region_has(place) && size <= region_room(place) && size >= region_room(place) / 4;
}

/* Moves a block of the region to `to`. */
static void *leave_region(const struct sampling_next *next, void *old, void *to, size_t size)
{
	size_t before = block_at(old)->size;

	if (!to)
		return NULL;
	memcpy(to, old, before < size ? before : size);
	release(next, old);
	return to;
}

/* Resizes a block without a sample: the result belongs to the next allocator. */
static void *reallocate_next(const struct sampling_next *next, void *old,
			     const struct request *request)
{
	if (!region_has(old))
		return next->reallocate(next->context, old, request->size);
	return leave_region(next, old, allocate_next(next, request), request->size);
}

/* Makes a block of the next allocator a sample; NULL: it is unchanged. */
static void *enter_region(const struct sampling_next *next, void *old,
			  const struct request *request)
{
	size_t copied = request->size, before;
	void *place = allocate_in_region(next, request);

	if (!place)
		return NULL;
	if (next->usable_size) {
		before = next->usable_size(next->context, old);
		copied = before < copied ? before : copied;
	} else {
		void *grown = next->reallocate(next->context, old, request->size);

		if (!grown) {
			release(next, place);
			return NULL;
		}
		old = grown;
	}
	memcpy(place, old, copied);
	next->free(next->context, old);
	return place;
}

static void *reallocate(struct sampling_thread *thread, const struct sampling_next *next, void *old,
			const struct request *request, bool hit)
{
	struct block *block;
	void *place = NULL;

	if (stays(old, request->size)) {
		block = block_at(old);
		report_freed(thread, block);
		block->size = request->size;
		return old;
	}
	if (hit && region_has(old)) {
		place = allocate_in_region(next, request);
		place = place ? leave_region(next, old, place, request->size) : NULL;
	} else if (hit) {
		place = enter_region(next, old, request);
	}
	return place ? place : reallocate_next(next, old, request);
}

void *gcprof_sampling_reallocate(const struct sampling_next *next, void *old, size_t size,
				 uint32_t type)
{
	const struct request request = {size, 0, type};
	struct sampling_thread *thread = &sampling_thread;
	int saved = errno;
	void *place;
	bool hit;

	if (!enter(thread))
		return reallocate_next(next, old, &request);
	hit = is_hit(thread, size);
	place = reallocate(thread, next, old, &request, hit);
	if (place) {
		take(thread, next, &request, hit && region_has(place) ? place : NULL);
		errno = saved;
	}
	leave(thread);
	return place;
}
