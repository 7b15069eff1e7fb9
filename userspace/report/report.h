/* SPDX-License-Identifier: BSD-2-Clause */
/* report.h: a model as text for people and as JSON for programs. */
#ifndef GCPROF_REPORT_H
#define GCPROF_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "../model/model.h"

struct report_options {
	int width;    /* columns; no line is longer */
	bool colour;  /* escape sequences for a terminal */
	bool verbose; /* with how the figures came about */
	uint64_t top; /* rows of a table at most; 0: the usual number in text, all in JSON */
};

#define REPORT_WIDTH_MIN 60
#define REPORT_WIDTH_MAX 1000

/* Writes all of it; errors of `out` stick to it (ferror). 0 or -ENOMEM. */
int report_text(const struct model *model, const struct report_options *options, FILE *out);
int report_json(const struct model *model, const struct report_options *options, FILE *out);

#endif
