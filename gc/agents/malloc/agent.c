/* SPDX-License-Identifier: BSD-2-Clause */
/* agent.c: the functions of malloc(3) as the program calls them. */
/*
 * A block that is not a sample costs one subtraction here, and one test when it is freed, before
 * the next allocator handles it. Samples come from the next allocator, too. This file is compiled
 * so that a call at the end of a function is a jump: the stack of a sample has functions named
 * gcprof_*, then their callers. Functions built on others, such as reallocarray(), call them by
 * their public names, because the program may have replaced some of them.
 */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <unistd.h>

#include "../common/kept.h"
#include "../common/live.h"
#include "../common/sampling.h"
#include "next.h"

#define PUBLIC __attribute__((visibility("default")))
#define NAME   "gcprof-malloc" /* in reports */

/* The types of samples, after the function that the program called. */
enum type { BY_MALLOC, BY_CALLOC, BY_REALLOC, BY_MEMALIGN, TYPES };

static const char *const type_names[TYPES] = {"malloc", "calloc", "realloc", "memalign"};

static void *allocate_next(void *context, size_t size, size_t alignment, bool zeroed)
{
	(void)context;
	if (zeroed)
		return next.calloc(1, size);
	return alignment ? next.memalign(alignment, size) : next.malloc(size);
}

static void *allocate_page(void *context, size_t size, size_t alignment)
{
	void *kept;

	(void)context;
	if (next_is_hooked())
		return NULL;
	kept = kept_take(size, alignment);
	return kept ? kept
		    : next.memalign(alignment > LIVE_PAGE ? alignment : LIVE_PAGE, kept_size(size));
}

static void *reallocate_next(void *context, void *block, size_t size)
{
	(void)context;
	return next.realloc(block, size);
}

static void free_next(void *context, void *block)
{
	(void)context;
	next.free(block);
}

static const struct sampling_next others = {
	.allocate = allocate_next,
	.allocate_page = allocate_page,
	.reallocate = reallocate_next,
	.free = free_next,
};

__attribute__((constructor)) static void start(void)
{
	enum gcprof_refusal why = next_why_not();

	if (why)
		sampling_refuse(NAME, why);
	else
		sampling_start(NAME, 0, type_names, TYPES);
}

static bool is_power_of_two(size_t value)
{
	return value && !(value & (value - 1));
}

/* Whether it passes an aligned allocation on, perhaps to be refused. */
static bool passes(size_t alignment, size_t size)
{
	return sampling_passes(size) || !is_power_of_two(alignment);
}

static void *gcprof_memalign(size_t alignment, size_t size)
{
	if (passes(alignment, size))
		return next.memalign(alignment, size);
	return gcprof_sampling_allocate(&others, size, alignment, BY_MEMALIGN);
}

PUBLIC void *malloc(size_t size)
{
	if (sampling_passes(size))
		return next.malloc(size);
	return gcprof_sampling_allocate(&others, size, 0, BY_MALLOC);
}

/* Keeps free() itself free of a stack frame. */
static __attribute__((noinline)) void gcprof_free(void *block)
{
	if (!gcprof_sampling_freed(block))
		next.free(block);
}

PUBLIC void free(void *block)
{
	if (__builtin_expect(live_may_have(block), 0))
		gcprof_free(block);
	else
		next.free(block);
}

PUBLIC void *calloc(size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes) || sampling_passes(bytes))
		return next.calloc(count, size);
	return gcprof_sampling_allocate(&others, bytes, 0, BY_CALLOC | SAMPLING_ZEROED);
}

PUBLIC void *realloc(void *block, size_t size)
{
	if (block && !size) {
		if (live_may_have(block) && gcprof_sampling_freed(block))
			return NULL;
		return next.realloc(block, size);
	}
	if (block && live_may_have(block))
		return gcprof_sampling_reallocate(&others, block, size, BY_REALLOC);
	if (sampling_passes(size))
		return next.realloc(block, size);
	return block ? gcprof_sampling_reallocate(&others, block, size, BY_REALLOC)
		     : gcprof_sampling_allocate(&others, size, 0, BY_REALLOC);
}

PUBLIC void *reallocarray(void *block, size_t count, size_t size)
{
	size_t bytes;

	if (!__builtin_mul_overflow(count, size, &bytes))
		return realloc(block, bytes);
	errno = ENOMEM;
	return NULL;
}

PUBLIC void *memalign(size_t alignment, size_t size)
{
	return gcprof_memalign(alignment, size);
}

PUBLIC void *aligned_alloc(size_t alignment, size_t size)
{
	if (passes(alignment, size))
		return next.aligned_alloc(alignment, size);
	return gcprof_sampling_allocate(&others, size, alignment, BY_MEMALIGN);
}

PUBLIC int posix_memalign(void **out, size_t alignment, size_t size)
{
	void *block;

	if (!is_power_of_two(alignment) || alignment % sizeof(void *))
		return EINVAL;
	block = gcprof_memalign(alignment, size);
	if (!block)
		return ENOMEM;
	*out = block;
	return 0;
}

PUBLIC void *valloc(size_t size)
{
	return gcprof_memalign((size_t)getpagesize(), size);
}

PUBLIC void *pvalloc(size_t size)
{
	size_t page = (size_t)getpagesize(), rounded;

	if (__builtin_add_overflow(size, page - 1, &rounded)) {
		errno = ENOMEM;
		return NULL;
	}
	return gcprof_memalign(page, rounded & ~(page - 1));
}
