/* SPDX-License-Identifier: BSD-2-Clause */
/* sampling.c: decides which allocations are sampled, and tracks their outcomes. */
/*
 * A thread counts down the bytes to its next sample, or to the next check for a recorder. The block
 * that ends the countdown gets here. It is a sample if it begins a page, where free() and realloc()
 * find it in the table of live samples. All blocks come from the next allocator.
 *
 * While the agent runs (`inside`), its own allocations bypass it; so do those of a signal handler.
 */
#include "sampling.h"

#include <errno.h>
#include <limits.h>
#include <linux/random.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "kept.h"
#include "live.h"

enum {
	POLL_BYTES = 128 << 10, /* allocated between checks for a recorder or a new period */
	RETRY_BYTES = 32 << 10, /* allocated before the second attempt to find a type */
	TRIES = 2,              /* attempts to find a type */
	LARGE = 128 << 10,      /* from this size on the C library may map a block of its own */
};

#define TYPED_MAX_NS UINT64_C(80000000) /* a type found later is not reported */

enum state { WAITING, SAMPLING, PASSIVE };

__thread struct sampling_thread sampling_thread;

static enum state state; /* set once, before the program has other threads */
static struct gcprof_provider *provider;
static uint64_t types[SAMPLING_TYPES];
static bool has_type[SAMPLING_TYPES]; /* the type is known at the allocation */
static pthread_key_t ending;
static uint64_t allocated; /* bytes, in the process while recorded: the clock of ages; atomic */
static uint64_t settled;   /* ends of blocks born up to this time are not reported */

/* A request to an allocator. */
struct request {
	size_t size, alignment; /* 0: any */
	uint32_t type;          /* may include SAMPLING_ZEROED */
};

/* --- begin and end ------------------------------------------------------------- */

