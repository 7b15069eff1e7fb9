/* SPDX-License-Identifier: BSD-2-Clause */
/* source.h: prints source lines with their costs. */
#ifndef GCPROF_REPORT_SOURCE_H
#define GCPROF_REPORT_SOURCE_H

#include "../model/rows/line_sums.h"
#include "report.h"

/*
 * A table for each function: the lines from its first to its last with a cost, with their text if
 * the source is on this host and unchanged, otherwise those with a cost. 0 or -ENOMEM.
 */
int source_text(const struct model *model, const struct line_sums *sums,
		const struct report_options *options, FILE *out);

#endif
