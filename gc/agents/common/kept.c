/* SPDX-License-Identifier: BSD-2-Clause */
/* kept.c: blocks of freed samples, kept for the next samples. */
/* Sizes are in classes, four for each power of two. Each slot of a class is used atomically. */
#include "kept.h"

#include <malloc.h>

enum {
	SIZE_MIN = 64,
	SIZE_MAX_KEPT = 256 << 10,
	CLASSES = 4 * 12 + 1, /* of sizes from SIZE_MIN to SIZE_MAX_KEPT */
	SLOTS = 16,
	CLASS_BYTES_MAX = 1 << 20,
};

static void *kept[CLASSES][SLOTS]; /* atomic */

static size_t size_of(unsigned class)
{
	return (size_t)(4 + class % 4) << (class / 4 + 4);
}

/* The largest class whose size is at most this one, which is at least SIZE_MIN. */
static unsigned class_of(size_t size)
{
	unsigned shift = 63 - (unsigned)__builtin_clzl(size);

	return (shift - 6) * 4 + (size >> (shift - 2) & 3);
}

static unsigned slots_of(unsigned class)
{
	size_t most = CLASS_BYTES_MAX / size_of(class);

	return most < SLOTS ? (unsigned)most : SLOTS;
}

size_t kept_size(size_t size)
{
	if (size <= SIZE_MIN)
		return SIZE_MIN;
	return size > SIZE_MAX_KEPT ? size : size_of(class_of(size - 1) + 1);
}

void *kept_take(size_t size, size_t alignment)
{
	unsigned class = class_of(kept_size(size));

	if (alignment > LIVE_PAGE || size > SIZE_MAX_KEPT)
		return NULL;
	for (unsigned i = 0; i < slots_of(class); i++) {
		void **slot = &kept[class][i], *block = NULL;

		if (__atomic_load_n(slot, __ATOMIC_RELAXED))
			block = __atomic_exchange_n(slot, NULL, __ATOMIC_ACQUIRE);
		if (!block)
			continue;
		live_take(block);
		return block;
	}
	return NULL;
}

bool kept_put(void *block)
{
	const struct live live = {.sample = KEPT_SAMPLE};
	size_t size = malloc_usable_size(block);
	unsigned class = size < SIZE_MIN ? CLASSES : class_of(size);

	if (class >= CLASSES || (uintptr_t)block % LIVE_PAGE)
		return false;
	live_add(block, &live);
	for (unsigned i = 0; i < slots_of(class); i++) {
		void *empty = NULL;

		if (__atomic_compare_exchange_n(&kept[class][i], &empty, block, false,
						__ATOMIC_RELEASE, __ATOMIC_RELAXED))
			return true;
	}
	live_take(block);
	return false;
}
