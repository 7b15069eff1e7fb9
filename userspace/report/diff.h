/* SPDX-License-Identifier: BSD-2-Clause */
/* diff.h: what changed between two profiles, whether it may be noise, and conditions on it. */
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

/* Whether a row is one of few or one of many (see above). */
enum diff_rank { DIFF_OF_TOTAL, DIFF_OF_ROW };

/* A total, from diff_figures.def. */
struct diff_figure {
	const char *key, *name;
	enum diff_unit unit;
	uint32_t needs;
	bool level;
	const char *work;
	bool (*read)(const struct model *model, struct estimate *value);
};

enum {
#define TOTAL(key, name, unit, kind, work, needs, known, of) DIFF_FIGURE_##key,
#include "diff_figures.def"
	DIFF_FIGURES
};
extern const struct diff_figure diff_figures[DIFF_FIGURES];

struct diff_row {
	const char *name;                 /* owned by a model or by the table */
	const struct diff_figure *figure; /* NULL: a row of a table, or from a server */
	enum diff_unit unit;
	enum diff_rank rank;
	bool divided;                  /* by work: the figures may be small parts of one */
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

/* What figures are divided by, if that was asked for. */
struct diff_work {
	const char *text; /* as it was asked for, borrowed; NULL: it was not */
	char unit[300];   /* "call of write" */
	struct diff_row row;
	struct estimate of[2]; /* that many units, before and after */
};

struct condition;

struct diff {
	const struct model *before, *after; /* borrowed */
	bool per_cpu; /* figures are per second of CPU time, those of selected profiles */
	struct diff_table totals, functions, types, sites, pauses, syscalls, calls;
	struct diff_work per;
	const struct condition *conditions; /* borrowed, judged */
	size_t n_conditions;
};

/* The change between two figures, and its verdict. `wider` scales the interval. */
struct estimate diff_change(const struct estimate *before, const struct estimate *after);
enum diff_verdict diff_judge(const struct diff_row *row, double wider);

bool diff_is_exact(const struct estimate *estimate);

/* A quotient with its interval; `high` may be INFINITY, and the value if `by` is 0. */
struct estimate diff_ratio(const struct estimate *value, const struct estimate *by);

static inline struct estimate diff_exactly(double value)
{
	return (struct estimate){value, value, value};
}

/* CPU time. Timer samples are random: a Poisson count, in which samples may have different
 * weights. */
struct estimate diff_ticks(double ns, const struct model *model);

/* The total time of random events; `squares` is the sum of the squared times, its variance. */
struct estimate diff_events(double ns, double squares);

/* Two intervals around the same value: takes the farther ends. */
struct estimate diff_widest(const struct estimate *a, const struct estimate *b);

/* A total of a profile; false: it was not recorded. */
bool diff_read(const struct diff_figure *figure, const struct model *model, struct estimate *value);
int diff_make_totals(struct diff *diff);

/* The side that alone recorded a stream; NULL: both did, or none. */
const struct model *diff_only_in(const struct diff *diff, unsigned stream);

/* Adds a row; borrows the name. 0 or -ENOMEM. */
int diff_add(struct diff_table *table, const char *name, enum diff_unit unit,
	     struct estimate before, struct estimate after, enum diff_rank rank);
void diff_sort(struct diff_table *table);

/* 0 or -ENOMEM; call diff_free() in any case. */
int diff_make(const struct model *before, const struct model *after, struct diff *diff);
void diff_free(struct diff *diff);

/* Divides the figures of both sides by diff->per.of, those that grow with it. */
void diff_divide(struct diff *diff);

/* A fact in which two recordings may differ that should be alike to be compared. */
enum { DIFF_FACTS = 10 };

struct diff_fact {
	char text[1000];
};

struct diff_unlike {
	const char *name;
	struct diff_fact before, after;
};

/* Whether they differ in a fact (below DIFF_FACTS), and both know it. */
bool diff_unlike(const struct diff *diff, unsigned fact, struct diff_unlike *out);

typedef int diff_printer(const struct diff *diff, const struct report_options *options, FILE *out);
diff_printer diff_text, diff_json;

/*
 * A condition is FIGURE>CHANGE or FIGURE<CHANGE: cpu>+5%, pauses>+20ms, calls:write<-10%. FIGURE is
 * a key of diff_figures.def, or KEY:NAME for a row of a table. It is met only if the whole 95 %
 * interval of the change lies beyond: one figure is named in advance, so there is no choice among
 * many that would need more confidence.
 */

struct term {
	const struct diff_figure *figure;
	const char *name; /* of the row, not terminated, borrowed; NULL: the total */
	int length;
};

struct condition {
	const char *text; /* borrowed */
	struct term term;
	bool below;    /* '<' */
	bool relative; /* `amount` and `change` are shares of the figure before */
	double amount;
	/* Filled by condition_judge(). */
	struct diff_row row;
	struct estimate change;
	bool met;
	bool noise; /* not met, though the change is beyond: it may be noise */
};

struct condition_fault {
	char text[600]; /* the rest of a sentence that begins with the option */
};

/* Parse a condition, and what to divide by. 0 or -EINVAL with a fault. */
int condition_parse(const char *text, struct condition *out, struct condition_fault *fault);
int condition_parse_work(const char *text, struct term *out, struct condition_fault *fault);

/* Divides all figures by the work. 0, or -ENODATA with a fault: a side does not know it, or did
 * none. */
int condition_divide(const struct term *work, struct diff *diff, struct condition_fault *fault);

/* 0, or -ENODATA with a fault: a side did not record the figure. */
int condition_judge(struct condition *condition, const struct diff *diff,
		    struct condition_fault *fault);

#endif
