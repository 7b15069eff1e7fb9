/* SPDX-License-Identifier: BSD-2-Clause */
/* group_limits.h: what control groups limit: for how long the kernel stopped threads because a CPU
 * quota was used, and how much memory there is. */
/*
 * Followed are the control groups of some processes, and all above them: each may have a quota
 * (cpu.max, or cpu.cfs_quota_us in version 1) and a limit of memory (memory.max, or
 * memory.limit_in_bytes). Not thread-safe.
 */
#ifndef GCPROF_GROUP_LIMITS_H
#define GCPROF_GROUP_LIMITS_H

#include <stdint.h>

struct profile_writer;
struct group_limits;

int group_limits_create(struct group_limits **out);  /* 0 or -ENOMEM */
void group_limits_free(struct group_limits *limits); /* NULL is allowed */

/* Follows a process, as in /proc here; of many the first ones. It may change its groups. */
void group_limits_follow(struct group_limits *limits, uint32_t pid);

/* Writes for how long these groups were stopped since the last call, 0 as well, and the memory that
 * all these processes may use. 0 or a negative errno. */
int group_limits_put(struct group_limits *limits, struct profile_writer *writer, uint64_t time);

#endif
