/* SPDX-License-Identifier: BSD-2-Clause */
/* cmd_query.h: what the parts of gcprof query share. */
#ifndef GCPROF_CMD_QUERY_H
#define GCPROF_CMD_QUERY_H

#include "cmd_push.h"
#include "export/query_print.h"

/* Runs a statement on a ClickHouse server and prints its rows. An exit status. */
int query_server(const struct server_arguments *server, const char *sql, enum query_format format);

#endif
