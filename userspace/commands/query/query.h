/* SPDX-License-Identifier: BSD-2-Clause */
/* query.h: what the parts of gcprof query share. */
#ifndef GCPROF_COMMANDS_QUERY_QUERY_H
#define GCPROF_COMMANDS_QUERY_QUERY_H

#include "../../export/sql/query.h"
#include "../push/push.h"

/* Runs a statement on a ClickHouse server and prints its rows. An exit status. */
int query_server(const struct server_arguments *server, const char *sql, enum query_format format);

#endif
