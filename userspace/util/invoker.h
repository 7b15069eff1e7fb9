/* SPDX-License-Identifier: BSD-2-Clause */
/* invoker.h: the user who called gcprof, and running with only that user's rights. */
/*
 * Under sudo gcprof is root on behalf of another user. Verbs that need no root become that user at
 * once. `record` opens paths given by that user in a process that has become the user
 * (record/machine/user_task.h).
 */
#ifndef GCPROF_INVOKER_H
#define GCPROF_INVOKER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct invoker {
	uid_t uid;
	gid_t gid;
	bool change;    /* root on behalf of this user */
	char name[256]; /* for the supplementary groups; empty if the user has no name */
};

/*
 * The caller of sudo, pkexec or doas if they made us root; else the real user. -EINVAL: the
 * environment variable *variable names an unknown user. -EPERM: it names another user than one
 * before it.
 */
int invoker_find(struct invoker *out, const char **variable);

/*
 * Becomes the invoker permanently: user, groups, and no capability unless the invoker is root. For
 * single-threaded processes. 0 or a negative errno: then do not continue.
 */
int invoker_become(const struct invoker *invoker);

#endif
