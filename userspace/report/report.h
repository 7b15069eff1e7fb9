/* SPDX-License-Identifier: BSD-2-Clause */
/* report.h: a model as text for people and as JSON for programs. */
#ifndef GCPROF_REPORT_H
#define GCPROF_REPORT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "../model/model.h"

/* Parts that can be asked for alone. */
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
	PART_HISTOGRAM = 1 << 12,
};

struct report_options {
	int width;        /* columns; no line is longer */
	bool colour;      /* escape sequences for a terminal */
	bool bare;        /* without what was recorded, where parts are asked for */
	bool verbose;     /* with how the figures came about */
	uint64_t top;     /* rows of a table at most; 0: the usual number in text, all in JSON */
	unsigned parts;   /* of enum report_part; 0: the usual report, all of it in JSON */
	const char *sort; /* as given to report_sort(), for titles; NULL: the usual order */
	const char *histogram; /* name of a system call: for PART_HISTOGRAM */
};

#define REPORT_WIDTH_MIN 60
#define REPORT_WIDTH_MAX 1000

/* Writes all of it; errors of `out` stick to it (ferror). 0 or -ENOMEM. */
int report_text(const struct model *model, const struct report_options *options, FILE *out);
int report_json(const struct model *model, const struct report_options *options, FILE *out);

/* What report_json() writes; NULL: no memory. */
json_t *report_object(const struct model *model, const struct report_options *options);

/* Sorts the tables that know this order; the others stay. 0, -EINVAL (no such order), -ENOMEM. */
int report_sort(struct model *model, const char *name);
bool report_order_exists(const char *name);
const char *report_orders(void); /* all of them, as a list in words */

enum report_table {
	TABLE_FUNCTIONS,
	TABLE_TYPES,
	TABLE_SITES,
	TABLE_SYSCALLS,
	TABLE_THREADS,
	TABLE_PROGRAMS
};
const char *report_order_title(const char *name, enum report_table table, const char *usual);

#endif
