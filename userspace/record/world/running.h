/* SPDX-License-Identifier: BSD-2-Clause */
/* running.h: running programs to be recorded: found, checked, waited for. */
#ifndef GCPROF_RUNNING_H
#define GCPROF_RUNNING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "../../util/problem.h"

#define RUNNING_MAX 1024 /* processes that can be named */

struct running {
	size_t count, gone;      /* `gone`: named, but ended, and not in `count` */
	pid_t pids[RUNNING_MAX]; /* as in /proc here */
	int pidfds[RUNNING_MAX]; /* readable once the process ended */
};

/*
 * Parses and checks a list like "12,345". Ended processes are left out, unless none remains: then
 * *problem has a sentence about the last one. running_close() is needed in any case.
 */
int running_open(const char *list, struct running *out, struct problem *problem);
void running_close(struct running *running);

/* Is it stopped by a signal or a debugger? */
bool running_is_stopped(pid_t pid);

/* The processes that their main threads have started before, and that are not named: at most `max`
 * of them. Returns how many there are. */
size_t running_children(const struct running *running, pid_t *out, size_t max);

/* The name of a process; empty if it ended. */
void running_name(pid_t pid, char out[16]);

/* The words of its command line, *size bytes; the caller frees it. -ENOENT. */
int running_command(pid_t pid, char **text, size_t *size);

#endif
