/* SPDX-License-Identifier: BSD-2-Clause */
/* fingerprint.h: finds the words of a stack that may be return addresses. */
#ifndef GCPROF_FINGERPRINT_H
#define GCPROF_FINGERPRINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	CODE_SPANS_MAX = 32,
	FINGERPRINT_BLOCK = 32,   /* words of a stack compared together */
	FINGERPRINT_BLOCKS = 256, /* blocks read at most, 64 KiB in all */
};

/* A range of addresses that holds code, and perhaps other segments of the file. */
struct code_span {
	uintptr_t start;
	uintptr_t size;
};

/* One thread's view of the process and its stack; initially all zero. */
struct fingerprint {
	struct code_span outer[2]; /* the program; all other files together */
	struct code_span spans[CODE_SPANS_MAX];
	size_t n_spans;
	unsigned long long loaded, unloaded; /* number of files so far when the spans were read */
	uintptr_t stack_base;                /* end of the thread's stack; 0: not determined yet */

	/* The stack as last read, from its base down; for each block, which words are code
	 * addresses. */
	uintptr_t copy[FINGERPRINT_BLOCKS][FINGERPRINT_BLOCK];
	uint32_t code[FINGERPRINT_BLOCKS];
};

/*
 * Reads the calling thread's stack above `low`. At and above *changed, neither the
 * code addresses nor their positions have changed since the last call. False: the
 * stack is too deep, or not the thread's original one. `state` belongs to the
 * thread.
 */
bool fingerprint_look(struct fingerprint *state, uintptr_t low, uintptr_t *changed);

/* The position of the highest code address below a position on the stack as read; 0: none, or it
 * may be below the part that was read. */
uintptr_t fingerprint_code_below(const struct fingerprint *state, uintptr_t address);

/* The word at a position. */
uintptr_t fingerprint_word(const struct fingerprint *state, uintptr_t address);

/* True if files were loaded or unloaded since the last call: earlier results are then invalid. */
bool fingerprint_refresh(struct fingerprint *state);

#endif
