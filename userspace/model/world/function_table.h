/* SPDX-License-Identifier: BSD-2-Clause */
/* function_table.h: all functions, and which of them each frame is in. */
#ifndef GCPROF_FUNCTION_TABLE_H
#define GCPROF_FUNCTION_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct function_sums;
struct model_function;

/*
 * Rows of all functions, in no order, and which of them each frame is in: a frame's
 * are of_frames[first_function] to [first_function + n_functions - 1].
 */
struct functions {
	struct model_function *rows;
	struct function_sums *sums; /* by row */
	size_t n_rows, rows_capacity;
	uint32_t *of_frames;
	size_t n_of_frames, of_frames_capacity;
};

#endif
