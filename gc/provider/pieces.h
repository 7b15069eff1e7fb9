/* SPDX-License-Identifier: BSD-2-Clause */
/* pieces.h: cuts a stack into segments that recur in other stacks. */
#ifndef GCPROF_PIECES_H
#define GCPROF_PIECES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "frame.h"
#include "probe_args.h"

/* Finds the words of a stack that may be return addresses. */

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

enum { PIECES_FRAMES_MAX = GCPROF_PIECES_MAX - 1 };

/* A shadow frame as last read. */
struct pieces_frame {
	uint64_t address;
	uint64_t place; /* code id and line */
};

/* Shadow frames of one native function. */
struct pieces_group {
	uint64_t top, low; /* their highest and lowest address */
	uint64_t hash;     /* of their contents and relative positions */
	size_t end;        /* index of the first frame after the group */
};

/* One thread's view of its stack; initially all zero. Arrays start with the outermost. */
struct pieces {
	struct fingerprint fingerprint;
	uint64_t low; /* the stack's end */
	size_t n_frames, n_groups, n;
	struct pieces_frame frames[PIECES_FRAMES_MAX];
	struct pieces_group groups[PIECES_FRAMES_MAX];
	struct gcprof_piece piece[GCPROF_PIECES_MAX]; /* `n` of them */
	uint64_t keys[GCPROF_PIECES_MAX];             /* of the stack up to this segment */
};

/*
 * Cuts the calling thread's stack; the *kept outermost segments are the same as in
 * the previous call. Returns the stack's key, or 0 if it has none: the stack is
 * too deep, its shadow frames are damaged, or it is not the thread's original one.
 * Then the next call keeps nothing.
 */
uint64_t pieces_take(struct pieces *pieces, const struct gc_anchor *anchor, size_t *kept);

#endif
