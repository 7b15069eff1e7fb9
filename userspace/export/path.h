/* SPDX-License-Identifier: BSD-2-Clause */
/* path.h: the functions of a stack or a frame, with a bounded number. */
#ifndef GCPROF_PATH_H
#define GCPROF_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../model/event.h"
#include "../model/world/world.h"

enum {
	FRAME_FUNCTIONS_MAX = 64, /* inlined into one frame; outer ones beyond are left out */
	PATH_FUNCTIONS_MAX = 2048 /* functions on one stack; likewise */
};

/* The number of a frame's visible functions, and the first of them in functions.of_frames. */
static inline uint32_t frame_functions(const struct frame *frame, uint32_t *first)
{
	uint32_t count = frame->n_functions;

	if (count > FRAME_FUNCTIONS_MAX)
		count = FRAME_FUNCTIONS_MAX;
	*first = frame->first_function + frame->n_functions - count;
	return count;
}

/* A function on a stack; its description is in world->functions.rows. */
struct path_function {
	uint32_t row;
	bool inlined; /* into its caller */
};

/* The functions of `stack` (0: none), innermost first; returns their number. */
size_t path_functions(const struct world *world, uint32_t stack,
		      struct path_function out[PATH_FUNCTIONS_MAX]);

#endif
