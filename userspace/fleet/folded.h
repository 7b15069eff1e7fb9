/* SPDX-License-Identifier: BSD-2-Clause */
/* folded.h: stacks of selected profiles of a fleet, as for flame graphs. */
#ifndef GCPROF_FLEET_FOLDED_H
#define GCPROF_FLEET_FOLDED_H

#include "sums.h"

/* The column of samples that a measure of the folded export adds up; NULL: there is none. */
const char *fleet_folded_column(const char *measure);

/*
 * Sums the column by stack. The visitor gets objects with "functions", innermost first, and "value"
 * in ns or bytes. 0, its errors, those of http_query(), or -EBADMSG: the response is invalid.
 */
struct fleet_folded {
	const struct where *where;
	const char *column;
	sums_visitor *visit;
	void *context;
};

int fleet_folded(struct http *http, const struct fleet_folded *request,
		 struct http_problem *problem);

#endif
