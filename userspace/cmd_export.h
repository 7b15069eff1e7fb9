/* SPDX-License-Identifier: BSD-2-Clause */
/* cmd_export.h: shared by the files of gcprof export. */
#ifndef GCPROF_CMD_EXPORT_H
#define GCPROF_CMD_EXPORT_H

#include "cmd_push.h"

/*
 * Writes the folded stacks of the profiles in a server that `condition` (NULL: all) selects.
 * `path`: the output, "-": standard output. An exit status, with errors printed.
 */
int export_from_server(const struct server_arguments *server, const char *condition,
		       const char *measure, const char *path);

#endif
