/* SPDX-License-Identifier: BSD-2-Clause */
/* export.h: shared by the files of gcprof export. */
#ifndef GCPROF_COMMANDS_EXPORT_EXPORT_H
#define GCPROF_COMMANDS_EXPORT_EXPORT_H

#include "../push/push.h"

/*
 * Writes the folded stacks of the profiles in a server that `condition` (NULL: all) selects.
 * `path`: the output, "-": standard output. An exit status, with errors printed.
 */
int export_from_server(const struct server_arguments *server, const char *condition,
		       const char *measure, const char *path);

#endif
