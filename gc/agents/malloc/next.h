/* SPDX-License-Identifier: BSD-2-Clause */
/* next.h: the allocator that the program would use without the agent. */
#ifndef GCPROF_MALLOC_NEXT_H
#define GCPROF_MALLOC_NEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "../../provider/provider.h"

/* Its functions, callable from the first instruction of the process on. */
struct next_allocator {
	void *(*malloc)(size_t size);
	void *(*calloc)(size_t count, size_t size);
	void *(*realloc)(void *block, size_t size);
	void *(*memalign)(size_t alignment, size_t size);
	void *(*aligned_alloc)(size_t alignment, size_t size);
	void (*free)(void *block);
};

/* Hidden, so that it is read without the global offset table. */
extern struct next_allocator next __attribute__((visibility("hidden")));

/* Whether the program has replaced free() behind the C library's, which was possible before 2.34
 * and for each of the functions alone: it may not know blocks of memalign(). */
bool next_is_hooked(void);

/* Why the agent cannot sample: the program does not call the C library's allocator through it.
 * 0: it does. Call it before sampling starts. */
enum gcprof_refusal next_why_not(void);

#endif
