/* SPDX-License-Identifier: BSD-2-Clause */
/* diff.h: what changed from one profile to another, and whether it may be noise. */
/*
 * Every figure that comes from samples has a 95 % interval, and so has a difference of
 * two (the method of variance estimates recovery: the distances to the ends of both
 * intervals, added as squares). A difference of totals counts as certain if its
 * interval excludes 0. Of hundreds of rows one in twenty would do so by chance, so a row
 * must exclude 0 with an interval wide enough for 99.9 %.
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
	const char *name; /* belongs to a model or to the table */
	enum diff_unit unit;
	struct estimate before, after; /* an exact figure has low == high */
	struct estimate change;
	enum diff_verdict verdict;
};

/* Certain and large changes first. */
struct diff_table {
	struct diff_row *rows;
	size_t count, capacity;
	char **names; /* made for rows */
	size_t n_names, names_capacity;
};

struct diff {
	const struct model *before, *after; /* borrowed */
	struct diff_table totals, functions, types, sites, syscalls;
};

/* The change between two figures, and what to think of it; `wider` widens the interval. */
struct estimate diff_change(const struct estimate *before, const struct estimate *after);
enum diff_verdict diff_judge(const struct diff_row *row, double wider);

/* 0 or -ENOMEM; diff_free() in any case. */
int diff_make(const struct model *before, const struct model *after, struct diff *diff);
void diff_free(struct diff *diff);

int diff_text(const struct diff *diff, const struct report_options *options, FILE *out);
int diff_json(const struct diff *diff, const struct report_options *options, FILE *out);

#endif
