/* SPDX-License-Identifier: BSD-2-Clause */
/* sampling.c: which allocations are sampled, and what became of them. */
/*
 * A thread counts down the bytes to its next sample, or to the next time that it asks whether a
 * recorder came. The block that ends the countdown gets here. If it is sampled it lies in the
 * region, where free() and realloc() find its sample; all others are the next allocator's.
 *
 * While the agent is at work, `inside`, what it allocates itself goes past it; so does what a
 * signal handler allocates then.
 */
#include "sampling.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "next.h"
#include "region.h"

enum { POLL_BYTES = 32 << 10 }; /* may be allocated before a recorder is noticed */

enum state { WAITING, SAMPLING, PASSIVE };

__thread struct sampling_thread sampling_thread;

static enum state state; /* set once, before the program has other threads */
static struct gcprof_provider *provider;
static uint64_t types[SAMPLING_TYPES];
static pthread_key_t ending;
static uint32_t region_wanted; /* somebody creates it, or did */
static uint64_t
	allocated; /* by the process while it is recorded, bytes: the clock of ages; atomic */
static uint64_t inherited; /* blocks that were born until then belong to the parent */

/* What is asked of an allocator. */
struct request {
	size_t size, alignment; /* 0: any */
	enum sampling_type type;
};

/* --- begin and end ------------------------------------------------------------- */

/* Where it fails there is no region, and no block is followed. */
static void ensure_region(void)
{
	if (!__atomic_exchange_n(&region_wanted, 1, __ATOMIC_RELAXED))
		region_create();
}

static void forked(void)
{
	region_forked();
	inherited = allocated;
}

/* Destructors of others may allocate and free: the thread is detached in the last round of them. */
static void thread_ends(void *context)
{
	struct sampling_thread *thread = context;

	if (++thread->endings < PTHREAD_DESTRUCTOR_ITERATIONS &&
	    !pthread_setspecific(ending, thread))
		return;
	thread->endings = PTHREAD_DESTRUCTOR_ITERATIONS;
	thread->inside++;
	gcprof_thread_detach(thread->thread);
	thread->thread = NULL;
	thread->left = thread->armed = 0;
	thread->inside--;
}

/* Samples are not batched: another thread may free a block at once, and a process may end by
 * _exit(). The system is asked for randomness now, since a program may forbid itself to ask. */
static int open_provider(void)
{
	static const char *const names[] = {"malloc", "calloc", "realloc", "memalign"};
	struct gcprof_options options;
	int err = gcprof_options_default(&options);

	options.no_batching = 1;
	options.name = "gcprof-malloc";
	options.version = GCPROF_VERSION;
	if (!options.seed &&
	    getrandom(&options.seed, sizeof(options.seed), GRND_NONBLOCK) != sizeof(options.seed))
		options.seed = 0;
	err = err ? err : gcprof_open(&options, &provider);
	err = err ? err : -pthread_key_create(&ending, thread_ends);
	err = err ? err : -pthread_atfork(NULL, NULL, forked);
	for (int i = 0; !err && i < SAMPLING_TYPES; i++)
		types[i] = gcprof_type(provider, names[i]);
	return err;
}

