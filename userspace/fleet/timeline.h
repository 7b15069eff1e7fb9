/* SPDX-License-Identifier: BSD-2-Clause */
/* timeline.h: figures of selected profiles of a fleet over time, summed by the ClickHouse server.
 */
#ifndef GCPROF_FLEET_TIMELINE_H
#define GCPROF_FLEET_TIMELINE_H

#include <jansson.h>

#include "http.h"
#include "where.h"

enum { FLEET_WINDOWS_MAX = 1000 };

/*
 * Makes an object with the number of "profiles", "step_ns", and FLEET_WINDOWS_MAX "windows" or
 * fewer, by time: "time" (of its start, in seconds since 1970), "cpu_ns", "alloc", "syscall_ns",
 * "off_cpu_ns", "pauses", "pause_ns", "pause_max_ns" and "promoted_bytes". Windows without any are
 * left out. 0, errors of http_query(), or -EBADMSG: the response is invalid.
 */
int fleet_timeline(struct http *http, const struct where *where, json_t **out,
		   struct http_problem *problem);

#endif
