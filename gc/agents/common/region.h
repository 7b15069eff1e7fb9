/* SPDX-License-Identifier: BSD-2-Clause */
/* region.h: memory of its own for sampled blocks, so that an address alone tells them from others.
 */
/*
 * The region is one span of addresses, divided evenly into classes. A class has slots of one size,
 * a power of two, that lie at multiples of it. So an address leads to its slot by arithmetic, and
 * every slot is as aligned as it is large. What is not used costs addresses only.
 *
 * All functions may be called by any thread. None calls an allocator. region_free() takes no lock
 * and may be called in a signal handler.
 */
#ifndef GCPROF_AGENTS_REGION_H
#define GCPROF_AGENTS_REGION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A sampled block, kept apart from its memory, which belongs to the program. */
struct block {
	uint64_t sample; /* its id; 0: it has none, and its end is not reported */
	uint64_t born;   /* bytes that the process had allocated then */
	size_t size;     /* as it was asked for */
	uint32_t next;   /* the region's own, as is what follows */
	uint32_t state;
};

/* Where the region lies; `size` is 0 until there is one. Written once. */
struct region_span {
	uintptr_t start, size;
};

extern struct region_span region_span __attribute__((visibility("hidden")));

/* Is there a sampled block at this address, or in it? The whole cost of a free() of others. */
static inline bool region_has(const void *address)
{
	return (uintptr_t)address - region_span.start < region_span.size;
}

/* Reserves the addresses, fewer where the process may not have many. Once. -ENOMEM. */
int region_create(void);

/*
 * A block of `size` bytes at a multiple of `alignment`, a power of two or 0; NULL: no room, or no
 * memory. `*zeroed`: its bytes are 0. Its struct block has only the size.
 */
void *region_alloc(size_t size, size_t alignment, bool *zeroed);

/* The block that begins at an address in the region; NULL: none does. */
struct block *region_block(const void *address);

/* How many bytes the block may grow to where it is. */
size_t region_room(const void *address);

/* False: it was free already. `block` must not be used any more. */
bool region_free(void *address);

/* In the child of a fork: threads that were allocating are not there. */
void region_forked(void);

/* What the region may keep of freed blocks for new ones, bytes. */
#define REGION_KEPT_MAX ((size_t)64 << 20)

#endif
