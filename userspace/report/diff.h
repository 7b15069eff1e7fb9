/* SPDX-License-Identifier: BSD-2-Clause */
/* diff.h: computes what changed between two profiles, and whether it may be noise. */
/*
 * Every figure that comes from samples has a 95 % interval, and so does the difference of
 * two figures (method of variance estimates recovery: the distances to the ends of both
 * intervals, added as squares). A change of a total is certain if its interval excludes 0.
 * Among hundreds of rows, one in twenty would do so by chance, so the interval of a row
 * must exclude 0 at 99.9 %.
 */
#ifndef GCPROF_DIFF_H
#define GCPROF_DIFF_H

#include "report.h"

enum diff_unit { DIFF_TIME, DIFF_BYTES, DIFF_COUNT };

enum diff_verdict {
	DIFF_EXACT, /* both were measured, not sampled */
	DIFF_NOISE, /* may be noise */
	DIFF_LESS,
	DIFF_MORE,
};

struct diff_row {
	const char *name; /* owned by a model or by the table */
	enum diff_unit unit;
	struct estimate before, after; /* exact figures have low == high */
	struct estimate change;
	enum diff_verdict verdict;
};

/* Certain and large changes come first. */
struct diff_table {
	struct diff_row *rows;
	size_t count, capacity;
	char **names; /* allocated for rows */
	size_t n_names, names_capacity;
};

/* Whether a row is one of few or one of many (see above). */
enum diff_rank { DIFF_OF_TOTAL, DIFF_OF_ROW };

struct diff {
	const struct model *before, *after; /* borrowed */
	bool per_cpu; /* figures are per second of CPU time, those of selected profiles */
	struct diff_table totals, functions, types, sites, pauses, syscalls;
};

/* The change between two figures, and its verdict. `wider` scales the interval. */
struct estimate diff_change(const struct estimate *before, const struct estimate *after);
enum diff_verdict diff_judge(const struct diff_row *row, double wider);

/* The side that alone recorded a stream; NULL: both did, or none. */
const struct model *diff_only_in(const struct diff *diff, unsigned stream);

/* Adds a row; borrows the name. 0 or -ENOMEM. */
int diff_add(struct diff_table *table, const char *name, enum diff_unit unit,
	     struct estimate before, struct estimate after, enum diff_rank rank);
void diff_sort(struct diff_table *table);

/* 0 or -ENOMEM; call diff_free() in any case. */
int diff_make(const struct model *before, const struct model *after, struct diff *diff);
void diff_free(struct diff *diff);

typedef int diff_printer(const struct diff *diff, const struct report_options *options, FILE *out);
diff_printer diff_text, diff_json;

#endif
