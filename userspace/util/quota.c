/* SPDX-License-Identifier: BSD-2-Clause */
/* quota.c: divides a budget among users, so that none can take it from the others. */
#include "quota.h"

#include <errno.h>
#include <pthread.h>

enum { REFUSED_MAX = 64 }; /* users whose refusals are counted one by one */

struct quota_user {
	uint32_t user;
	size_t used;
};

static struct {
	uint32_t user;
	uint64_t count;
} refused[REFUSED_MAX];
static size_t n_refused;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects these */

static struct quota_user *quota_find(const struct quota *quota, uint32_t user)
{
	struct quota_user *all = quota->users.all;

	for (size_t i = 0; i < array_count(&quota->users); i++)
		if (all[i].user == user)
			return &all[i];
	return NULL;
}

size_t quota_used(const struct quota *quota, uint32_t user)
{
	const struct quota_user *share = quota_find(quota, user);

	return share ? share->used : 0;
}

bool quota_allow(const struct quota *quota, uint32_t user, size_t n)
{
	size_t own = quota_used(quota, user) + n, used = quota->used + n;

	return used <= quota->most && own <= 3 * (quota->most - used);
}

int quota_add(struct quota *quota, uint32_t user, size_t n)
{
	const struct quota_user none = {.user = user};

	if (!quota_find(quota, user) && array_append(&quota->users, &none))
		return -ENOMEM;
	quota_find(quota, user)->used += n;
	quota->used += n;
	return 0;
}

bool quota_take(struct quota *quota, uint32_t user, size_t n)
{
	if (quota_allow(quota, user, n))
		return !quota_add(quota, user, n);
	quota_refuse(user);
	return false;
}

void quota_return(struct quota *quota, uint32_t user, size_t n)
{
	struct quota_user *share = quota_find(quota, user), *last;

	if (!share)
		return;
	share->used -= n;
	quota->used -= n;
	if (share->used)
		return;
	last = quota->users.all + array_count(&quota->users) - 1;
	*share = *last;
	quota->users.buffer.size -= sizeof(*last);
}

uint32_t quota_largest(const struct quota *quota)
{
	const struct quota_user *all = quota->users.all, *largest = NULL;

	for (size_t i = 0; i < array_count(&quota->users); i++)
		if (!largest || all[i].used > largest->used)
			largest = &all[i];
	return largest ? largest->user : UINT32_MAX;
}

void quota_clear(struct quota *quota)
{
	quota->users.buffer.size = quota->used = 0;
}

void quota_free(struct quota *quota)
{
	buffer_free(&quota->users.buffer);
	quota_clear(quota);
}

/* Beyond so many users, the last one stands for the others. */
void quota_refuse(uint32_t user)
{
	size_t i = 0;

	pthread_mutex_lock(&lock);
	while (i < n_refused && refused[i].user != user)
		i++;
	if (i == REFUSED_MAX)
		i--;
	if (i == n_refused)
		refused[n_refused++].user = user;
	refused[i].count++;
	pthread_mutex_unlock(&lock);
}

bool quota_refused(size_t *cursor, uint32_t *user, uint64_t *out)
{
	if (*cursor >= n_refused)
		return false;
	*user = refused[*cursor].user;
	*out = refused[*cursor].count;
	++*cursor;
	return true;
}
