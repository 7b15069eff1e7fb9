/* SPDX-License-Identifier: BSD-2-Clause */
/* calls.h: prints who calls whom. */
#ifndef GCPROF_REPORT_CALLS_H
#define GCPROF_REPORT_CALLS_H

#include "../model/rows/call_tree.h"
#include "report.h"

struct calls_request {
	enum call_kind kind;
	const char *pattern; /* of the functions, NULL for a tree */
	enum call_measure measure;
};

/* What to sort by for a --sort key; the first thing that was recorded for NULL. -EINVAL. */
int calls_measure(const struct call_tree *tree, const char *key, enum call_measure *out);

/* Branches below a hundredth of the whole are left out of the text. 0 or -ENOMEM. */
int calls_text(const struct model *model, const struct call_tree *tree,
	       const struct calls_request *request, const struct report_options *options,
	       FILE *out);
int calls_json(const struct model *model, const struct call_tree *tree,
	       const struct calls_request *request, FILE *out);

#endif
