/* SPDX-License-Identifier: BSD-2-Clause */
/* path.h: the functions of a stack or a frame, bounded. */
#ifndef GCPROF_PATH_H
#define GCPROF_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../model/event.h"
#include "../model/world/world.h"

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

/* A function on a stack, which tells of itself in world->functions.rows. */
struct path_function {
	uint32_t row;
	bool inlined; /* into the one that called it */
};

/* The functions of `stack` (0: none), innermost first; returns how many. */
size_t path_functions(const struct world *world, uint32_t stack,
		      struct path_function out[PATH_FUNCTIONS_MAX]);

#endif
