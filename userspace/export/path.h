/* SPDX-License-Identifier: BSD-2-Clause */
/* path.h: the functions of a stack or a frame, bounded. */
#ifndef GCPROF_PATH_H
#define GCPROF_PATH_H

#include <stddef.h>
#include <stdint.h>

#include "../model/pass.h"

enum {
	FRAME_FUNCTIONS_MAX = 64, /* inlined into one frame; the outermost of more are left out */
	PATH_FUNCTIONS_MAX = 2048 /* on one stack; likewise */
};

/* How many functions of a frame are shown, and the first of them in functions.of_frames. */
static inline uint32_t frame_functions(const struct frame *frame, uint32_t *first)
{
	uint32_t count = frame->n_functions;

	if (count > FRAME_FUNCTIONS_MAX)
		count = FRAME_FUNCTIONS_MAX;
	*first = frame->first_function + frame->n_functions - count;
	return count;
}

/*
 * Rows of the functions of `stack` (0: none), innermost first, which tell of
 * themselves in pass->functions.rows; returns how many.
 */
size_t path_functions(const struct pass *pass, uint32_t stack, uint32_t rows[PATH_FUNCTIONS_MAX]);

#endif
