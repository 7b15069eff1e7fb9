/* SPDX-License-Identifier: BSD-2-Clause */
/* report.h: a model as text and as JSON. */
#ifndef GCPROF_REPORT_H
#define GCPROF_REPORT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "../model/figures.h"

/* Parts that can be requested separately. */
enum report_part {
	PART_FUNCTIONS = 1 << 0,
	PART_GC = 1 << 1,
	PART_SITES = 1 << 2,
	PART_TYPES = 1 << 3,
	PART_SYSCALLS = 1 << 4,
	PART_THREADS = 1 << 5,
	PART_LIVE = 1 << 6,
	PART_TIMELINE = 1 << 7,
	PART_OFF_CPU = 1 << 8,
	PART_FAULTS = 1 << 9,
	PART_PROGRAMS = 1 << 10,
	PART_ENTRIES = 1 << 11,
	PART_TIME = 1 << 12,
	PART_HISTOGRAM = 1 << 13,
};

/*
 * A printed row of a table, or a finding. It and the heading of its table begin at these bytes of
 * the text. `kind` is an enum row_kind, and `row` one of the model's; ROWS_END: `row` is a struct
 * call_node, or NULL: nothing can be said of it.
 */
struct report_row {
	size_t heading, at;
	int kind;
	const void *row;
};

/* Collects them where the text is written to memory. Free `items`. */
struct report_rows {
	const char *match; /* only rows with this text in a cell are printed; "": all */
	struct report_row *items;
	size_t count, capacity;
};

/* A table that can be requested by its name. The last one has no name. */
struct report_page {
	unsigned part;
	const char *name;
	char key;           /* in browsers */
	const char *filter; /* the begin of a filter for what its rows name */
};

extern const struct report_page report_pages[];

struct report_options {
	int width;        /* columns; no line is longer */
	bool colour;      /* escape sequences for a terminal */
	bool bare;        /* if parts are requested, without the facts about the recording */
	bool brief;       /* if no parts are requested, only what fits on a screen */
	bool verbose;     /* with details on how the figures were obtained */
	uint64_t top;     /* maximum rows of a table; 0: the default number in text, all in JSON */
	unsigned parts;   /* of enum report_part; 0: the default report, everything in JSON */
	const char *sort; /* as passed to report_sort(), for titles; NULL: the default order */
	const char *histogram;    /* name of a system call, for PART_HISTOGRAM */
	struct report_rows *rows; /* NULL: not wanted */
};

#define REPORT_WIDTH_MIN 20
#define REPORT_WIDTH_MAX 1000

/* Writes the report. 0 or -ENOMEM; check `out` with ferror() for write errors. */
int report_text(const struct model *model, const struct report_options *options, FILE *out);
int report_json(const struct model *model, const struct report_options *options, FILE *out);

/* The object that report_json() writes; NULL: no memory. */
json_t *report_object(const struct model *model, const struct report_options *options);

/*
 * Sorts the tables that support this order; the others keep theirs. 0, -EINVAL (no such
 * order), -ENOMEM.
 */
int report_sort(struct model *model, const char *name);
bool report_order_exists(const char *name);
const char *report_orders(void); /* all names, as a list in words */

const char *report_order_title(const char *name, enum row_kind table, const char *usual);

/* Fills a row from an object with its figures: json_row() reversed. Texts are borrowed; those that
 * are missing are NULL, other figures 0. */
void json_to_row(json_t *object, enum row_kind table, void *row);

/* Names in the report as JSON: of a kind of collection, and of a reason below GC_REASONS. */
const char *json_kind_name(unsigned kind);     /* "minor" ... */
const char *json_reason_name(unsigned reason); /* "nursery" ... */

#endif
