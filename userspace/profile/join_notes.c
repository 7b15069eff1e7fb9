// SPDX-License-Identifier: BSD-2-Clause
/* join_notes.c: removes records that each file of a recording repeats. */
#include <errno.h>
#include <stdlib.h>

#include "carry_parts.h"
#include "join_parts.h"

struct note_id {
	uint64_t kind, owner_kind, owner, key;
};

struct join_notes {
	struct map *repeated; /* struct note_id: a hash of the last record */
	struct map *ended;    /* {kind, id} of ended processes and threads: the turn */
	uint64_t turn;
	struct buffer packed;
};

int join_notes_create(struct join_notes **out)
{
	struct join_notes *notes = calloc(1, sizeof(*notes));

	if (notes) {
		notes->repeated = map_create(sizeof(struct note_id));
		notes->ended = map_create(2 * sizeof(uint64_t));
	}
	if (!notes || !notes->repeated || !notes->ended) {
		join_notes_free(notes);
		return -ENOMEM;
	}
	*out = notes;
	return 0;
}

void join_notes_free(struct join_notes *notes)
{
	if (!notes)
		return;
	map_free(notes->repeated);
	map_free(notes->ended);
	buffer_free(&notes->packed);
	free(notes);
}

static struct note_id id_of(const struct record *record)
{
	const struct rule *rule = &carry_rules[record->kind];

	return (struct note_id){record->kind, rule->owner, carry_at(record, rule->owner_field),
				carry_key(record, NULL)};
}

/* 1: the record repeats the last one with the same owner and key; 0: it does not; -ENOMEM. */
static int take_repeated(struct join *join, const struct record *record)
{
	struct join_notes *notes = join->notes;
	const struct note_id id = id_of(record);
	struct record copy = *record;
	uint64_t *repeated, hash;
	bool added;
	int err;

	/* `time` is the first field of all of these. */
	if (carry_rules[record->kind].at_begin)
		copy.period.time = 0;
	err = codec_pack(join->codec, &copy, &notes->packed);
	repeated = err ? NULL : map_put(notes->repeated, &id, &added);
	if (!repeated)
		return err ? err : -ENOMEM;
	hash = map_hash(map_seed(), notes->packed.data, notes->packed.size);
	if (!added && *repeated == hash)
		return 1;
	*repeated = hash;
	return 0;
}

static int take_exit(struct join_notes *notes, const struct record_exit *exit, uint64_t process)
{
	const uint64_t keys[][2] = {{REF_thread, exit->thread}, {REF_process, process}};

	for (int i = 0; i < (exit->last && process ? 2 : 1); i++) {
		uint64_t *turn = map_put(notes->ended, keys[i], NULL);

		if (!turn)
			return -ENOMEM;
		*turn = notes->turn;
	}
	return 0;
}

int join_note(struct join *join, const struct join_input *input, const struct record *record)
{
	/* A file repeats collections in progress at its start, and the state of call tracing. */
	if (record->kind == RECORD_gc_begin)
		return record->gc_begin.time - input->shift <= input->known;
	if (record->kind == RECORD_call_window)
		return input->known && record->call_window.end - record->call_window.begin == 1;
	switch (carry_rules[record->kind].action) {
	case ACTION_NAME:
	case ACTION_NOTE:
		return take_repeated(join, record);
	default:
		break;
	}
	if (record->kind != RECORD_exit)
		return 0;
	return take_exit(join->notes, &record->exit,
			 join_ids_get(&join->processes, record->exit.thread));
}

static bool is_over(const struct join_notes *notes, const struct note_id *id)
{
	const uint64_t key[] = {id->owner_kind, id->owner}, *turn = map_get(notes->ended, key);

	return turn && *turn < notes->turn;
}

static bool keep_repeated(void *context, const void *key, uint64_t *value)
{
	(void)value;
	return !is_over(context, key);
}

static bool keep_ended(void *context, const void *key, uint64_t *value)
{
	const struct join_notes *notes = context;

	(void)key;
	return *value >= notes->turn;
}

void join_notes_turn(struct join_notes *notes)
{
	map_filter(notes->repeated, keep_repeated, notes);
	map_filter(notes->ended, keep_ended, notes);
	notes->turn++;
}
