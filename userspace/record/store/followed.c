/* SPDX-License-Identifier: BSD-2-Clause */
/* followed.c: the samples of runtimes whose outcomes an agent reports. */
#include "live_objects.h"

#include <errno.h>
#include <stdlib.h>

#include "../../util/map.h"
#include "../../util/process_quota.h"

enum key_kind { KEY_PROCESS, KEY_THREAD, KEY_NAME };

struct followed_key {
	uint64_t process, kind;
	uint64_t number; /* thread, or name; 0: the process */
};

struct taken {
	uint64_t sample;
	uint64_t born; /* bytes that the process had allocated then */
};

struct followed {
	/* struct followed_key to struct taken *; for a process, to the bytes that its samples stand
	 * for. */
	struct map *all;
	struct process_quota room;
};

struct followed *followed_create(void)
{
	struct followed *followed = calloc(1, sizeof(*followed));

	if (!followed)
		return NULL;
	followed->all = map_create(sizeof(struct followed_key));
	if (followed->all && !process_quota_init(&followed->room, FOLLOWED_MAX))
		return followed;
	map_free(followed->all);
	free(followed);
	return NULL;
}

static bool drop(void *context, const void *key, uint64_t *value)
{
	const struct followed_key *of = key;
	const uint64_t *process = context;

	if (process && of->process != *process)
		return true;
	if (of->kind != KEY_PROCESS)
		free((void *)(uintptr_t)*value);
	return false;
}

void followed_free(struct followed *followed)
{
	if (!followed)
		return;
	map_filter(followed->all, drop, NULL);
	map_free(followed->all);
	process_quota_free(&followed->room);
	free(followed);
}

static uint64_t *bytes_of(const struct followed *followed, uint64_t process)
{
	const struct followed_key key = {process, KEY_PROCESS, 0};

	return map_get(followed->all, &key);
}

/* NULL: no memory, or the user has too many. */
static uint64_t *room_for(struct followed *followed, const struct followed_key *key, uint32_t user)
{
	uint64_t *value = map_get(followed->all, key);

	if (!value && process_quota_take(&followed->room, key->process, user))
		value = map_put(followed->all, key, NULL);
	return value;
}

/* `value`: of a key. */
static int set(uint64_t *value, const struct taken *taken)
{
	if (!*value)
		*value = (uint64_t)(uintptr_t)malloc(sizeof(*taken));
	if (!*value)
		return -ENOMEM;
	*(struct taken *)(uintptr_t)*value = *taken;
	return 0;
}

static bool take(struct followed *followed, const struct followed_key *key, bool remove,
		 struct taken *out)
{
	const uint64_t *value = map_get(followed->all, key);
	struct taken *taken = value ? (struct taken *)(uintptr_t)*value : NULL;

	if (!taken)
		return false;
	*out = *taken;
	if (remove) {
		free(taken);
		map_remove(followed->all, key);
	}
	return true;
}

int followed_taken(struct followed *followed, uint64_t process, uint32_t user, uint32_t tid,
		   uint64_t sample, uint64_t bytes)
{
	const struct followed_key key = {process, KEY_THREAD, tid};
	const struct followed_key sum_key = {process, KEY_PROCESS, 0};
	uint64_t *sum = room_for(followed, &sum_key, user), *value, born;

	if (!sum)
		return -ENOSPC;
	*sum += bytes;
	born = *sum;
	value = room_for(followed, &key, user);
	return value ? set(value, &(struct taken){sample, born}) : -ENOSPC;
}

int followed_name(struct followed *followed, uint64_t process, uint32_t tid, uint64_t name)
{
	const struct followed_key thread = {process, KEY_THREAD, tid};
	const struct followed_key key = {process, KEY_NAME, name};
	struct taken taken;
	uint64_t *value;
	bool is_new;

	if (!take(followed, &thread, true, &taken))
		return 0;
	/* It has the thread's room. */
	value = map_put(followed->all, &key, &is_new);
	if (!value || !is_new)
		process_quota_return(&followed->room, process, 1);
	return value ? set(value, &taken) : -ENOMEM;
}

bool followed_find(struct followed *followed, uint64_t process, uint64_t name, bool ends,
		   struct followed_sample *out)
{
	const struct followed_key key = {process, KEY_NAME, name};
	const uint64_t *sum = bytes_of(followed, process);
	struct taken taken;

	if (!take(followed, &key, ends, &taken))
		return false;
	if (ends)
		process_quota_return(&followed->room, process, 1);
	*out = (struct followed_sample){taken.sample, sum ? *sum - taken.born : 0};
	return true;
}

void followed_forget(struct followed *followed, uint64_t process)
{
	size_t before = map_count(followed->all);

	if (bytes_of(followed, process))
		map_filter(followed->all, drop, &process);
	process_quota_return(&followed->room, process, before - map_count(followed->all));
}
