/* SPDX-License-Identifier: BSD-2-Clause */
/* folded.h: stacks of selected profiles of a fleet, as for flame graphs. */
#ifndef GCPROF_FLEET_FOLDED_H
#define GCPROF_FLEET_FOLDED_H

#include <jansson.h>

#include "http.h"
#include "where.h"

/* The column of samples that a measure of the folded export adds up; NULL: there is none. */
const char *fleet_folded_column(const char *measure);

/*
 * Sums the column by stack. *out has the array "data" of objects with "functions", innermost first,
 * and "value" in ns or bytes. 0, errors of http_query(), or -EBADMSG: the response is invalid.
 */
int fleet_folded(struct http *http, const struct where *where, const char *column, json_t **out,
		 struct http_problem *problem);

#endif
