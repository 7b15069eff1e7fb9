/* SPDX-License-Identifier: BSD-2-Clause */
/* cgroup.h: a cgroup (version 2) that a user names by its path. */
#ifndef GCPROF_CGROUP_H
#define GCPROF_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "../../util/invoker.h"
#include "../../util/problem.h"

/*
 * The kernel's number of it. `path`: of the folder, or relative to where the hierarchy
 * is mounted, as the user sees it. Returns a descriptor of the folder, which does not
 * keep it from being removed, or a negative errno.
 */
int cgroup_open(const struct invoker *user, const char *path, uint64_t *id,
		struct problem *problem);

/* Was the folder removed meanwhile? */
bool cgroup_is_gone(int fd);

#endif
