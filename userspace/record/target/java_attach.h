/* SPDX-License-Identifier: BSD-2-Clause */
/* java_attach.h: has a Java virtual machine that runs already load an agent. */
#ifndef GCPROF_JAVA_ATTACH_H
#define GCPROF_JAVA_ATTACH_H

#include <sys/types.h>

#include "../../util/invoker.h"
#include "../../util/problem.h"

/*
 * As the machine's user does by `jcmd`, and with that user's rights. `user` is who called gcprof:
 * only root may do that to programs of others. The process is known to be a Java virtual machine
 * (SIGQUIT ends other programs). `pidfd` is borrowed. Waits for the machine, for some seconds at
 * most. A negative errno: *problem says why not.
 */
int java_attach(pid_t pid, int pidfd, const char *library, const struct invoker *user,
		struct problem *problem);

#endif
