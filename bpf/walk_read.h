/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* walk_read.h: the walkers' view of the current thread's memory. */
#ifndef GCPROF_WALK_READ_H
#define GCPROF_WALK_READ_H

#include "kernel.h"

/*
 * Frames lie close together, and reading a kilobyte costs hardly more than
 * reading a word: most of the price is entering and leaving user memory.
 */
#define WALK_WINDOW_BYTES 1024
#define WALK_READ_MAX     16

struct walk_window {
	uint64_t base; /* address of the first byte, 0: the window is empty */
	uint8_t bytes[WALK_WINDOW_BYTES];
};

/*
 * Copies memory of the current thread, through a window if one is given. Never
 * sleeps: what is not resident is an error.
 */
static __always_inline long walk_read(struct walk_window *window, void *to, const uint32_t size,
				      uint64_t from)
{
	uint64_t at;

	if (!window)
		return bpf_probe_read_user(to, size, (const void *)from);
	at = from - window->base;
	if (!window->base || at > WALK_WINDOW_BYTES - WALK_READ_MAX) {
		window->base = 0;
		/* The window may reach beyond what is mapped although the frame does not. */
		if (bpf_probe_read_user(window->bytes, WALK_WINDOW_BYTES, (const void *)from))
			return bpf_probe_read_user(to, size, (const void *)from);
		window->base = from;
		at = 0;
	}
	__builtin_memcpy(to, window->bytes + at, size);
	return 0;
}

#endif
