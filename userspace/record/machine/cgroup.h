/* SPDX-License-Identifier: BSD-2-Clause */
/* cgroup.h: finds a cgroup (version 2) by the path that a user gave. */
#ifndef GCPROF_CGROUP_H
#define GCPROF_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../util/problem.h"
#include "user_task.h"

/*
 * Finds the kernel's id of a cgroup. `path` is that of the directory, or relative to the mount
 * point, resolved with the user's rights. Returns a descriptor of the directory, which does not
 * keep it from being removed, or a negative errno.
 */
int cgroup_open(const struct invoker *user, const char *path, uint64_t *id,
		struct problem *problem);

/* Where the hierarchy is mounted; false if nowhere. */
bool cgroup_mount(char *out, size_t size);

/* Its part that runs as the user. */
extern const struct user_task cgroup_task;

/* Was the directory removed? */
bool cgroup_is_gone(int fd);

#endif
