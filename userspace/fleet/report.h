/* SPDX-License-Identifier: BSD-2-Clause */
/* report.h: what a part of a fleet cost, added up by its ClickHouse server. */
#ifndef GCPROF_FLEET_REPORT_H
#define GCPROF_FLEET_REPORT_H

#include <jansson.h>

#include "http.h"
#include "where.h"

/*
 * Keys as gcprof report --json has them: "cpu", "alloc" (totals), "functions", "sites", "stacks",
 * "syscalls" and "pauses"; "profiles": of how many. `top`: rows of each at most. 0, as
 * http_query(), or -EBADMSG: the answer makes no sense.
 */
int fleet_report(struct http *http, const struct where *where, uint64_t top, json_t **out,
		 struct http_problem *problem);

#endif
