/* SPDX-License-Identifier: BSD-2-Clause */
/* report.h: what the parts of gcprof report share. */
#ifndef GCPROF_COMMANDS_REPORT_REPORT_H
#define GCPROF_COMMANDS_REPORT_REPORT_H

#include <stdbool.h>

#include "../push/push.h"
#include "../../report/calls.h"
#include "../../report/report.h"

/* What a ClickHouse server is to add up. */
struct server_report {
	const struct server_arguments *server;
	const char *where; /* selects; NULL: everything */
	bool json;
	const struct report_options *options;
	const struct calls_request *calls; /* a call tree; NULL: tables, or PART_TIMELINE */
};

/* Prints it. An exit status, with errors printed. */
int report_from_server(const struct server_report *report);

/* Asks for figures over time and prints them. Errors as those of fleet_timeline(). */
struct http;
struct http_problem;
struct where;
int report_server_timeline(const struct server_report *report, const struct where *where,
			   struct http *http, struct http_problem *problem);

#endif