/* What was allocated before is not sampled. */
__attribute__((constructor)) static void start(void)
{
	int saved = errno;

	sampling_thread.inside++;
	state = next_is_libc() && !open_provider() ? SAMPLING : PASSIVE;
	if (state == SAMPLING && getenv("GCPROF_RECORD"))
		ensure_region();
	sampling_thread.inside--;
	errno = saved;
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

/* False: this allocation has nothing to do with samples. */
static bool enter(struct sampling_thread *thread)
{
	if (thread->inside || state == WAITING)
		return false;
	if (state == PASSIVE) {
		thread->left = UINT64_MAX;
		return false;
	}
	thread->inside++;
	if (attach(thread))
		return true;
	thread->inside--;
	return false;
}

/* Sets the countdown: to the next hit, or early enough to ask again. */
static void leave(struct sampling_thread *thread)
{
	int64_t left;

	gcprof_settle(thread->thread);
	left = gcprof_bytes_left(thread->thread);
	thread->left = thread->armed = left < POLL_BYTES ? (uint64_t)left : POLL_BYTES;
	thread->inside--;
}

/* Counts what was allocated since the last time, and what is now. Is a block of `size` bytes
 * sampled? */
static bool is_hit(struct sampling_thread *thread, size_t size)
{
	uint64_t passed = thread->armed - thread->left;

	gcprof_consume(thread->thread, passed);
	gcprof_poll(thread->thread);
	/* Ages are wanted of samples only. */
	if (gcprof_head(thread->thread)->on)
		__atomic_fetch_add(&allocated, passed + size, __ATOMIC_RELAXED);
	return size <= PTRDIFF_MAX && gcprof_bytes_left(thread->thread) <= (int64_t)size;
}

/* The bytes were allocated; `block` is the region's, NULL: what becomes of them is not known. */
static void take(struct sampling_thread *thread, const struct request *request, struct block *block)
{
	uint64_t sample = gcprof_allocated(thread->thread, request->size, types[request->type],
					   block ? GCPROF_SAMPLE_MANUAL : GCPROF_SAMPLE_FOREIGN);

	if (!block)
		return;
	block->sample = sample;
	block->born = __atomic_load_n(&allocated, __ATOMIC_RELAXED);
}

/* --- allocation ------------------------------------------------------------------ */

static void *allocate_next(const struct request *request)
{
	if (request->type == BY_CALLOC)
		return next.calloc(1, request->size);
	return request->alignment ? next.memalign(request->alignment, request->size)
				  : next.malloc(request->size);
}

static void *allocate_in_region(const struct request *request)
{
	bool zeroed;
	void *place;

	ensure_region();
	place = region_alloc(request->size, request->alignment, &zeroed);
	if (place && request->type == BY_CALLOC && !zeroed)
		memset(place, 0, request->size);
	return place;
}

void *gcprof_sampling_allocate(size_t size, size_t alignment, enum sampling_type type)
{
	const struct request request = {size, alignment, type};
	struct sampling_thread *thread = &sampling_thread;
	void *place = NULL;
	int saved = errno;

	if (!enter(thread))
		return allocate_next(&request);
	if (is_hit(thread, size))
		place = allocate_in_region(&request);
	if (place) {
		take(thread, &request, region_block(place));
	} else {
		errno = saved;
		place = allocate_next(&request);
		saved = errno;
		if (place)
			take(thread, &request, NULL);
	}
	leave(thread);
	errno = saved;
	return place;
}

/* --- release --------------------------------------------------------------------- */

/* Its sample ends here, if it has one that this process took. */
static void report_freed(struct sampling_thread *thread, struct block *block)
{
	struct gcprof_fate fate = {.sample = block->sample, .outcome = GCPROF_FREED};

	block->sample = 0;
	if (!fate.sample || block->born <= inherited || !thread->thread)
		return;
	fate.age = __atomic_load_n(&allocated, __ATOMIC_RELAXED) - block->born + 1;
	gcprof_outcomes(thread->thread, &fate, 1);
}

/* The block at an address that the program says is one. */
static struct block *block_at(const void *place)
{
	struct block *block = region_block(place);

	if (!block)
		abort(); /* as the C library does: it is in the region, and is none, or is free */
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
	report_freed(thread, block);
	if (!region_free(place))
		abort();
	errno = saved;
}

/* --- another size ---------------------------------------------------------------- */

/* Where a block of the region may grow, and fills a part of its slot, it stays: as a block that
 * grows step by step does elsewhere. */
static bool stays(const void *place, size_t size)
{
	return region_has(place) && size <= region_room(place) && size >= region_room(place) / 4;
}

static void *move(void *old, void *to, size_t size)
{
	size_t before = region_has(old) ? block_at(old)->size : next.malloc_usable_size(old);

	if (!to)
		return NULL;
	memcpy(to, old, before < size ? before : size);
	if (region_has(old))
		gcprof_sampling_free(old);
	else
		next.free(old);
	return to;
}

/* Without a sample. */
static void *reallocate_next(void *old, size_t size)
{
	if (!region_has(old))
		return next.realloc(old, size);
	return move(old, next.malloc(size), size);
}

static void *reallocate(struct sampling_thread *thread, void *old, const struct request *request,
			bool hit)
{
	struct block *block;
	void *place;

	if (stays(old, request->size)) {
		block = block_at(old);
		report_freed(thread, block);
		block->size = request->size;
		return old;
	}
	place = hit ? allocate_in_region(request) : NULL;
	return place ? move(old, place, request->size) : reallocate_next(old, request->size);
}

void *gcprof_sampling_reallocate(void *old, size_t size)
{
	const struct request request = {.size = size, .type = BY_REALLOC};
	struct sampling_thread *thread = &sampling_thread;
	int saved = errno;
	void *place;
	bool hit;

	if (!enter(thread))
		return reallocate_next(old, size);
	hit = is_hit(thread, size);
	place = reallocate(thread, old, &request, hit);
	if (place) {
		take(thread, &request, hit && region_has(place) ? region_block(place) : NULL);
		errno = saved;
	}
	leave(thread);
	return place;
}
