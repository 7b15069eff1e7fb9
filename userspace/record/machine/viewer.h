/* SPDX-License-Identifier: BSD-2-Clause */
/* viewer.h: the user who gets the profile, and what that user may see of other users' processes. */
#ifndef GCPROF_VIEWER_H
#define GCPROF_VIEWER_H

#include <stdbool.h>
#include <sys/types.h>

/* The user id; 0: root, who may see everything. */
uid_t viewer_find(void);

/*
 * Reads the command line of a process with the viewer's rights: everybody may, unless /proc is
 * mounted with hidepid. Returns its length or a negative errno. -ETIME: its memory does not answer.
 */
ssize_t viewer_read_command(pid_t pid, char *text, size_t size);

/* Does /proc hide other users' processes from the viewer? */
bool viewer_is_shut_out(void);

#endif
