/* SPDX-License-Identifier: BSD-2-Clause */
/* java_attach.h: makes a running Java virtual machine load an agent. */
#ifndef GCPROF_JAVA_ATTACH_H
#define GCPROF_JAVA_ATTACH_H

#include <sys/types.h>

#include "../machine/user_task.h"
#include "../../util/problem.h"

/*
 * Does what the process's user can do with `jcmd`, with that user's rights. `user` is the caller of
 * gcprof: only root may do this to programs of others. The process must be a Java virtual machine
 * (SIGQUIT ends other programs). `pidfd` is borrowed. Waits for some seconds at most. A negative
 * errno: *problem says why.
 */
int java_attach(pid_t pid, int pidfd, const char *library, const struct invoker *user,
		struct problem *problem);

/* Its part that runs as the program's user. */
extern const struct user_task java_attach_task;

#endif
