/* SPDX-License-Identifier: BSD-2-Clause */
/* live.c: the table of sampled blocks that were not freed, by address. */
/*
 * A page has at most one sampled block, so a page's number is the index into a tree of three
 * levels. A leaf covers 16 MiB of addresses and takes up to 64 KiB of memory, as much as is used of
 * it. Levels are added by compare-and-swap and never removed.
 */
#include "live.h"

#include <sys/mman.h>

enum {
	PAGE_SHIFT = 12,
	LEAF_BITS = 12,
	MIDDLE_BITS = 11,
	ROOT_BITS = 12, /* together the 47 bits of a program's addresses */
};

struct leaf {
	struct live pages[1 << LEAF_BITS];
};

struct middle {
	void *leaves[1 << MIDDLE_BITS];
};

static void *root[1 << ROOT_BITS]; /* atomic, like the leaves */

/* What the slot points to. If there is nothing yet, `size` bytes of zeros if not 0. */
static void *below(void **slot, size_t size)
{
	void *old = __atomic_load_n(slot, __ATOMIC_ACQUIRE), *new;

	if (old || !size)
		return old;
	new = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (new == MAP_FAILED)
		return NULL;
	if (__atomic_compare_exchange_n(slot, &old, new, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return new;
	munmap(new, size);
	return old;
}

/* The entry of the page of a block; NULL: none, or, if it is to be added, no memory. */
static struct live *entry(const void *block, bool add)
{
	uintptr_t page = (uintptr_t)block >> PAGE_SHIFT, top = page >> (LEAF_BITS + MIDDLE_BITS);
	struct middle *middle;
	struct leaf *leaf;

	if (top >= (uintptr_t)1 << ROOT_BITS)
		return NULL;
	middle = below(&root[top], add ? sizeof(*middle) : 0);
	if (!middle)
		return NULL;
	leaf = below(&middle->leaves[page >> LEAF_BITS & ((1 << MIDDLE_BITS) - 1)],
		     add ? sizeof(*leaf) : 0);
	return leaf ? &leaf->pages[page & ((1 << LEAF_BITS) - 1)] : NULL;
}

bool live_reserve(const void *block)
{
	return entry(block, true);
}

void live_add(const void *block, const struct live *live)
{
	struct live *to = entry(block, false);

	__atomic_store_n(&to->born, live->born, __ATOMIC_RELAXED);
	__atomic_store_n(&to->sample, live->sample, __ATOMIC_RELEASE);
}

struct live live_take(const void *block)
{
	struct live *from = entry(block, false), taken = {0, 0};

	if (!from || !__atomic_load_n(&from->sample, __ATOMIC_RELAXED))
		return taken;
	taken.sample = __atomic_exchange_n(&from->sample, 0, __ATOMIC_ACQUIRE);
	taken.born = __atomic_load_n(&from->born, __ATOMIC_RELAXED);
	return taken;
}

uint64_t live_sample(const void *block)
{
	const struct live *found = entry(block, false);

	return found ? __atomic_load_n(&found->sample, __ATOMIC_RELAXED) : 0;
}
