/* SPDX-License-Identifier: BSD-2-Clause */
/* function_table.h: all functions, and the functions of each frame. */
#ifndef GCPROF_FUNCTION_TABLE_H
#define GCPROF_FUNCTION_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct function_sums;
struct model_function;

/*
 * Rows of all functions, in no order. The functions of a frame are of_frames[first_function] to
 * [first_function + n_functions - 1].
 */
struct functions {
	struct model_function *rows;
	struct function_sums *sums; /* same index as rows */
	size_t n_rows, rows_capacity;
	uint32_t *of_frames;
	size_t n_of_frames, of_frames_capacity;
};

#endif
