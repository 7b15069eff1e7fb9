/* SPDX-License-Identifier: BSD-2-Clause */
/* fingerprint.h: the words of a stack that may be return addresses. */
#ifndef GCPROF_FINGERPRINT_H
#define GCPROF_FINGERPRINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	CODE_SPANS_MAX = 32,
	FINGERPRINT_BLOCK = 32,   /* words of a stack that are compared together */
	FINGERPRINT_BLOCKS = 256, /* that are read, 64 KiB in all */
};

/* A stretch of the address space that holds code, and perhaps a file's other segments. */
struct code_span {
	uintptr_t start;
	uintptr_t size;
};

/* What one thread knows of the process; all zero to begin with. */
struct fingerprint {
	struct code_span outer[2]; /* the program; all the others together */
	struct code_span spans[CODE_SPANS_MAX];
	size_t n_spans;
	unsigned long long loaded, unloaded; /* files so far, when the spans were read */
	uintptr_t stack_base;                /* just behind the thread's stack; 0: not asked yet */

	/* The stack as it was when it was last read, from its base down; of each block, which words
	 * are code addresses. */
	uintptr_t copy[FINGERPRINT_BLOCKS][FINGERPRINT_BLOCK];
	uint32_t code[FINGERPRINT_BLOCKS];
};

/*
 * Reads the calling thread's stack above `low`. Code addresses did not change
 * at and above *changed since the last time, nor did the places where they are.
 * False: it is too deep, or not the one that the thread was made with. `state`
 * belongs to the thread.
 */
bool fingerprint_look(struct fingerprint *state, uintptr_t low, uintptr_t *changed);

/* The place of the highest code address below a place on the stack that was read; 0: none, or
 * it may lie lower than the stack reaches. */
uintptr_t fingerprint_code_below(const struct fingerprint *state, uintptr_t address);

/* The word at a place. */
uintptr_t fingerprint_word(const struct fingerprint *state, uintptr_t address);

/* Checks whether files were loaded or unloaded; true if so: what was found before means nothing. */
bool fingerprint_refresh(struct fingerprint *state);

#endif
