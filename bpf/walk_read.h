/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* walk_read.h: the walkers' view of the current thread's memory. */
#ifndef GCPROF_WALK_READ_H
#define GCPROF_WALK_READ_H

#include "kernel.h"

/*
 * Reading a kilobyte costs hardly more than reading a word, since most of the price is entering and
 * leaving user memory. Memory is therefore read in blocks, and the last ones are kept: native and
 * managed frames lie close together. A block is aligned to its size, so either all of it is present
 * or nothing.
 */
#define WALK_BLOCK_BYTES 1024
#define WALK_BLOCKS      8
#define WALK_READ_MAX    16

struct walk_block {
	uint64_t base; /* of the first byte, 0: empty */
	uint64_t words[WALK_BLOCK_BYTES / sizeof(uint64_t)];
};

struct walk_window {
	struct walk_block blocks[WALK_BLOCKS]; /* indexed by address modulo their number */
	uint64_t words[2];                     /* the words read last */
};

/* Forgets all blocks, after the memory has changed. */
static __always_inline void walk_window_clear(struct walk_window *window)
{
	for (int i = 0; i < WALK_BLOCKS; i++)
		window->blocks[i].base = 0;
}

/* Reads two words, or one (`size` 8), into window->words. Returns 0 or an error. */
static __always_inline int walk_read_here(struct walk_window *window, uint32_t size, uint64_t from)
{
	uint64_t at = from % WALK_BLOCK_BYTES;
	struct walk_block *block;

	if (!window)
		return -1;
	if (at % sizeof(uint64_t) || at > WALK_BLOCK_BYTES - WALK_READ_MAX)
		return bpf_probe_read_user(window->words, size & WALK_READ_MAX ? 16 : 8,
					   (const void *)from);
	block = &window->blocks[from / WALK_BLOCK_BYTES % WALK_BLOCKS];
	if (block->base != from - at) {
		block->base = 0;
		if (bpf_probe_read_user(block->words, WALK_BLOCK_BYTES, (const void *)(from - at)))
			return -1;
		block->base = from - at;
	}
	at /= sizeof(uint64_t);
	window->words[0] = block->words[at];
	window->words[1] = block->words[at + 1];
	return 0;
}

/* The same as a global function: the verifier checks it once, not for each caller and path. */
__noinline int walk_read_words(struct walk_window *window, uint32_t size, uint64_t from)
{
	return walk_read_here(window, size, from);
}

/*
 * Copies 8 or 16 bytes of the current thread's memory, through a window if one is given. Never
 * sleeps: a page that is not resident is an error. Copies whole words, because bytes of unknown
 * alignment would be copied one by one.
 */
static __always_inline long walk_read(struct walk_window *window, void *to, const uint32_t size,
				      uint64_t from)
{
	uint64_t *words = to;

	if (!window)
		return bpf_probe_read_user(to, size, (const void *)from);
	if (walk_read_words(window, size, from))
		return -1;
	words[0] = window->words[0];
	if (size > sizeof(uint64_t))
		words[1] = window->words[1];
	return 0;
}

#endif
