/* SPDX-License-Identifier: BSD-2-Clause */
/* region.h: separate memory for sampled blocks, which an address alone identifies. */
/*
 * The region is one range of addresses, divided evenly into classes. A class has slots of one size,
 * a power of two, at multiples of that size. So an address gives its slot by arithmetic, and a
 * slot's alignment equals its size. Unused parts cost addresses only.
 *
 * Any thread may call these functions. None calls an allocator. region_free() takes no lock and may
 * be called from a signal handler.
 */
#ifndef GCPROF_AGENTS_REGION_H
#define GCPROF_AGENTS_REGION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A sampled block, separate from its memory, which belongs to the program. */
struct block {
	uint64_t sample; /* its sample's id; 0: none, and its free is not reported */
	uint64_t born;   /* bytes allocated in the process then */
	size_t size;     /* as requested */
	uint32_t next;   /* private to the region, like `state` */
	uint32_t state;
};

/* The region's addresses; `size` is 0 until it is created. Written once. */
struct region_span {
	uintptr_t start, size;
};

extern struct region_span region_span __attribute__((visibility("hidden")));

/* Whether the address is in the region. This is the whole cost of a free() of other blocks. */
static inline bool region_has(const void *address)
{
	return (uintptr_t)address - region_span.start < region_span.size;
}

/* Reserves the addresses, fewer if the process has an address space limit. Once. -ENOMEM. */
int region_create(void);

/*
 * Allocates a block of `size` bytes at a multiple of `alignment`, a power of two or 0. NULL: no
 * room, or no memory. Sets *zeroed if its bytes are 0. In its struct block only `size` is set.
 */
void *region_alloc(size_t size, size_t alignment, bool *zeroed);

/* The block that begins at an address in the region; NULL: none. */
struct block *region_block(const void *address);

/* The size to which the block can grow in place. */
size_t region_room(const void *address);

/* Frees the block at `address`. False: it was already free. */
bool region_free(void *address);

/* In the child of a fork: releases what lost threads held while allocating. */
void region_forked(void);

/* Maximum bytes of freed blocks that stay resident for reuse. */
#define REGION_KEPT_MAX ((size_t)64 << 20)

#endif
