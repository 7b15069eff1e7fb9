/* SPDX-License-Identifier: BSD-2-Clause */
/* process_quota.c: a budget for what belongs to processes, divided among their users. */
#include "process_quota.h"

#include <errno.h>

#include "map.h"

#define USER_SHIFT 32

int process_quota_init(struct process_quota *quota, size_t most)
{
	*quota = (struct process_quota){.quota.most = most, .parts = map_create(sizeof(uint64_t))};
	return quota->parts ? 0 : -ENOMEM;
}

void process_quota_free(struct process_quota *quota)
{
	quota_free(&quota->quota);
	map_free(quota->parts);
}

bool process_quota_take(struct process_quota *quota, uint64_t process, uint32_t user)
{
	uint64_t *part = map_get(quota->parts, &process);

	user = part ? (uint32_t)(*part >> USER_SHIFT) : user;
	if (!quota_allow(&quota->quota, user, 1))
		return false;
	part = map_put(quota->parts, &process, NULL);
	if (!part || quota_add(&quota->quota, user, 1))
		return false;
	*part = ((uint64_t)user << USER_SHIFT | (uint32_t)*part) + 1;
	return true;
}

void process_quota_return(struct process_quota *quota, uint64_t process, size_t n)
{
	uint64_t *part = map_get(quota->parts, &process);
	size_t has = part ? (uint32_t)*part : 0;

	n = n < has ? n : has;
	if (!n)
		return;
	quota_return(&quota->quota, (uint32_t)(*part >> USER_SHIFT), n);
	*part -= n;
	if (n == has)
		map_remove(quota->parts, &process);
}
