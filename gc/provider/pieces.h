/* SPDX-License-Identifier: BSD-2-Clause */
/* pieces.h: cuts a stack into segments that recur in other stacks. */
#ifndef GCPROF_PIECES_H
#define GCPROF_PIECES_H

#include "fingerprint.h"
#include "frame.h"
#include "probe_args.h"

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
