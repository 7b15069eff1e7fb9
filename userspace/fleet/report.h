/* SPDX-License-Identifier: BSD-2-Clause */
/* report.h: reports on selected profiles of a fleet, summed by the ClickHouse server. */
#ifndef GCPROF_FLEET_REPORT_H
#define GCPROF_FLEET_REPORT_H

#include <jansson.h>

#include "http.h"
#include "where.h"

/*
 * Makes an object with the arrays "functions", "sites", "types", "stacks", "syscalls" (not with a
 * term about processes), "pauses" and "threads" (by name), the object "totals", and the number of
 * "profiles". Rows have the keys of gcprof report --json. `top`: maximum rows per array, except
 * pauses. 0, errors of http_query(), or -EBADMSG: the response is invalid.
 */
int fleet_report(struct http *http, const struct where *where, uint64_t top, json_t **out,
		 struct http_problem *problem);

#endif
