// SPDX-License-Identifier: BSD-2-Clause
/* followed.c: which processes are followed, by the numbers that they have where the recorder is. */
/*
 * Entries are kept when a process ends, for what is told of it later; there are
 * never more than there are process numbers.
 */
#include <errno.h>
#include <stdlib.h>

#include "followed.h"
#include "../../util/map.h"

struct followed {
	struct map *by_proc; /* proc pid to pid */
	struct map *by_pid;  /* pid to proc pid, where they differ */
	struct map *ended;   /* proc pid to the time */
	struct map *told;    /* pid to the time */
};

int followed_create(struct followed **out)
{
	struct followed *followed = calloc(1, sizeof(*followed));

	if (!followed)
		return -ENOMEM;
	followed->by_proc = map_create(sizeof(uint32_t));
	followed->by_pid = map_create(sizeof(uint32_t));
	followed->ended = map_create(sizeof(uint32_t));
	followed->told = map_create(sizeof(uint32_t));
	if (!followed->by_proc || !followed->by_pid || !followed->ended || !followed->told) {
		followed_free(followed);
		return -ENOMEM;
	}
	*out = followed;
	return 0;
}

void followed_free(struct followed *followed)
{
	if (!followed)
		return;
	map_free(followed->by_proc);
	map_free(followed->by_pid);
	map_free(followed->ended);
	map_free(followed->told);
	free(followed);
}

int followed_add(struct followed *followed, uint32_t proc_pid, uint32_t pid)
{
	bool ended = map_get(followed->ended, &proc_pid) != NULL;
	uint64_t *slot = map_put(followed->by_proc, &proc_pid, NULL);
	uint64_t *back = proc_pid != pid ? map_put(followed->by_pid, &pid, NULL) : NULL;
	bool known = slot && *slot == pid && !ended;

	if (!slot || (proc_pid != pid && !back))
		return -ENOMEM;
	*slot = pid;
	if (back)
		*back = proc_pid;
	map_remove(followed->ended, &proc_pid);
	/* Another process of the same number was told. */
	if (!known)
		map_remove(followed->told, &pid);
	return !known;
}

void followed_end(struct followed *followed, uint32_t pid, uint64_t time)
{
	uint32_t proc_pid = followed_proc_pid(followed, pid);
	const uint64_t *known = map_get(followed->by_proc, &proc_pid);
	uint64_t *slot;

	if (!known || *known != pid)
		return;
	slot = map_put(followed->ended, &proc_pid, NULL);
	if (slot)
		*slot = time;
}

struct sweep {
	struct followed *followed;
	uint64_t time;
};

static bool sweep_ended(void *context, const void *key, uint64_t *ended)
{
	const struct sweep *sweep = context;
	struct followed *followed = sweep->followed;
	const uint64_t *known = map_get(followed->by_proc, key);
	uint32_t pid = known ? (uint32_t)*known : 0;
	const uint64_t *back = map_get(followed->by_pid, &pid);

	if (*ended >= sweep->time)
		return true;
	if (back && (uint32_t)*back == *(const uint32_t *)key)
		map_remove(followed->by_pid, &pid);
	map_remove(followed->by_proc, key);
	map_remove(followed->told, &pid);
	return false;
}

void followed_sweep(struct followed *followed, uint64_t time)
{
	struct sweep sweep = {followed, time};

	map_filter(followed->ended, sweep_ended, &sweep);
}

bool followed_has(const struct followed *followed, uint32_t pid, uint64_t time)
{
	const uint64_t *back = map_get(followed->by_pid, &pid);

	return followed_pid(followed, back ? (uint32_t)*back : pid, time) == pid;
}

uint32_t followed_pid(const struct followed *followed, uint32_t proc_pid, uint64_t time)
{
	const uint64_t *pid = map_get(followed->by_proc, &proc_pid);
	const uint64_t *ended = map_get(followed->ended, &proc_pid);

	return pid && (!ended || time <= *ended) ? (uint32_t)*pid : 0;
}

uint32_t followed_proc_pid(const struct followed *followed, uint32_t pid)
{
	const uint64_t *back = map_get(followed->by_pid, &pid);

	return back ? (uint32_t)*back : pid;
}

int followed_tell(struct followed *followed, uint32_t pid, uint64_t time)
{
	uint64_t *told = map_put(followed->told, &pid, NULL);

	if (!told)
		return -ENOMEM;
	*told = time;
	return 0;
}

uint64_t followed_told(const struct followed *followed, uint32_t pid)
{
	const uint64_t *told = map_get(followed->told, &pid);

	return told ? *told : 0;
}
