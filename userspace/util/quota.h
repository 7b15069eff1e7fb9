/* SPDX-License-Identifier: BSD-2-Clause */
/* quota.h: divides a budget among users, so that none can take it from the others. */
/*
 * A user may have three times what is left to others. What is refused is counted by user, over all
 * budgets of this process. Not thread-safe except for quota_refuse().
 */
#ifndef GCPROF_QUOTA_H
#define GCPROF_QUOTA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "array.h"

struct quota_user;

struct quota {
	size_t most, used;
	ARRAY(struct quota_user) users; /* of those that have something */
};

/* Takes a part of the budget for this user; false: refused, or no memory. */
bool quota_take(struct quota *quota, uint32_t user, size_t n);

/* The same without a limit, to know who has how much. -ENOMEM. */
int quota_add(struct quota *quota, uint32_t user, size_t n);

/* May the user have as much? Refusals are not counted. */
bool quota_allow(const struct quota *quota, uint32_t user, size_t n);

/* What this user has. */
size_t quota_used(const struct quota *quota, uint32_t user);

void quota_return(struct quota *quota, uint32_t user, size_t n);

/* The user who has most; UINT32_MAX: nobody has anything. */
uint32_t quota_largest(const struct quota *quota);

/* Returns everything. */
void quota_clear(struct quota *quota);

void quota_free(struct quota *quota);

/* Counts something that was left out because this user had too much. */
void quota_refuse(uint32_t user);

/* What was left out so far, by user: the next one, from *cursor = 0 on; false: there are no more.
 */
bool quota_refused(size_t *cursor, uint32_t *user, uint64_t *count);

#endif
