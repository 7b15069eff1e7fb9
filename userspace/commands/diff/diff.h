/* SPDX-License-Identifier: BSD-2-Clause */
/* diff.h: what the parts of gcprof diff share. */
#ifndef GCPROF_COMMANDS_DIFF_DIFF_H
#define GCPROF_COMMANDS_DIFF_DIFF_H

#include "../push/push.h"
#include "../../report/diff.h"

/* Compares what two conditions select on a ClickHouse server; `common` (may be NULL) restricts
 * both. An exit status. */
int diff_from_server(const struct server_arguments *server, const char *common,
		     const char *const conditions[2], diff_printer *printer,
		     const struct report_options *options);

#endif
