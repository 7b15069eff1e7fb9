/* SPDX-License-Identifier: BSD-2-Clause */
/* next.h: the allocator that the program would use without the agent. */
#ifndef GCPROF_MALLOC_NEXT_H
#define GCPROF_MALLOC_NEXT_H

#include <stdbool.h>
#include <stddef.h>

/* Its functions, callable from the first instruction of the process on. */
struct next_allocator {
	void *(*malloc)(size_t size);
	void *(*calloc)(size_t count, size_t size);
	void *(*realloc)(void *block, size_t size);
	void *(*memalign)(size_t alignment, size_t size);
	void (*free)(void *block);
	size_t (*malloc_usable_size)(void *block);
};

/* Hidden, so that it is read without the global offset table. */
extern struct next_allocator next __attribute__((visibility("hidden")));

/*
 * Whether it is the C library's, and the program calls it through the agent. Other allocators may
 * have more functions that take blocks and would not know those of the region. Call it after the
 * first allocation.
 */
bool next_is_libc(void);

#endif
