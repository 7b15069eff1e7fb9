/* SPDX-License-Identifier: BSD-2-Clause */
/* pieces.h: cuts a stack into pieces that are the same in other stacks. */
#ifndef GCPROF_PIECES_H
#define GCPROF_PIECES_H

#include "fingerprint.h"
#include "frame.h"
#include "probe_args.h"

enum { PIECES_FRAMES_MAX = GCPROF_PIECES_MAX - 1 };

/* A shadow frame as it was when it was last read. */
struct pieces_frame {
	uint64_t address;
	uint64_t place; /* code and position */
};

/* Shadow frames of one native function. */
struct pieces_group {
	uint64_t top, low; /* their highest and lowest address */
	uint64_t hash;     /* of what they are and how they lie */
	size_t end;        /* number of the first frame that is not of it any more */
};

/* What one thread knows of its stack; all zero to begin with. The outermost is always first. */
struct pieces {
	struct fingerprint fingerprint;
	uint64_t low; /* the stack's end */
	size_t n_frames, n_groups, n;
	struct pieces_frame frames[PIECES_FRAMES_MAX];
	struct pieces_group groups[PIECES_FRAMES_MAX];
	struct gcprof_piece piece[GCPROF_PIECES_MAX]; /* `n` of them */
	uint64_t keys[GCPROF_PIECES_MAX];             /* of the stack up to this piece */
};

/*
 * Cuts the calling thread's stack; *kept of the outermost pieces are those of the
 * call before. Returns the stack's key, never 0, or 0 for one that has none:
 * it is too deep, its shadow frames are damaged, or it is not the one that the
 * thread was made with. Then nothing is kept the next time.
 */
uint64_t pieces_take(struct pieces *pieces, const struct gc_anchor *anchor, size_t *kept);

#endif
