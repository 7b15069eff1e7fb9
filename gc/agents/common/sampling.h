/* SPDX-License-Identifier: BSD-2-Clause */
/* sampling.h: samples allocations and tracks their outcomes, for agents that wrap an allocator. */
/*
 * An agent interposes the allocator's functions. Each calls sampling_passes(), and continues to the
 * allocator if that returns true, otherwise to gcprof_sampling_allocate(). Before a block is freed
 * for which live_may_have(), the agent calls gcprof_sampling_freed().
 *
 * The program gets nothing but blocks of its own allocator, so it does no harm where the program
 * calls that allocator without the agent.
 */
#ifndef GCPROF_AGENTS_SAMPLING_H
#define GCPROF_AGENTS_SAMPLING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../provider/provider.h"

/* The wrapped allocator. */
struct sampling_next {
	void *context; /* passed to its functions */
	void *(*allocate)(void *context, size_t size, size_t alignment, bool zeroed);
	/* A block that begins a page, for a sample: kept_take(), or of kept_size() bytes. NULL: no
	 * memory. */
	void *(*allocate_page)(void *context, size_t size, size_t alignment);
	void *(*reallocate)(void *context, void *block, size_t size);
	void (*free)(void *context, void *block); /* of any of these blocks */
	/* Returns the gcprof_type() of the object in a block of this size; 0: none yet. Called at
	 * the thread's next allocation, and some KiB later if there was none; `last`: this is the
	 * last call. NULL: types are known at the allocation. */
	uint64_t (*find_type)(const void *block, size_t size, bool last);
};

enum {
	SAMPLING_TYPES = 4,
	SAMPLING_ZEROED = 16, /* the block must be zeroed */
	SAMPLING_HEAD = 48,   /* bytes of a new block that read as 0 for find_type() until used */
};

/* Per-thread data of the agent. */
struct sampling_thread {
	uint64_t left;                /* bytes that may be allocated before the slow path */
	uint64_t armed;               /* initial value of `left` */
	struct gcprof_thread *thread; /* NULL: not attached yet, or not any more */
	uint32_t inside;              /* the agent is running: allocations are its own */
	uint32_t endings;             /* calls of the thread's destructor so far */
	const void *untyped;          /* a block whose type is unknown so far, or NULL */
	uint64_t untyped_sample;      /* its sample */
	size_t untyped_size;          /* its size */
	uint64_t untyped_since;       /* time of the sample, ns */
	const struct sampling_next *untyped_next;
	uint32_t untyped_tries;
};

extern __thread struct sampling_thread sampling_thread
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

/*
 * Starts sampling; called once, in the constructor of the agent. `agent` is its name in reports.
 * `ceiling`: samples a second, unless the environment sets one; 0: the provider's default. `names`:
 * at most SAMPLING_TYPES names of types, NULL for types that are found later. Before this call, and
 * if it fails, all calls are passed on. 0, or a negative errno.
 */
int sampling_start(const char *agent, uint64_t ceiling, const char *const *names, size_t n);

/* Instead, or later, for an agent that cannot work in this program: all calls are passed on for
 * good. Reports why to recorders. */
void sampling_refuse(const char *agent, enum gcprof_refusal why);

/* Returns a type's id, for find_type(); 0: there are too many types. */
uint64_t sampling_type(const char *name);

/* Subtracts in memory, in one instruction where the compiler would load, subtract and store.
 * Returns the borrow. */
static inline bool sampling_count_down(uint64_t *left, uint64_t size)
{
	bool borrow;

#ifdef __x86_64__
	__asm__("subq %2, %0" : "+m"(*left), "=@ccb"(borrow) : "er"(size));
#else
	borrow = __builtin_sub_overflow(*left, size, left);
#endif
	return borrow;
}

/* Whether `size` bytes may be allocated on the fast path; if so, counts them. */
static inline bool sampling_passes(size_t size)
{
	uint64_t *left = &sampling_thread.left;

	if (__builtin_expect(!sampling_count_down(left, size), 1))
		return true;
	*left += size;
	return false;
}

/*
 * The slow path, when sampling_passes() returned false: allocates a sampled block, or one of the
 * next allocator. `alignment`: a power of two, or 0: any. `type`: an index into the names of
 * sampling_start(), with SAMPLING_ZEROED if needed. NULL: no memory.
 */
void *gcprof_sampling_allocate(const struct sampling_next *next, size_t size, size_t alignment,
			       uint32_t type);

/* The same for resizing a block `old`, not NULL, which may be a sample. `size` is not 0. */
void *gcprof_sampling_reallocate(const struct sampling_next *next, void *old, size_t size,
				 uint32_t type);

/* The program ends, and frees everything only for that: blocks allocated until now count as live at
 * the end, so their ends are not reported. */
void sampling_program_ends(void);

/* The program frees a block for which live_may_have(): reports that if it is a sample. False: the
 * allocator must free it. */
bool gcprof_sampling_freed(void *block);

#endif
