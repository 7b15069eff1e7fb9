/* SPDX-License-Identifier: BSD-2-Clause */
/* followed.c: the samples of runtimes whose outcomes an agent reports. */
#include "followed.h"

#include <errno.h>
#include <stdlib.h>

#include "../../util/map.h"

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
};

struct followed *followed_create(void)
{
	struct followed *followed = calloc(1, sizeof(*followed));

	if (!followed)
		return NULL;
	followed->all = map_create(sizeof(struct followed_key));
	if (followed->all)
		return followed;
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
	free(followed);
}

static uint64_t *bytes_of(const struct followed *followed, uint64_t process)
{
	const struct followed_key key = {process, KEY_PROCESS, 0};

	return map_get(followed->all, &key);
}

static int put(struct followed *followed, const struct followed_key *key, const struct taken *taken)
{
	uint64_t *value = map_get(followed->all, key);

	if (!value && map_count(followed->all) >= FOLLOWED_MAX)
		return -ENOSPC;
	if (!value)
		value = map_put(followed->all, key, NULL);
	if (value && !*value)
		*value = (uint64_t)(uintptr_t)malloc(sizeof(*taken));
	if (!value || !*value)
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

int followed_taken(struct followed *followed, uint64_t process, uint32_t tid, uint64_t sample,
		   uint64_t bytes)
{
	const struct followed_key key = {process, KEY_THREAD, tid};
	const struct followed_key sum_key = {process, KEY_PROCESS, 0};
	uint64_t *sum = map_put(followed->all, &sum_key, NULL);

	if (!sum)
		return -ENOMEM;
	*sum += bytes;
	return put(followed, &key, &(struct taken){sample, *sum});
}

int followed_name(struct followed *followed, uint64_t process, uint32_t tid, uint64_t name)
{
	const struct followed_key thread = {process, KEY_THREAD, tid};
	const struct followed_key key = {process, KEY_NAME, name};
	struct taken taken;

	return take(followed, &thread, true, &taken) ? put(followed, &key, &taken) : 0;
}

bool followed_find(struct followed *followed, uint64_t process, uint64_t name, bool ends,
		   struct followed_sample *out)
{
	const struct followed_key key = {process, KEY_NAME, name};
	const uint64_t *sum = bytes_of(followed, process);
	struct taken taken;

	if (!take(followed, &key, ends, &taken))
		return false;
	*out = (struct followed_sample){taken.sample, sum ? *sum - taken.born : 0};
	return true;
}

void followed_forget(struct followed *followed, uint64_t process)
{
	if (bytes_of(followed, process))
		map_filter(followed->all, drop, &process);
}
