/* SPDX-License-Identifier: BSD-2-Clause */
/* stack_keys.c: which stack a program means by a key. */
/*
 * Two tables: what is set or used goes to the young one. When that is full, keys
 * of processes that have ended are dropped; if that does not help it becomes the
 * old one, and the old one, with all that nobody asked for meanwhile, is dropped.
 * So memory does not grow with the processes that come and go. The tables are
 * arrays with open addressing: a lookup is made for each sample.
 */
#include "stack_keys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 1 << 18, YOUNG_MAX = SLOTS / 2, LIVING_MAX = YOUNG_MAX / 4 * 3 };

struct slot {
	uint64_t process; /* 0: empty */
	uint64_t key;
	uint64_t stack;
	uint64_t quality;
};

struct stack_keys {
	struct slot *young, *old; /* SLOTS each; the memory that is not used is not taken */
	size_t n_young;
	struct stack_owners owners;
};

void stack_keys_free(struct stack_keys *keys)
{
	if (!keys)
		return;
	free(keys->young);
	free(keys->old);
	free(keys);
}

int stack_keys_create(const struct stack_owners *owners, struct stack_keys **out)
{
	struct stack_keys *keys = calloc(1, sizeof(*keys));

	if (!keys)
		return -ENOMEM;
	keys->owners = *owners;
	keys->young = calloc(SLOTS, sizeof(*keys->young));
	keys->old = calloc(SLOTS, sizeof(*keys->old));
	if (!keys->young || !keys->old) {
		stack_keys_free(keys);
		return -ENOMEM;
	}
	*out = keys;
	return 0;
}

/* The slot of the key, or the empty one where it belongs: a table is never full. */
static struct slot *find(struct slot *slots, uint64_t process, uint64_t key)
{
	uint64_t hash =
		(key ^ process * UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xff51afd7ed558ccd);
	size_t at = hash >> 40;

	for (;; at++) {
		struct slot *slot = &slots[at % SLOTS];

		if (!slot->process || (slot->process == process && slot->key == key))
			return slot;
	}
}

static bool lives(const struct stack_keys *keys, const struct slot *slot)
{
	return slot->process && keys->owners.lives(keys->owners.context, slot->process);
}

static size_t count_living(const struct stack_keys *keys)
{
	size_t n = 0;

	for (size_t i = 0; i < SLOTS; i++)
		n += lives(keys, &keys->young[i]);
	return n;
}

static void copy_living(const struct stack_keys *keys, struct slot *to)
{
	for (size_t i = 0; i < SLOTS; i++) {
		const struct slot *slot = &keys->young[i];

		if (lives(keys, slot))
			*find(to, slot->process, slot->key) = *slot;
	}
}

/* The young table became full. */
static int make_room(struct stack_keys *keys)
{
	struct slot *fresh = calloc(SLOTS, sizeof(*fresh));
	size_t living = count_living(keys);

	if (!fresh)
		return -ENOMEM;
	if (living <= LIVING_MAX) {
		copy_living(keys, fresh);
		free(keys->young);
	} else {
		free(keys->old);
		keys->old = keys->young;
		living = 0;
	}
	keys->young = fresh;
	keys->n_young = living;
	return 0;
}

int stack_keys_set(struct stack_keys *keys, uint64_t process, uint64_t key,
		   const struct stack_told *told)
{
	struct slot *slot = find(keys->young, process, key);

	if (!slot->process && keys->n_young == YOUNG_MAX) {
		if (make_room(keys))
			return -ENOMEM;
		slot = find(keys->young, process, key);
	}
	keys->n_young += !slot->process;
	*slot = (struct slot){process, key, told->stack, told->quality};
	return 0;
}

bool stack_keys_get(struct stack_keys *keys, uint64_t process, uint64_t key,
		    struct stack_told *told)
{
	const struct slot *slot = find(keys->young, process, key);
	bool young = slot->process != 0;

	if (!young)
		slot = find(keys->old, process, key);
	if (!slot->process)
		return false;
	*told = (struct stack_told){slot->stack, slot->quality};
	/* Without memory it is just not made young. */
	if (!young)
		stack_keys_set(keys, process, key, told);
	return true;
}
