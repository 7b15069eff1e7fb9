/* SPDX-License-Identifier: BSD-2-Clause */
/* stack_pieces.h: which frames a program means by the key of a piece of a stack. */
#ifndef GCPROF_STACK_PIECES_H
#define GCPROF_STACK_PIECES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stack_keys.h"

struct stack_pieces;

/* A piece as it was told with a sample. */
struct stack_piece {
	const uint64_t *frames; /* of the profile, the outermost first */
	size_t n;
	uint64_t place;   /* of the frames: no others ever have it */
	uint32_t quality; /* enum stack_quality */
	bool open;        /* the walk ended in it or before: nothing outside of it is known */
};

int stack_pieces_create(const struct stack_owners *owners, struct stack_pieces **out);
void stack_pieces_free(struct stack_pieces *pieces); /* NULL is allowed */

/* From now on the key means this piece. Pieces that were not used for long are forgotten, so that a
 * program cannot make the recorder hold more than a bounded amount of them. */
int stack_pieces_set(struct stack_pieces *pieces, uint64_t process, uint64_t key,
		     const struct stack_piece *piece);

/* False: the key is not known. The frames are borrowed until the next call. */
bool stack_pieces_get(struct stack_pieces *pieces, uint64_t process, uint64_t key,
		      struct stack_piece *piece);

#endif
