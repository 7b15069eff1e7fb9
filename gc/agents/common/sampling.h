/* SPDX-License-Identifier: BSD-2-Clause */
/* sampling.h: which allocations are sampled, and what became of them: for agents that wrap an
 * allocator. */
/*
 * An agent has functions in the place of the allocator's. Each asks sampling_passes(), and goes on
 * to the allocator if it says so, else to gcprof_sampling_allocate(). Where a block is freed or
 * resized, region_has() says whether it is the agent's.
 */
#ifndef GCPROF_AGENTS_SAMPLING_H
#define GCPROF_AGENTS_SAMPLING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../provider/provider.h"

/* The allocator that has all blocks but the sampled ones. */
struct sampling_next {
	void *context; /* for its functions */
	void *(*allocate)(void *context, size_t size, size_t alignment, bool zeroed);
	void *(*reallocate)(void *context, void *block, size_t size);
	void (*free)(void *context, void *block);
	/* The allocator takes a block of the region for one of its own, whose free() is `free`
	 * above and gets to gcprof_sampling_free(). NULL: it does not, and the block is free again.
	 * Without this function gcprof_sampling_free() is the only one for such blocks. */
	void *(*adopt)(void *context, void *block);
	/* How many bytes of a block may be copied; NULL: that cannot be known. */
	size_t (*usable_size)(void *context, void *block);
	/* The type of the object in a block of this size, as gcprof_type() names it; 0: there is
	 * none yet. Types are asked for when the thread allocates next, and some KiB later if there
	 * was none; `last`: for the last time. NULL: types are known before. */
	uint64_t (*find_type)(const void *block, size_t size, bool last);
};

enum {
	SAMPLING_TYPES = 4,
	SAMPLING_ZEROED = 16, /* the block is to be 0 */
	SAMPLING_HEAD = 48, /* bytes of a new block in which find_type() finds 0 until it is used */
};

/* What the agent has of each thread. */
struct sampling_thread {
	uint64_t left;                /* so many bytes may be allocated before sampling is asked */
	uint64_t armed;               /* what `left` began with */
	struct gcprof_thread *thread; /* NULL: it has none yet, or none any more */
	uint32_t inside;              /* the agent is at work: it allocates for itself */
	uint32_t endings;             /* how often the thread's end was seen */
	const void *untyped;          /* a block whose type is not known yet, or NULL */
	uint64_t untyped_sample;      /* its sample */
	uint64_t untyped_since;       /* when that was taken, ns */
	const struct sampling_next *untyped_next;
	uint32_t untyped_tries;
};

extern __thread struct sampling_thread sampling_thread
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

/*
 * Once, in the constructor of the agent, whose name reports show. `ceiling`: samples a second,
 * unless the environment has one; 0: the provider's. `names`: of types, NULL for those that are not
 * known before, and at most SAMPLING_TYPES. Until it was called, and if it fails, all calls are
 * passed on. 0, or a negative errno.
 */
int sampling_start(const char *agent, uint64_t ceiling, const char *const *names, size_t n);

/* The same for an agent that cannot work in this program: all calls are passed on for good. */
void sampling_refuse(void);

/* A type's id, for find_type(); 0: there are too many. */
uint64_t sampling_type(const char *name);

/* May `size` bytes be allocated without more ado? Counts them if so: the borrow of the subtraction
 * is the answer. */
static inline bool sampling_passes(size_t size)
{
	uint64_t *left = &sampling_thread.left;

	if (__builtin_expect(!__builtin_sub_overflow(*left, size, left), 1))
		return true;
	*left += size;
	return false;
}

/*
 * Where sampling_passes() failed: a block, which is a sample if it has to be, or one of the next
 * allocator's. `alignment`: a power of two, or 0: any. `type`: a row of sampling_start(), and
 * perhaps SAMPLING_ZEROED. NULL: no memory.
 */
void *gcprof_sampling_allocate(const struct sampling_next *next, size_t size, size_t alignment,
			       uint32_t type);

/* The same for a block that is there: not NULL. */
void *gcprof_sampling_reallocate(const struct sampling_next *next, void *old, size_t size,
				 uint32_t type);

/* Frees a block of the region. */
void gcprof_sampling_free(void *block);

#endif
