/* SPDX-License-Identifier: BSD-2-Clause */
/* stack_keys.c: the stacks and stack segments behind the keys that programs use. */
/*
 * Two tables: keys that are set or used go to the young one. When it is full, keys of ended
 * processes are dropped. If that does not help, it becomes the old table, and the previous old one
 * is dropped with all keys not used since. Memory thus does not grow with the number of processes
 * over time. The tables use open addressing, because every sample makes a lookup.
 */
#include "stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../util/buffer.h"

struct entry {
	uint64_t process; /* 0: empty */
	uint64_t key;
	uint32_t at; /* index of its first frame */
	uint32_t n;
	uint32_t quality;
	uint32_t open;
};

struct table {
	struct entry *entries; /* 2 * keys_max entries; untouched memory is not allocated */
	struct buffer frames;
	uint64_t before; /* total frames of earlier tables */
	size_t mask;     /* number of entries - 1 */
	size_t used;
};

struct stack_keys {
	struct table young, old;
	size_t keys_max, frames_max; /* per table */
	struct stack_owners owners;
};

static int table_create(const struct stack_keys *keys, struct table *table)
{
	*table = (struct table){.entries = calloc(2 * keys->keys_max, sizeof(*table->entries)),
				.mask = 2 * keys->keys_max - 1};
	return table->entries ? 0 : -ENOMEM;
}

static void table_free(struct table *table)
{
	free(table->entries);
	buffer_free(&table->frames);
}

void stack_keys_free(struct stack_keys *keys)
{
	if (!keys)
		return;
	table_free(&keys->young);
	table_free(&keys->old);
	free(keys);
}

int stack_keys_create(const struct stack_owners *owners, size_t n_keys, size_t n_frames,
		      struct stack_keys **out)
{
	struct stack_keys *keys = calloc(1, sizeof(*keys));

	if (!keys)
		return -ENOMEM;
	keys->owners = *owners;
	keys->keys_max = n_keys;
	keys->frames_max = n_frames;
	if (table_create(keys, &keys->young) || table_create(keys, &keys->old)) {
		stack_keys_free(keys);
		return -ENOMEM;
	}
	*out = keys;
	return 0;
}

/* The entry of the key, or the empty one where it belongs; a table is never full. */
static struct entry *find(const struct table *table, uint64_t process, uint64_t key)
{
	uint64_t hash =
		(key ^ process * UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xff51afd7ed558ccd);
	size_t at = hash >> 40;

	for (;; at++) {
		struct entry *entry = &table->entries[at & table->mask];

		if (!entry->process || (entry->process == process && entry->key == key))
			return entry;
	}
}

static size_t n_frames(const struct table *table)
{
	return table->frames.size / sizeof(uint64_t);
}

static bool is_same(const struct table *table, const struct entry *entry,
		    const struct stack_segment *segment)
{
	return entry->process && entry->n == segment->n && entry->quality == segment->quality &&
	       entry->open == segment->open &&
	       !memcmp((const uint64_t *)(const void *)table->frames.data + entry->at,
		       segment->frames, segment->n * sizeof(uint64_t));
}

static void read_entry(const struct table *table, const struct entry *entry,
		       struct stack_segment *segment)
{
	*segment = (struct stack_segment){
		.frames = entry->n ? (const uint64_t *)(const void *)table->frames.data + entry->at
				   : NULL,
		.n = entry->n,
		.place = table->before + entry->at,
		.quality = entry->quality,
		.open = entry->open,
	};
}

/* Is there room for another key with `frames` frames? */
static bool has_room(const struct stack_keys *keys, size_t frames)
{
	return keys->young.used < keys->keys_max &&
	       n_frames(&keys->young) + frames <= keys->frames_max;
}

static int put(struct table *table, uint64_t process, uint64_t key,
	       const struct stack_segment *segment)
{
	struct entry *entry = find(table, process, key);

	if (buffer_append(&table->frames, segment->frames, segment->n * sizeof(uint64_t)))
		return -ENOMEM;
	table->used += !entry->process;
	*entry = (struct entry){.process = process,
				.key = key,
				.at = (uint32_t)(n_frames(table) - segment->n),
				.n = (uint32_t)segment->n,
				.quality = segment->quality,
				.open = segment->open};
	return 0;
}

