/* SPDX-License-Identifier: BSD-2-Clause */
/* stack_pieces.c: which frames a program means by the key of a piece of a stack. */
/*
 * As with the keys of whole stacks (stack_keys.c) there are two tables: what is
 * set or used goes to the young one; when that is full, what processes that have
 * ended told is dropped; if that does not help it becomes the old one, and the old
 * one is dropped.
 */
#include "stack_pieces.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../util/buffer.h"

enum { SLOTS = 1 << 17, SLOTS_USED_MAX = SLOTS / 2, FRAMES_USED_MAX = 1 << 19 };

struct slot {
	uint64_t process; /* 0: empty */
	uint64_t key;
	uint32_t at; /* number of its first frame */
	uint32_t n;
	uint32_t quality;
	uint32_t open;
};

struct table {
	struct slot *slots; /* SLOTS; memory that is not used is not taken */
	struct buffer frames;
	uint64_t before; /* frames of all tables before this one */
	size_t used;
};

struct stack_pieces {
	struct table young, old;
	struct stack_owners owners;
};

static int table_create(struct table *table)
{
	*table = (struct table){.slots = calloc(SLOTS, sizeof(*table->slots))};
	return table->slots ? 0 : -ENOMEM;
}

static void table_free(struct table *table)
{
	free(table->slots);
	buffer_free(&table->frames);
}

void stack_pieces_free(struct stack_pieces *pieces)
{
	if (!pieces)
		return;
	table_free(&pieces->young);
	table_free(&pieces->old);
	free(pieces);
}

int stack_pieces_create(const struct stack_owners *owners, struct stack_pieces **out)
{
	struct stack_pieces *pieces = calloc(1, sizeof(*pieces));

	if (!pieces)
		return -ENOMEM;
	pieces->owners = *owners;
	if (table_create(&pieces->young) || table_create(&pieces->old)) {
		stack_pieces_free(pieces);
		return -ENOMEM;
	}
	*out = pieces;
	return 0;
}

/* The slot of the key, or the empty one where it belongs: a table is never full. */
static struct slot *find(const struct table *table, uint64_t process, uint64_t key)
{
	uint64_t hash =
		(key ^ process * UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xff51afd7ed558ccd);
	size_t at = hash >> 40;

	for (;; at++) {
		struct slot *slot = &table->slots[at % SLOTS];

		if (!slot->process || (slot->process == process && slot->key == key))
			return slot;
	}
}

static size_t n_frames(const struct table *table)
{
	return table->frames.size / sizeof(uint64_t);
}

static bool is_same(const struct table *table, const struct slot *slot,
		    const struct stack_piece *piece)
{
	return slot->process && slot->n == piece->n && slot->quality == piece->quality &&
	       slot->open == piece->open &&
	       !memcmp((const uint64_t *)(const void *)table->frames.data + slot->at, piece->frames,
		       piece->n * sizeof(uint64_t));
}

static void read_slot(const struct table *table, const struct slot *slot, struct stack_piece *piece)
{
	*piece = (struct stack_piece){
		.frames = slot->n ? (const uint64_t *)(const void *)table->frames.data + slot->at
				  : NULL,
		.n = slot->n,
		.place = table->before + slot->at,
		.quality = slot->quality,
		.open = slot->open,
	};
}

/* There is room for another piece with `frames` frames. */
static bool has_room(const struct table *table, size_t frames)
{
	return table->used < SLOTS_USED_MAX && n_frames(table) + frames <= FRAMES_USED_MAX;
}

static int put(struct table *table, uint64_t process, uint64_t key, const struct stack_piece *piece)
{
	struct slot *slot = find(table, process, key);

	if (buffer_append(&table->frames, piece->frames, piece->n * sizeof(uint64_t)))
		return -ENOMEM;
	table->used += !slot->process;
	*slot = (struct slot){.process = process,
			      .key = key,
			      .at = (uint32_t)(n_frames(table) - piece->n),
			      .n = (uint32_t)piece->n,
			      .quality = piece->quality,
			      .open = piece->open};
	return 0;
}

/* Copies what is of use of the young table; -ENOSPC if that is more than three quarters of it. */
static int copy_living(const struct stack_pieces *pieces, struct table *to)
{
	for (size_t i = 0; i < SLOTS; i++) {
		const struct slot *slot = &pieces->young.slots[i];
		struct stack_piece piece;

		if (!slot->process || !pieces->owners.lives(pieces->owners.context, slot->process))
			continue;
		read_slot(&pieces->young, slot, &piece);
		if (put(to, slot->process, slot->key, &piece))
			return -ENOMEM;
		if (to->used > SLOTS_USED_MAX / 4 * 3 || n_frames(to) > FRAMES_USED_MAX / 4 * 3)
			return -ENOSPC;
	}
	return 0;
}

/* For what comes behind the young one: no frame has a place of another. */
static int table_create_next(const struct stack_pieces *pieces, struct table *table)
{
	int err = table_create(table);

	table->before = pieces->young.before + n_frames(&pieces->young);
	return err;
}

/* The young table became full. */
static int make_room(struct stack_pieces *pieces)
{
	struct table fresh;
	int err;

	if (table_create_next(pieces, &fresh))
		return -ENOMEM;
	err = copy_living(pieces, &fresh);
	if (!err) {
		table_free(&pieces->young);
		pieces->young = fresh;
		return 0;
	}
	table_free(&fresh);
	if (err == -ENOMEM || table_create_next(pieces, &fresh))
		return -ENOMEM;
	table_free(&pieces->old);
	pieces->old = pieces->young;
	pieces->young = fresh;
	return 0;
}

/* Pieces are told again and again: only what changed takes new room. */
int stack_pieces_set(struct stack_pieces *pieces, uint64_t process, uint64_t key,
		     const struct stack_piece *piece)
{
	struct table *young = &pieces->young;
	const struct slot *slot = find(young, process, key);

	if (slot->process && piece->n && is_same(young, slot, piece))
		return 0;
	if (!has_room(young, piece->n) && make_room(pieces))
		return -ENOMEM;
	return put(young, process, key, piece);
}

/* Puts a piece of the old table into the young one. */
static int make_young(struct stack_pieces *pieces, struct slot *slot)
{
	struct slot found = *slot;
	struct stack_piece piece;
	uint64_t *frames = malloc(found.n * sizeof(*frames) + 1);
	int err;

	if (!frames)
		return -ENOMEM;
	read_slot(&pieces->old, &found, &piece);
	if (found.n)
		memcpy(frames, piece.frames, found.n * sizeof(*frames));
	piece.frames = frames;
	/* This may drop the old table. */
	err = stack_pieces_set(pieces, found.process, found.key, &piece);
	free(frames);
	return err;
}

bool stack_pieces_get(struct stack_pieces *pieces, uint64_t process, uint64_t key,
		      struct stack_piece *piece)
{
	struct slot *slot = find(&pieces->young, process, key);

	if (!slot->process) {
		slot = find(&pieces->old, process, key);
		if (!slot->process || make_young(pieces, slot))
			return false;
		slot = find(&pieces->young, process, key);
	}
	read_slot(&pieces->young, slot, piece);
	return true;
}
