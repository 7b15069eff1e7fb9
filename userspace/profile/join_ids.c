// SPDX-License-Identifier: BSD-2-Clause
/* join_ids.c: converts ids and times of several profiles to those of one. */
/*
 * Equal definitions of several inputs get one id. Processes, threads and kernel frames cannot be
 * compared by content. They are equal only if both inputs are files of one recording, which gives
 * them a common id.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "join_parts.h"

enum {
	GAP = 1 << 16,          /* maximum by which an id may exceed the number of defined ids */
	INTERNED_MAX = 1 << 21, /* definitions per kind; beyond it all are forgotten */
};

int join_ids_put(struct join_ids *ids, uint64_t id, uint64_t value)
{
	uint64_t limit = ids->limit ? ids->limit : 1024;
	uint32_t *items;

	if (id > ids->defined + GAP || value > UINT32_MAX)
		return -EBADMSG;
	while (limit <= id)
		limit *= 2;
	if (limit > ids->limit) {
		items = realloc(ids->items, limit * sizeof(*items));
		if (!items)
			return -ENOMEM;
		memset(items + ids->limit, 0, (limit - ids->limit) * sizeof(*items));
		ids->items = items;
		ids->limit = limit;
	}
	ids->items[id] = (uint32_t)value;
	ids->defined++;
	return 0;
}

uint64_t join_ids_get(const struct join_ids *ids, uint64_t id)
{
	return id < ids->limit ? ids->items[id] : 0;
}

static uint64_t *number_at(struct record *record, const struct field_info *field)
{
	return (uint64_t *)(void *)((char *)record + field->offset);
}

/* The recording number in a record; NULL: none. */
static uint64_t *recording_of(struct record *record)
{
	return record->kind == RECORD_process       ? &record->process.recording
	       : record->kind == RECORD_call_window ? &record->call_window.recording
	       : record->kind == RECORD_paused      ? &record->paused.recording
						    : NULL;
}

int join_translate(struct join *join, struct join_input *input, struct record *record)
{
	const struct record_info *info = record_info(record->kind);
	uint64_t *recording = recording_of(record);
	bool whose = record_defines(record->kind) == REF_none || record->kind == RECORD_thread;

	for (size_t i = 0; i < info->n_fields; i++) {
		const struct field_info *field = &info->fields[i];
		uint64_t *number = number_at(record, field), id = *number;

		if (field->time && id)
			*number += input->shift;
		if (field->ref == REF_none || !id)
			continue;
		*number = join_ids_get(&input->ids[field->ref], id);
		/* Events of unknown threads are useless; other references may be unknown. */
		if (!*number && whose && (field->ref == REF_thread || field->ref == REF_process))
			return -EBADMSG;
	}
	if (recording && *recording >= input->n_recordings)
		return -EBADMSG;
	if (recording)
		*recording = join->n_recordings > 1 ? input->recordings[*recording] : 0;
	return 0;
}

/* Equal definitions have equal keys. */
struct definition_key {
	uint64_t hash[2];
};

static struct definition_key key_of(const void *data, size_t size, uint64_t more)
{
	uint64_t seed = map_seed() ^ more;

	return (struct definition_key){{map_hash(seed, data, size), map_hash(~seed, data, size)}};
}

/* *made is false if the definition cannot be compared. */
static int make_key(struct join *join, const struct join_input *input, const struct record *record,
		    struct definition_key *out, bool *made)
{
	const uint64_t recording = input->recordings[0];
	struct record copy = *record;
	uint64_t *common = record_common(&copy);
	int err;

	*made = !common || *common;
	if (common) {
		const uint64_t words[] = {copy.kind, *common,
					  copy.kind == RECORD_thread    ? copy.thread.process
					  : copy.kind == RECORD_process ? copy.process.recording
									: recording};

		*out = key_of(words, sizeof(words), 0);
		return 0;
	}
	copy.string.id = 0; /* the first field of all of these */
	err = codec_pack(join->codec, &copy, &join->packed);
	/* Different machines may have different files at one path. */
	*out = key_of(join->packed.data, join->packed.size,
		      copy.kind == RECORD_module && !copy.module.build_id.size ? recording : 0);
	return err;
}

/* Gets the definition's id in the result; *added: it is new. */
static int intern(struct join *join, const struct join_input *input, const struct record *record,
		  uint64_t *id, bool *added)
{
	struct join_interned *interned = &join->interned[record_defines(record->kind)];
	struct definition_key key;
	uint64_t *place = NULL;
	bool made;
	int err = make_key(join, input, record, &key, &made);

	*added = true;
	if (err)
		return err;
	if (made && map_count(interned->ids) >= INTERNED_MAX)
		map_clear(interned->ids);
	if (made && !(place = map_put(interned->ids, &key, added)))
		return -ENOMEM;
	*id = place && !*added ? *place : ++interned->last;
	if (place)
		*place = *id;
	return 0;
}

int join_define(struct join *join, struct join_input *input, struct record *record)
{
	struct join_ids *ids = &input->ids[record_defines(record->kind)];
	uint64_t *common = record_common(record), local = record->string.id;
	bool added;
	int err = join_translate(join, input, record);

	/* In a profile of several recordings, the recording of a kernel frame is unknown. */
	if (!err && record->kind == RECORD_kernel_frame && input->n_recordings > 2)
		*common = 0;
	err = err ? err : intern(join, input, record, &record->string.id, &added);
	err = err ? err : join_ids_put(ids, local, record->string.id);
	if (err || !added)
		return err;
	if (record->kind == RECORD_thread)
		err = join_ids_put(&join->processes, record->thread.id, record->thread.process);
	return err ? err : profile_writer_put(join->writer, record);
}
