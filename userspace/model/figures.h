/* SPDX-License-Identifier: BSD-2-Clause */
/* figures.h: what is known of each figure in the tables of a model, from rows.def. */
#ifndef GCPROF_FIGURES_H
#define GCPROF_FIGURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model.h"

/* The tables: ROWS_function and so on. */
enum row_kind {
#define ROWS(row, rows, count, sql, doc) ROWS_##row,
#include "rows.def"
	ROWS_END
};

/* FIGURE_function_cpu_self_ns and so on, table by table: from FIRST_function to END_function. */
enum {
#define ROWS(row, rows, count, sql, doc)                             FIRST_##row, BEFORE_##row = FIRST_##row - 1,
#define AS(row, kind, member, key, needs, known, heading, sort, doc) FIGURE_##row##_##key,
#define SHOWN(row, name, heading)                                    FIGURE_##row##_##name,
#define END_ROWS(row)                                                END_##row, LAST_##row = END_##row - 1,
#include "rows.def"
	N_FIGURES
};

enum figure_kind {
	FIGURE_SHOWN, /* only a column of the text */
#define FIGURE_KIND(kind, type, unit) FIGURE_##kind,
#include "rows.def"
};

/* Streams that a figure needs: bits of STREAM_... */
enum {
	NEEDS_NONE = 0,
	NEEDS_ALLOC = 1 << 1,
	NEEDS_GC = 1 << 2,
	NEEDS_CPU = 1 << 3,
	NEEDS_SYSCALL = 1 << 4,
	NEEDS_SCHED = 1 << 5,
	NEEDS_FAULT = 1 << 7,
	NEEDS_ALLOC_GC = NEEDS_ALLOC | NEEDS_GC,
};

struct figure_heading {
	const char *top, *title; /* title NULL: not in the text */
	int drop;                /* first to be left out if space is short: the greatest; 0: none */
	int width;               /* of a text: at least; 0: a figure */
	bool text;
};

struct figure {
	const char *key; /* its name in JSON, SQL and pages */
	const char
		*group; /* in JSON it is in this object, without group_ before its name; or NULL */
	enum figure_kind kind;
	size_t offset; /* in the row */
	size_t known;  /* offset of the bool that tells, or FIGURE_ALWAYS, FIGURE_NONZERO */
	uint32_t needs;
	bool joined; /* a database has it elsewhere */
	struct figure_heading heading;
	const char *sort; /* keys, separated by blanks */
	const char *doc;
};

#define FIGURE_ALWAYS  SIZE_MAX
#define FIGURE_NONZERO (SIZE_MAX - 1)

struct figure_table {
	const char *name; /* that of the member of struct model */
	const char *doc;
	size_t size; /* of a row */
	unsigned first, end;
};

extern const struct figure figure_list[N_FIGURES];
extern const struct figure_table figure_tables[ROWS_END];

/* Were all these streams recorded? */
static inline bool model_has(const struct model *model, uint32_t needs)
{
	return !(needs & ~model->recorded);
}

/* A figure of a row, borrowed from it. */
struct figure_value {
	bool known;
	bool unrecorded; /* of the row only: others of the table may be known */
	const char *text;
	uint64_t count;
	double real; /* also of a count, and the value of an estimate */
	const struct estimate *estimate;
	const char *const *names; /* SITE_FUNCTIONS */
};

/* Unless all streams that it needs were recorded, a figure is unknown. */
struct figure_value figure_read(const struct model *model, unsigned figure, const void *row);

/* "inner < caller < its caller", cut off at `size`. */
void figure_join(const char *const *names, char *out, size_t size);

/* The rows of a table; a row is figure_tables[table].size bytes. */
void *figure_rows(const struct model *model, enum row_kind table, size_t *count);

/* The figure by which a key sorts a table; N_FIGURES: none. */
unsigned figure_sorted_by(enum row_kind table, const char *key);

#endif
