/* SPDX-License-Identifier: BSD-2-Clause */
/* code_owners.c: what /proc says about processes that generate code, read while they run. */
#include "frame_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "../../util/map.h"
#include "../../util/quota.h"

#define OWNERS_MAX 4096

struct code_owners {
	struct opener *opener;
	struct map *owners; /* process to struct code_owner * */
	struct map *met;    /* pids of processes whose index is not known yet */
	struct quota quota;
};

int code_owners_create(struct opener *opener, struct code_owners **out)
{
	struct code_owners *owners = calloc(1, sizeof(*owners));

	if (!owners)
		return -ENOMEM;
	owners->opener = opener;
	owners->quota.most = OWNERS_MAX;
	owners->owners = map_create(sizeof(uint64_t));
	owners->met = map_create(sizeof(uint32_t));
	if (!owners->owners || !owners->met) {
		code_owners_free(owners);
		return -ENOMEM;
	}
	*out = owners;
	return 0;
}

static void free_owner(struct code_owners *owners, struct code_owner *owner)
{
	if (!owner)
		return;
	opener_cancel(owners->opener, owner);
	quota_return(&owners->quota, owner->user, 1);
	if (owner->temporary >= 0)
		close(owner->temporary);
	free(owner);
}

static struct code_owner *owner_at(const uint64_t *slot)
{
	return slot ? (struct code_owner *)(uintptr_t)*slot : NULL;
}

static void free_all(struct code_owners *owners, struct map *all)
{
	size_t cursor = 0;
	const void *key;
	uint64_t *value;

	while (all && map_next(all, &cursor, &key, &value))
		free_owner(owners, owner_at(value));
	map_free(all);
}

void code_owners_free(struct code_owners *owners)
{
	if (!owners)
		return;
	free_all(owners, owners->owners);
	free_all(owners, owners->met);
	quota_free(&owners->quota);
	free(owners);
}

static void temporary_opened(void *context, const struct opener_result *result)
{
	((struct code_owner *)context)->temporary = result->fd;
}

/* NULL if it ended, since the owner of such a file can no longer be determined. */
static struct code_owner *read_owner(struct code_owners *owners, uint32_t pid)
{
	struct code_owner *owner = malloc(sizeof(*owner));

	if (owner && (code_owner_find(pid, owner) || !quota_take(&owners->quota, owner->user, 1))) {
		free(owner);
		owner = NULL;
	}
	if (owner)
		(void)opener_temporary(owners->opener, pid, temporary_opened, owner);
	return owner;
}

/* Takes over the owner; NULL if that is NULL, or there is no memory. */
static struct code_owner *code_owners_put(struct code_owners *owners, struct map *map,
					  const void *key, struct code_owner *owner)
{
	uint64_t *slot = owner ? map_put(map, key, NULL) : NULL;

	if (slot)
		*slot = (uintptr_t)owner;
	else
		free_owner(owners, owner);
	return owner_at(slot);
}

void code_owners_meet(struct code_owners *owners, uint64_t process, uint32_t pid)
{
	if (!(process && map_get(owners->owners, &process)) && !map_get(owners->met, &pid))
		code_owners_put(owners, owners->met, &pid, read_owner(owners, pid));
}

const struct code_owner *code_owners_find(struct code_owners *owners, uint64_t process,
					  uint32_t pid)
{
	struct code_owner *known = owner_at(map_get(owners->owners, &process));
	struct code_owner *met = owner_at(map_get(owners->met, &pid));

	map_remove(owners->met, &pid);
	if (known) {
		free_owner(owners, met);
		return known;
	}
	return code_owners_put(owners, owners->owners, &process,
			       met ? met : read_owner(owners, pid));
}

const struct code_owner *code_owners_get(const struct code_owners *owners, uint64_t process)
{
	return owner_at(map_get(owners->owners, &process));
}

bool code_owners_forget(struct code_owners *owners, uint64_t process)
{
	struct code_owner *owner = owner_at(map_get(owners->owners, &process));

	if (!owner)
		return false;
	map_remove(owners->owners, &process);
	free_owner(owners, owner);
	return true;
}
