/* SPDX-License-Identifier: BSD-2-Clause */
/* live.h: the table of sampled blocks that were not freed, by address. */
/*
 * A sampled block is an ordinary block of the program's allocator, so any code may free it,
 * including code that does not call the agent. Only its address is special: it is one that few
 * blocks have, so that free() of the others costs one test.
 *
 * Any thread and any signal handler may call these functions. None takes a lock, or calls an
 * allocator.
 */
#ifndef GCPROF_AGENTS_LIVE_H
#define GCPROF_AGENTS_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	LIVE_PAGE = 4096, /* alignment that makes the address of a block a sample's */
	/* Of an address; all 0 in a sample's. The C library's large blocks begin 16 bytes after a
	 * page, so they can be samples, too. */
	LIVE_BITS = LIVE_PAGE - 1 - 16,
};

/* A sampled block. */
struct live {
	uint64_t sample; /* its sample's id; 0: none */
	uint64_t born;   /* bytes allocated in the process then */
};

/* Whether the block may be in the table: all that free() of most blocks asks. */
static inline bool live_may_have(const void *block)
{
	return !((uintptr_t)block & LIVE_BITS);
}

/* Makes room for a block for which live_may_have(). False: no memory. */
bool live_reserve(const void *block);

/* Adds a block for which there is room. */
void live_add(const void *block, const struct live *live);

/* Removes a block, and returns what it was added with; `sample` is 0 if it is not there. */
struct live live_take(const void *block);

/* The id of its sample; 0: none. */
uint64_t live_sample(const void *block);

#endif
