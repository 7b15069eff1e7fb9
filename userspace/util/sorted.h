/* SPDX-License-Identifier: BSD-2-Clause */
/* sorted.h: searches sorted arrays. */
#ifndef GCPROF_SORTED_H
#define GCPROF_SORTED_H

#include <stddef.h>
#include <stdint.h>

/* The number of items with a key of at most `key`. `items` are `n` items of `size` bytes, each
 * starting with its uint64_t key, sorted by it. */
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
