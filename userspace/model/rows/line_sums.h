/* SPDX-License-Identifier: BSD-2-Clause */
/* line_sums.h: the costs of the source lines of functions. */
#ifndef GCPROF_LINE_SUMS_H
#define GCPROF_LINE_SUMS_H

#include "../load.h"

/* A line of one function. */
struct line_sum {
	uint32_t function;        /* the same for all lines of a function, and in no other */
	const char *name, *file;  /* of the function; file NULL: unknown */
	uint64_t begin;           /* first line of the function, 0: unknown */
	uint64_t line;            /* 0: unknown */
	double self_ns, total_ns; /* CPU time, in the line itself, and with callees */
	double alloc_bytes;       /* allocated by it and its callees */
	size_t last;              /* private: the last stack that was added */
};

/* In the order of functions and lines. The model owns the texts. */
struct line_sums {
	struct line_sum *rows;
	size_t count, capacity;
};

/*
 * An observer that fills `sums` for the functions that match `pattern` (filter.h) after the profile
 * is read. Inlined functions have the lines of their own code, and their callers those of the
 * calls.
 */
struct line_builder {
	struct model_observer observer;
	const char *pattern;
	struct line_sums *sums;
};

void line_builder_init(struct line_builder *builder, const char *pattern, struct line_sums *sums);
void line_sums_free(struct line_sums *sums);

#endif
