/* SPDX-License-Identifier: BSD-2-Clause */
/* functions.h: one row a function, out of the costs of stacks. */
#ifndef GCPROF_FUNCTIONS_H
#define GCPROF_FUNCTIONS_H

#include <stddef.h>
#include <stdint.h>

struct model_function;
struct model;
struct pass;
struct function_sums;

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

void functions_free(struct functions *functions);

/*
 * The stack without the innermost frames that belong to the allocator: the one
 * whose innermost function allocated. Only once functions_finish() has named them.
 */
uint32_t functions_allocating(const struct pass *pass, uint32_t stack);

/* Fills pass->functions; rows that cost something into model->functions, most costly first. */
int functions_finish(struct pass *pass);

/* Names what the profile does not name, if this is the machine it was recorded on. */
int symbolize_missing(struct pass *pass);

/* What stands for the functions of a stack of which nothing is shown. */
const char *functions_none(const struct model *model);

#endif