/* The samples so far belong to the parent, including one that waits for its type. */
static void forked(void)
{
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

/* Valgrind executes a translation of this code, in which a breakpoint would end the program. It is
 * not recorded there, not even as refused. */
static bool is_translated(void)
{
	const char *preloaded = getenv("LD_PRELOAD");

	return preloaded && strstr(preloaded, "/vgpreload_");
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
	if (!options.seed && syscall(SYS_getrandom, &options.seed, sizeof(options.seed),
				     GRND_NONBLOCK) != sizeof(options.seed))
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
	err = is_translated() ? -ENOTSUP : open_provider(agent, ceiling);
	for (size_t i = 0; !err && i < n; i++) {
		has_type[i] = names[i] != NULL;
		types[i] = names[i] ? gcprof_type(provider, names[i]) : 0;
	}
	state = err ? PASSIVE : SAMPLING;
	sampling_thread.inside--;
	errno = saved;
	return err;
}

void sampling_refuse(const char *agent, enum gcprof_refusal why)
{
	struct gcprof_options options;
	struct gcprof_provider *reports;
	int saved = errno;

	sampling_thread.inside++;
	if (!is_translated() && !gcprof_options_default(&options)) {
		options.name = agent;
		options.version = GCPROF_VERSION;
		options.refused = why;
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
	uint64_t type;

	last = last || ++thread->untyped_tries >= TRIES;
	/* It may have been freed, or resized. */
	if (live_sample(thread->untyped) != thread->untyped_sample ||
	    now_ns() - thread->untyped_since > TYPED_MAX_NS) {
		thread->untyped = NULL;
		return;
	}
	type = thread->untyped_next->find_type(thread->untyped, thread->untyped_size, last);
	if (type)
		gcprof_typed(thread->thread, thread->untyped_sample, type);
	if (type || last)
		thread->untyped = NULL;
}

/* Remembers a sample whose type is to be found later. */
static void await_type(struct sampling_thread *thread, const struct sampling_next *next,
		       const void *place, size_t size, uint64_t sample)
{
	thread->untyped = place;
	thread->untyped_sample = sample;
	thread->untyped_size = size;
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

/* Bytes allocated by the process, except for other threads' last bytes. */
static uint64_t age_clock(const struct sampling_thread *thread)
{
	uint64_t passed = gcprof_head(thread->thread)->on ? thread->armed - thread->left : 0;

	return __atomic_load_n(&allocated, __ATOMIC_RELAXED) + passed;
}

/* Reports the end of a sample, unless another process took it. */
static void report_freed(struct sampling_thread *thread, const struct live *freed)
{
	struct gcprof_fate fate = {.sample = freed->sample, .outcome = GCPROF_FREED};

	if (!fate.sample || freed->born <= settled || !thread->thread)
		return;
	fate.age = age_clock(thread) - freed->born + 1;
	gcprof_outcomes(thread->thread, &fate, 1);
}

/* Reports an allocation. `place`: its block, which is followed if it begins a page, or NULL. */
static void take(struct sampling_thread *thread, const struct sampling_next *next,
		 const struct request *request, const void *place)
{
	uint32_t type = request->type % SAMPLING_TYPES;
	bool is_live = place && live_may_have(place) && live_reserve(place);
	struct live live;

	/* The program freed the block that was here, without the agent. */
	if (is_live) {
		live = live_take(place);
		report_freed(thread, &live);
	}
	live.sample = gcprof_allocated(thread->thread, request->size, types[type],
				       is_live ? GCPROF_SAMPLE_MANUAL : GCPROF_SAMPLE_FOREIGN);
	live.born = __atomic_load_n(&allocated, __ATOMIC_RELAXED);
	if (!is_live || !live.sample)
		return;
	live_add(place, &live);
	if (!has_type[type])
		await_type(thread, next, place, request->size, live.sample);
}

/* --- allocation ------------------------------------------------------------------ */

static void *allocate_next(const struct sampling_next *next, const struct request *request)
{
	return next->allocate(next->context, request->size, request->alignment,
			      request->type & SAMPLING_ZEROED);
}

/* Large zeroed blocks are often new pages, which nobody has to fill. The C library places these so
 * that they can be samples. */
static void *allocate_zeroed(const struct sampling_next *next, const struct request *request)
{
	void *place = NULL;

	if (request->size >= LARGE) {
		place = allocate_next(next, request);
		if (!place || live_may_have(place))
			return place;
		next->free(next->context, place);
	}
	place = next->allocate_page(next->context, request->size, request->alignment);
	return place ? memset(place, 0, request->size) : NULL;
}

/* Allocates a block that begins a page, unless the allocator refuses. */
static void *allocate_sample(const struct sampling_next *next, const struct request *request)
{
	bool has_head = !has_type[request->type % SAMPLING_TYPES];
	int saved = errno;
	void *place;

	if (request->type & SAMPLING_ZEROED) {
		place = allocate_zeroed(next, request);
	} else {
		place = next->allocate_page(next->context, request->size, request->alignment);
		if (place && has_head)
			memset(place, 0,
			       request->size < SAMPLING_HEAD ? request->size : SAMPLING_HEAD);
	}
	if (place)
		return place;
	errno = saved;
	return allocate_next(next, request);
}

void *gcprof_sampling_allocate(const struct sampling_next *next, size_t size, size_t alignment,
			       uint32_t type)
{
	const struct request request = {size, alignment, type};
	struct sampling_thread *thread = &sampling_thread;
	int saved = errno, err;
	bool hit;
	void *place;

	if (!enter(thread))
		return allocate_next(next, &request);
	hit = is_hit(thread, size);
	errno = saved;
	place = hit ? allocate_sample(next, &request) : allocate_next(next, &request);
	err = errno;
	if (place)
		take(thread, next, &request, hit ? place : NULL);
	leave(thread);
	errno = err;
	return place;
}

/* --- free ------------------------------------------------------------------------ */

bool gcprof_sampling_freed(void *block)
{
	struct sampling_thread *thread = &sampling_thread;
	int saved = errno;
	struct live freed;
	bool is_kept;

	if (!live_sample(block))
		return false;
	if (thread->untyped == block)
		find_type(thread, true);
	freed = live_take(block);
	if (freed.sample == KEPT_SAMPLE)
		abort(); /* a double free, as in the C library */
	if (!thread->thread && !thread->inside && state == SAMPLING) {
		thread->inside++;
		attach(thread);
		thread->inside--;
	}
	report_freed(thread, &freed);
	is_kept = freed.sample && kept_put(block);
	errno = saved;
	return is_kept;
}

/* --- resize ---------------------------------------------------------------------- */

/* Moves a block to the beginning of a page, if there is memory. */
static void *move_to_page(const struct sampling_next *next, void *old, size_t size)
{
	void *place = live_may_have(old) ? NULL : next->allocate_page(next->context, size, 0);

	if (!place)
		return old;
	memcpy(place, old, size);
	next->free(next->context, old);
	return place;
}

/* Other threads may use the old address at once, so the old sample is taken before. */
static void *resize(struct sampling_thread *thread, const struct sampling_next *next, void *old,
		    size_t size)
{
	struct live freed = {0, 0};
	void *place;

	if (live_may_have(old))
		freed = live_take(old);
	place = next->reallocate(next->context, old, size);
	if (place)
		report_freed(thread, &freed);
	else if (freed.sample)
		live_add(old, &freed);
	return place;
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
		return resize(thread, next, old, size);
	hit = is_hit(thread, size);
	place = resize(thread, next, old, size);
	if (place) {
		if (hit)
			place = move_to_page(next, place, size);
		take(thread, next, &request, hit ? place : NULL);
		errno = saved;
	}
	leave(thread);
	return place;
}
