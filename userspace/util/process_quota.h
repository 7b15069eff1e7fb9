/* SPDX-License-Identifier: BSD-2-Clause */
/* process_quota.h: a budget for what belongs to processes, divided among their users (quota.h). */
#ifndef GCPROF_PROCESS_QUOTA_H
#define GCPROF_PROCESS_QUOTA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "quota.h"

struct process_quota {
	struct quota quota;
	struct map *parts; /* process to its user, the upper half, and how much it has */
};

/* `most`: all together, at most UINT32_MAX. -ENOMEM. Not thread-safe. */
int process_quota_init(struct process_quota *quota, size_t most);
void process_quota_free(struct process_quota *quota); /* zeroed: nothing happens */

/* Takes one. Its user pays, even if the process becomes another's before it returns everything.
 * False: refused, which is not counted (quota_refuse()), or no memory. */
bool process_quota_take(struct process_quota *quota, uint64_t process, uint32_t user);

/* Returns `n`, or all that it has if that is less. */
void process_quota_return(struct process_quota *quota, uint64_t process, size_t n);

#endif
