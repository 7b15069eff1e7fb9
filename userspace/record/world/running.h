/* SPDX-License-Identifier: BSD-2-Clause */
/* running.h: programs that run already and are to be recorded: found, checked, waited for. */
#ifndef GCPROF_RUNNING_H
#define GCPROF_RUNNING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "../../util/problem.h"

#define RUNNING_MAX 1024 /* processes named on the command line */

struct running {
	size_t count, gone;      /* named, but not there any more: not among `count` */
	pid_t pids[RUNNING_MAX]; /* as /proc calls them */
	int pidfds[RUNNING_MAX]; /* readable when the process ended */
};

/*
 * The processes of a list like "12,345", each checked. Those that are gone are left out,
 * unless none remains: *problem has a sentence on the last of them. running_close() in
 * any case.
 */
int running_open(const char *list, struct running *out, struct problem *problem);
void running_close(struct running *running);

/* Stopped by a signal or a debugger? */
bool running_is_stopped(pid_t pid);

/* The name of a process; empty if it is gone. */
void running_name(pid_t pid, char out[16]);

/* The words of its command line, in one text of *size bytes; the caller frees it. -ENOENT. */
int running_command(pid_t pid, char **text, size_t *size);

#endif