/* Copies the useful entries of the young table; -ENOSPC if they fill more than three quarters. */
static int copy_living(const struct stack_keys *keys, struct table *to)
{
	for (size_t i = 0; i <= keys->young.mask; i++) {
		const struct entry *entry = &keys->young.entries[i];
		struct stack_segment segment;

		if (!entry->process || !keys->owners.lives(keys->owners.context, entry->process))
			continue;
		read_entry(&keys->young, entry, &segment);
		if (put(to, entry->process, entry->key, &segment))
			return -ENOMEM;
		if (to->used > keys->keys_max / 4 * 3 || n_frames(to) > keys->frames_max / 4 * 3)
			return -ENOSPC;
	}
	return 0;
}

/* Creates the successor of the young table, so that no two frames share a place. */
static int table_create_next(const struct stack_keys *keys, struct table *table)
{
	int err = table_create(keys, table);

	table->before = keys->young.before + n_frames(&keys->young);
	return err;
}

/* The young table is full. */
static int make_room(struct stack_keys *keys)
{
	struct table fresh;
	int err;

	if (table_create_next(keys, &fresh))
		return -ENOMEM;
	err = copy_living(keys, &fresh);
	if (!err) {
		table_free(&keys->young);
		keys->young = fresh;
		return 0;
	}
	table_free(&fresh);
	if (err == -ENOMEM || table_create_next(keys, &fresh))
		return -ENOMEM;
	table_free(&keys->old);
	keys->old = keys->young;
	keys->young = fresh;
	return 0;
}

/* Programs announce the same keys repeatedly; only changes take new room. */
int stack_keys_set_segment(struct stack_keys *keys, uint64_t process, uint64_t key,
			   const struct stack_segment *segment)
{
	struct table *young = &keys->young;
	const struct entry *entry = find(young, process, key);

	if (entry->process && segment->n && is_same(young, entry, segment))
		return 0;
	if (!has_room(keys, segment->n) && make_room(keys))
		return -ENOMEM;
	return put(young, process, key, segment);
}

/* Moves an entry of the old table to the young one. */
static int make_young(struct stack_keys *keys, struct entry *entry)
{
	struct entry found = *entry;
	struct stack_segment segment;
	uint64_t *frames = malloc(found.n * sizeof(*frames) + 1);
	int err;

	if (!frames)
		return -ENOMEM;
	read_entry(&keys->old, &found, &segment);
	if (found.n)
		memcpy(frames, segment.frames, found.n * sizeof(*frames));
	segment.frames = frames;
	/* This may drop the old table. */
	err = stack_keys_set_segment(keys, found.process, found.key, &segment);
	free(frames);
	return err;
}

bool stack_keys_get_segment(struct stack_keys *keys, uint64_t process, uint64_t key,
			    struct stack_segment *segment)
{
	struct entry *entry = find(&keys->young, process, key);

	if (!entry->process) {
		entry = find(&keys->old, process, key);
		if (!entry->process || make_young(keys, entry))
			return false;
		entry = find(&keys->young, process, key);
	}
	read_entry(&keys->young, entry, segment);
	return true;
}

int stack_keys_set(struct stack_keys *keys, uint64_t process, uint64_t key,
		   const struct keyed_stack *keyed)
{
	const struct stack_segment segment = {
		.frames = &keyed->stack, .n = 1, .quality = (uint32_t)keyed->quality};

	return stack_keys_set_segment(keys, process, key, &segment);
}

bool stack_keys_get(struct stack_keys *keys, uint64_t process, uint64_t key,
		    struct keyed_stack *keyed)
{
	struct stack_segment segment;

	if (!stack_keys_get_segment(keys, process, key, &segment))
		return false;
	*keyed = (struct keyed_stack){segment.frames[0], segment.quality};
	return true;
}
