/* SPDX-License-Identifier: BSD-2-Clause */
/* cmd_report.h: what the parts of gcprof report share. */
#ifndef GCPROF_CMD_REPORT_H
#define GCPROF_CMD_REPORT_H

#include <stdbool.h>

#include "cmd_push.h"
#include "report/report.h"

/* Prints what a ClickHouse server adds up, of what `where` (may be NULL) selects. An exit status.
 */
int report_from_server(const struct server_arguments *server, const char *where, bool json,
		       const struct report_options *options);

#endif
