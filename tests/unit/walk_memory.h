/* SPDX-License-Identifier: BSD-2-Clause */
/* walk_memory.h: a small memory for tests of stack walkers, which they fill. */
#ifndef TEST_WALK_MEMORY_H
#define TEST_WALK_MEMORY_H

#include "test.h"

/* The walkers' memory: words from IMAGE_BASE on; all else cannot be read. */
#define IMAGE_BASE  UINT64_C(0x7ffd00000000)
#define IMAGE_WORDS 8192

static uint64_t image[IMAGE_WORDS];
static uint64_t image_end = IMAGE_BASE + sizeof(image);

struct walk_window;

static inline long walk_read(struct walk_window *window, void *to, uint32_t size, uint64_t from)
{
	(void)window;
	if (from < IMAGE_BASE || from > image_end || size > image_end - from)
		return -14;
	memcpy(to, (const char *)image + (from - IMAGE_BASE), size);
	return 0;
}

static inline uint64_t at(unsigned word)
{
	return IMAGE_BASE + 8 * (uint64_t)word;
}

/* Words that may look like addresses. */
static inline void put_random_words(uint64_t *state)
{
	for (unsigned word = 0; word < 64; word++) {
		uint64_t r = test_random(state);

		image[word] = r % 3 ? at((unsigned)(r >> 8) % 64) + (r % 7 ? 0 : 1)
				    : (r >> 8) % 4096;
	}
}

#endif
