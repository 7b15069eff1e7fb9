/* SPDX-License-Identifier: BSD-2-Clause */
/* calls.h: prints call trees. */
#ifndef GCPROF_REPORT_CALLS_H
#define GCPROF_REPORT_CALLS_H

#include "../model/rows/call_tree.h"
#include "report.h"

struct calls_request {
	enum call_kind kind;
	const char *pattern; /* for functions that match; NULL: the whole tree */
	enum call_measure measure;
	bool from_server;  /* the tree is a server's sum, without live bytes; the model is NULL */
	uint64_t profiles; /* of that sum */
	bool cut;          /* the costliest nodes only */
};

/*
 * The measure of a --sort key; for NULL, the first measure that was recorded. -EINVAL: no
 * such key.
 */
int calls_measure(const struct call_tree *tree, const char *key, enum call_measure *out);

/* Leaves out branches below one percent of the total in text. 0 or -ENOMEM. */
int calls_text(const struct model *model, const struct call_tree *tree,
	       const struct calls_request *request, const struct report_options *options,
	       FILE *out);
int calls_json(const struct model *model, const struct call_tree *tree,
	       const struct calls_request *request, FILE *out);

#endif
