/* SPDX-License-Identifier: BSD-2-Clause */
/* sampling.h: which allocations are sampled, and what became of them. */
#ifndef GCPROF_MALLOC_SAMPLING_H
#define GCPROF_MALLOC_SAMPLING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../provider/provider.h"

/* The types of samples: by which function the program asked. */
enum sampling_type { BY_MALLOC, BY_CALLOC, BY_REALLOC, BY_MEMALIGN, SAMPLING_TYPES };

/* What the agent has of each thread. */
struct sampling_thread {
	uint64_t left;  /* so many bytes, less one, may be allocated before sampling is asked */
	uint64_t armed; /* what `left` began with */
	struct gcprof_thread *thread; /* NULL: it has none yet, or none any more */
	uint32_t inside;              /* the agent is at work: it allocates for itself */
	uint32_t endings;             /* how often the thread's end was seen */
};

extern __thread struct sampling_thread sampling_thread __attribute__((tls_model("initial-exec")));

/* May `size` bytes be allocated without more ado? Counts them if so. */
static inline bool sampling_passes(size_t size)
{
	struct sampling_thread *thread = &sampling_thread;

	if (__builtin_expect(size >= thread->left, 0))
		return false;
	thread->left -= size;
	return true;
}

/*
 * Where sampling_passes() failed: a block, which is a sample if it has to be, or one of the next
 * allocator's. `alignment`: a power of two, or 0: any. NULL: no memory.
 */
void *gcprof_sampling_allocate(size_t size, size_t alignment, enum sampling_type type);

/* The same for a block that is there: not NULL, with `size` > 0. */
void *gcprof_sampling_reallocate(void *old, size_t size);

/* Frees a block of the region. */
void gcprof_sampling_free(void *block);

#endif
