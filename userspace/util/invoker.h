/* SPDX-License-Identifier: BSD-2-Clause */
/* invoker.h: the user who called gcprof, and how to act with that user's rights only. */
/*
 * Under sudo gcprof is root on behalf of somebody else. Verbs that need no root
 * become that user at once; `record` does whatever a path of that user leads to in
 * a child that has become the user.
 */
#ifndef GCPROF_INVOKER_H
#define GCPROF_INVOKER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct invoker {
	uid_t uid;
	gid_t gid;
	bool change;    /* we are somebody else: root on that user's behalf */
	char name[256]; /* for the supplementary groups; empty if the user has no name */
};

/*
 * The caller of sudo, pkexec or doas if they made us root; else the real user.
 * -EINVAL: the environment names a user whom there is not, in *variable.
 */
int invoker_find(struct invoker *out, const char **variable);

/*
 * Becomes the invoker for good: user, groups, and no capability unless the invoker
 * is root. For a process with one thread. 0 or a negative errno: then go no further.
 */
int invoker_become(const struct invoker *invoker);

/* Returns a descriptor or a negative errno, and may leave text, `size` bytes with the zero. */
typedef int invoker_task(const void *context, char *text, size_t size);

/*
 * Calls `task` with the rights of the invoker: in a child that became the invoker,
 * unless that is root. The descriptor (close it) or the negative errno, and the
 * text, are handed over.
 */
int invoker_call(const struct invoker *invoker, invoker_task *task, const void *context, char *text,
		 size_t size);

#endif
