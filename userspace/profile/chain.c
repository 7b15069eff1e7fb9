// SPDX-License-Identifier: BSD-2-Clause
/* chain.c: reads recordings from any of their segments on. */
#include "chain.h"

#include <errno.h>
#include <stdlib.h>

#include "../util/buffer.h"
#include "../util/id_map.h"

/* Consecutive segments that were read. */
struct run {
	uint64_t first, last;
};

struct chain {
	struct buffer runs; /* struct buffer[], by recording, of struct run[] in ascending order */
	uint64_t recording, segment; /* the current ones; 0: none yet */
	uint64_t time;
	struct id_map *ids;   /* by recording and kind: the number in place of an id; NULL: ids are
				 as they are */
	uint64_t last[REFS];  /* the highest number */
	uint64_t whole[REFS]; /* ids up to here are as they are */
	uint64_t known;       /* the frame whose definition was left out last; 0: another record */
};

struct chain *chain_create(void)
{
	return calloc(1, sizeof(struct chain));
}

static size_t n_recordings(const struct chain *chain)
{
	return chain->runs.size / sizeof(struct buffer);
}

static struct buffer *runs_in(const struct chain *chain, uint64_t recording)
{
	return (struct buffer *)(void *)chain->runs.data + recording;
}

void chain_free(struct chain *chain)
{
	if (!chain)
		return;
	for (size_t i = 0; i < n_recordings(chain); i++)
		buffer_free(runs_in(chain, i));
	buffer_free(&chain->runs);
	id_map_free(chain->ids);
	free(chain);
}

/* The runs of the current recording. */
static struct run *runs_of(const struct chain *chain, size_t *count)
{
	const struct buffer *runs = runs_in(chain, chain->recording);

	*count = runs->size / sizeof(struct run);
	return (struct run *)(void *)runs->data;
}

/* Makes room for those of the current recording, if it is new. 0 or -ENOMEM. */
static int make_room(struct chain *chain)
{
	const struct buffer none = {0};
	int err = 0;

	while (!err && n_recordings(chain) <= chain->recording)
		err = buffer_append(&chain->runs, &none, sizeof(none));
	return err;
}

/* From now on ids are replaced, those that were read so far by themselves. */
static int begin_replacing(struct chain *chain)
{
	chain->ids = id_map_create();
	for (int kind = 0; kind < REFS; kind++)
		chain->whole[kind] = chain->last[kind];
	return chain->ids ? 0 : -ENOMEM;
}

/* The rest of the last segment is missing, so it is as if it had not been read. */
static int cut_run(struct chain *chain, uint64_t number)
{
	struct buffer *runs = runs_in(chain, chain->recording);
	size_t count;
	struct run *all = runs_of(chain, &count);

	if (count && all[count - 1].last == number && all[count - 1].first == number)
		runs->size -= sizeof(*all);
	else if (count && all[count - 1].last == number)
		all[count - 1].last--;
	return chain->ids ? 0 : begin_replacing(chain);
}

int chain_segment(struct chain *chain, const struct record_segment *segment)
{
	const struct run run = {segment->number, segment->number};
	struct run *all;
	size_t count;
	bool follows;

	chain->recording = segment->recording < RECORDINGS_MAX ? segment->recording : 0;
	chain->segment = segment->number;
	chain->time = segment->time;
	if (make_room(chain))
		return -ENOMEM;
	if (segment->cut)
		return cut_run(chain, segment->number);
	all = runs_of(chain, &count);
	follows = count && segment->number - all[count - 1].last <= 1;
	if (!chain->ids && (chain->recording || (!follows && segment->number != 1)) &&
	    begin_replacing(chain))
		return -ENOMEM;
	if (follows)
		all[count - 1].last = segment->number;
	else if (!count || segment->number > all[count - 1].last)
		return buffer_append(runs_in(chain, chain->recording), &run, sizeof(run));
	return 0;
}

uint64_t chain_time(const struct chain *chain)
{
	return chain->time;
}

bool chain_lacks(const struct chain *chain, const struct record_again *again)
{
	const uint64_t number = chain->segment - again->back;
	const struct run *runs;
	size_t from = 0, to, count;

	if (!chain->ids)
		return false;
	runs = runs_of(chain, &count);
	for (to = count; from < to;) {
		size_t middle = from + (to - from) / 2;

		if (runs[middle].last < number)
			from = middle + 1;
		else
			to = middle;
	}
	return from == count || runs[from].first > number;
}

static uint64_t *field_of(struct record *record, const struct field_info *field)
{
	return (uint64_t *)(void *)((char *)record + field->offset);
}

/* Ids of different recordings and kinds are different. */
static uint64_t space(const struct chain *chain, enum record_ref kind)
{
	return chain->recording * REFS + kind;
}

static bool is_whole(const struct chain *chain, enum record_ref kind, uint64_t id)
{
	return !chain->recording && id <= chain->whole[kind];
}

static uint64_t number_of(const struct chain *chain, enum record_ref kind, uint64_t id)
{
	return !id || is_whole(chain, kind, id) ? id
						: id_map_get(chain->ids, space(chain, kind), id);
}

/* The number of a definition: 0; 1: it was there before; -ENOMEM, -EBADMSG. */
static int define(struct chain *chain, enum record_ref kind, uint64_t *id)
{
	uint32_t *number;

	if (!*id || is_whole(chain, kind, *id))
		return *id != 0;
	number = id_map_put(chain->ids, space(chain, kind), *id);
	if (!number)
		return -ENOMEM;
	if (chain->last[kind] >= UINT32_MAX) /* no recorder has so many */
		return -EBADMSG;
	*id = *number;
	if (*id)
		return 1;
	*id = *number = (uint32_t)++chain->last[kind];
	return 0;
}

static void set_recording(const struct chain *chain, struct record *record)
{
	uint64_t *field = record->kind == RECORD_process       ? &record->process.recording
			  : record->kind == RECORD_call_window ? &record->call_window.recording
			  : record->kind == RECORD_paused      ? &record->paused.recording
							       : NULL;

	if (field && chain->recording)
		*field = chain->recording;
}

int chain_take(struct chain *chain, struct record *record, bool repeated)
{
	const struct record_info *info = record_info(record->kind);
	const enum record_ref kind = record_defines(record->kind);
	int there;

	if (!chain->ids) {
		/* The first field of all of these. */
		if (kind && record->string.id > chain->last[kind])
			chain->last[kind] = record->string.id;
		return 0;
	}
	set_recording(chain, record);
	for (size_t i = 0; i < info->n_fields; i++) {
		uint64_t *id = field_of(record, &info->fields[i]);

		if (info->fields[i].ref != REF_none)
			*id = number_of(chain, info->fields[i].ref, *id);
	}
	/* A frame that is there has its names, if it had any by then. */
	if (record->kind == RECORD_symbol)
		return repeated && record->symbol.frame == chain->known;
	there = kind ? define(chain, kind, &record->string.id) : 0;
	chain->known = there > 0 && kind == REF_frame ? record->string.id : 0;
	return there < 0 ? there : repeated && there;
}
