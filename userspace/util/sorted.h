/* SPDX-License-Identifier: BSD-2-Clause */
/* sorted.h: searches arrays that are sorted by a number. */
#ifndef GCPROF_SORTED_H
#define GCPROF_SORTED_H

#include <stddef.h>
#include <stdint.h>

/* How many of `n` items of `size` bytes, sorted by the uint64_t that each begins with, have `key`
 * at most. */
static inline size_t sorted_up_to(const void *items, size_t n, size_t size, uint64_t key)
{
	size_t low = 0;

	while (low < n) {
		size_t middle = low + (n - low) / 2;

		if (*(const uint64_t *)(const void *)((const char *)items + middle * size) <= key)
			low = middle + 1;
		else
			n = middle;
	}
	return low;
}

#endif
