/* SPDX-License-Identifier: BSD-2-Clause */
/* cgroup.h: the kernel's number of a cgroup (version 2) that a user names by its path. */
#ifndef GCPROF_CGROUP_H
#define GCPROF_CGROUP_H

#include <stdint.h>

#include "problem.h"

/* `path`: of the folder, or relative to where the hierarchy is mounted. */
int cgroup_find(const char *path, uint64_t *id, struct problem *problem);

#endif
