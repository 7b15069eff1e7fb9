/* SPDX-License-Identifier: BSD-2-Clause */
/* next.h: the allocator that the program would have without the agent. */
#ifndef GCPROF_MALLOC_NEXT_H
#define GCPROF_MALLOC_NEXT_H

#include <stdbool.h>
#include <stddef.h>

/* Its functions. They may be called from the first instruction of the process on. */
struct next_allocator {
	void *(*malloc)(size_t size);
	void *(*calloc)(size_t count, size_t size);
	void *(*realloc)(void *block, size_t size);
	void *(*memalign)(size_t alignment, size_t size);
	void (*free)(void *block);
	size_t (*malloc_usable_size)(void *block);
};

/* Hidden: read without a look at the table of addresses. */
extern struct next_allocator next __attribute__((visibility("hidden")));

/*
 * Is it the C library's, and does the program call it by way of the agent? Others may have more
 * functions that take blocks, which would not know those of the region. Behind the first
 * allocation.
 */
bool next_is_libc(void);

#endif
