/* SPDX-License-Identifier: BSD-2-Clause */
/* fingerprint.h: a number that is the same for the same calling stack. */
#ifndef GCPROF_FINGERPRINT_H
#define GCPROF_FINGERPRINT_H

#ifndef GC_INTERNAL
#error "internal header of libgcprof-gc"
#endif

#include "frame.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	CODE_SPANS_MAX = 32,
	FINGERPRINT_BLOCK = 32,  /* words of a stack that are looked at together */
	FINGERPRINT_BLOCKS = 64, /* that are looked at, 16 KiB in all */
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

	/* The stack as it was when last looked at, from its base down, and its blocks' hashes. */
	uintptr_t copy[FINGERPRINT_BLOCKS][FINGERPRINT_BLOCK];
	uint64_t hashes[FINGERPRINT_BLOCKS];
};

/*
 * The fingerprint of the calling thread's stack, never 0 but for one that has
 * none: it is too deep, or not the one that the thread was made with. `state`
 * belongs to the thread.
 */
uint64_t fingerprint_take(struct fingerprint *state, const struct gc_anchor *anchor);

/* Looks whether files were loaded or unloaded; true if so: older fingerprints mean nothing. */
bool fingerprint_refresh(struct fingerprint *state);

#endif
