// SPDX-License-Identifier: BSD-2-Clause
/* join.c: merges several profiles into one. */
/*
 * Inputs are copied chunk by chunk, always from the one whose next chunk begins first. Chunks stay
 * whole because the weight of their timer samples is at their end. So events of different
 * recordings are in order only to within a chunk, about a second.
 */
#include "join.h"

#include <errno.h>
#include <stdlib.h>

#include "codes.h"
#include "join_parts.h"

int join_create(const char *const *paths, size_t inputs, join_open *open, void *context,
		struct join **out)
{
	struct join *join = calloc(1, sizeof(*join));
	bool complete = join != NULL;

	if (join) {
		join->inputs = calloc(inputs, sizeof(*join->inputs));
		join->from = calloc(1, sizeof(*join->from));
		join->to = calloc(1, sizeof(*join->to));
		complete = join->inputs && join->from && join->to;
	}
	if (!complete) {
		join_free(join);
		return -ENOMEM;
	}
	join->open = open;
	join->context = context;
	join->n_all = join->n_inputs = join->failed = inputs;
	for (size_t i = 0; i < inputs; i++) {
		join->inputs[i].index = i;
		join->inputs[i].path = paths[i];
	}
	*out = join;
	return 0;
}

static void input_close(struct join_input *input)
{
	profile_reader_close(input->reader);
	input->reader = NULL;
}

void join_free(struct join *join)
{
	if (!join)
		return;
	for (size_t i = 0; i < join->n_all; i++) {
		input_close(&join->inputs[i]);
		summary_free(&join->inputs[i].summary);
		free(join->inputs[i].recordings);
	}
	buffer_free(&join->repeated);
	free(join->from);
	free(join->to);
	free(join->recordings);
	free(join->inputs);
	free(join);
}

bool join_input_state(const struct join *join, size_t index, enum profile_state *state)
{
	for (size_t i = 0; i < join->n_inputs; i++) {
		if (join->inputs[i].index != index)
			continue;
		*state = join->inputs[i].summary.status.state;
		return true;
	}
	return false;
}

size_t join_recordings(const struct join *join)
{
	return join->n_recordings;
}

/* --- records ---------------------------------------------------------------------------------- */

static void shift_times(const struct join_input *input, struct record *record)
{
	const struct record_info *info = record_info(record->kind);

	for (size_t i = 0; i < info->n_fields; i++) {
		uint64_t *time = (uint64_t *)(void *)((char *)record + info->fields[i].offset);

		if (info->fields[i].time && *time)
			*time += input->shift;
	}
}

/* Shifts the times of repeated records. -EBADMSG: they are malformed. */
static int shift_repeated(struct join *join, const struct join_input *input, struct bytes *records)
{
	struct cursor left = cursor_make(records->data, records->size);
	int err = 0;

	join->repeated.size = 0;
	codec_reset(join->from, input->segment.time - input->shift);
	codec_reset(join->to, input->segment.time);
	while (!err && left.at < left.end) {
		struct record record;

		err = codec_next(join->from, &left, &record);
		if (err || !record_may_repeat(record.kind))
			return -EBADMSG;
		shift_times(input, &record);
		err = codec_encode(join->to, &record, &join->repeated);
	}
	*records = (struct bytes){join->repeated.data, join->repeated.size};
	return err;
}

/* The segment that goes on in the result; that of an input without segments is the first. */
static int put_segment(struct join *join, struct join_input *input)
{
	struct record record = {.kind = RECORD_segment, .segment = input->segment};

	if (!record.segment.number)
		record.segment = (struct record_segment){
			.number = 1,
			.time = input->begin + input->shift,
			.recording = join->n_recordings > 1 ? input->recordings[0] : 0,
		};
	join->written = input;
	return profile_writer_put(join->writer, &record);
}

static void set_segment(const struct join *join, struct join_input *input,
			const struct record_segment *segment)
{
	uint64_t recording = segment->recording < input->n_recordings ? segment->recording : 0;

	input->segment = *segment;
	input->segment.recording = join->n_recordings > 1 ? input->recordings[recording] : 0;
}

static int put_other(struct join *join, struct join_input *input, struct record *record)
{
	int err = 0;

	shift_times(input, record);
	if (record->kind == RECORD_segment) {
		set_segment(join, input, &record->segment);
		return put_segment(join, input);
	}
	if (join->written != input)
		err = put_segment(join, input);
	if (!err && record->kind == RECORD_again)
		err = shift_repeated(join, input, &record->again.records);
	/* Readers recompute it from the chunk or the frequency. */
	if (record->kind == RECORD_cpu &&
	    input->summary.recording.frequency == join->inputs->summary.recording.frequency)
		record->cpu.ns = 0;
	err = err ? err : profile_writer_put(join->writer, record);
	/* It is left out. */
	return err == -EBADMSG || err == -EMSGSIZE ? 0 : err;
}

static int join_put(struct join *join, struct join_input *input, struct record *record)
{
	switch (record->kind) {
	case RECORD_header:
	case RECORD_chunk:
	case RECORD_meta:
	case RECORD_argument:
	case RECORD_recording:
	case RECORD_stream:
	case RECORD_loss_kind:
	case RECORD_source:
	case RECORD_end:
		return 0; /* the result has its own, in its head and at its end */
	case RECORD_clock:
		/* Only from the first recording, up to the first gap: clocks must be consistent. */
		return input->shift || input->recordings[0] != join->inputs->recordings[0]
			       ? 0
			       : put_other(join, input, record);
	default:
		return put_other(join, input, record);
	}
}

/* --- inputs ----------------------------------------------------------------------------------- */

/* Copies the rest of a chunk; *next is false at the end of the input. */
static int copy_chunk(struct join *join, struct join_input *input, bool *next)
{
	struct record record;
	int more, err = 0;

	while (!err && (more = profile_reader_next(input->reader, &record)) > 0) {
		if (record.kind == RECORD_chunk) {
			input->next = record.chunk.time + input->shift;
			*next = true;
			return profile_writer_flush(join->writer);
		}
		err = join_put(join, input, &record);
	}
	*next = false;
	if (!err && more < 0)
		join->failed = input->index;
	if (!err && !more && input->summary.status.state != PROFILE_COMPLETE) {
		input->segment.cut = 1;
		err = put_segment(join, input);
	}
	return err ? err : more < 0 ? more : profile_writer_flush(join->writer);
}

/* Files of one recording are read one after the other. */
static bool may_begin(const struct join *join, const struct join_input *input)
{
	for (size_t i = input->n_recordings > 1; i < input->n_recordings; i++)
		if (join_recording(join, input, i)->open)
			return false;
	return true;
}

static void set_open(const struct join *join, const struct join_input *input, bool open)
{
	for (size_t i = input->n_recordings > 1; i < input->n_recordings; i++)
		join_recording(join, input, i)->open = open;
}

static int begin_input(struct join *join, struct join_input *input)
{
	struct source *source;
	int err = join->open(join->context, input->index, &source);

	err = err ? err : profile_reader_open(source, &input->reader);
	if (!err)
		profile_reader_raw(input->reader);
	input->next = input->begin + input->shift;
	if (err)
		join->failed = input->index;
	else
		set_open(join, input, true);
	return err;
}

/* The open input whose next chunk begins first; NULL: none is open. */
static struct join_input *first_open(const struct join *join, size_t begun)
{
	struct join_input *first = NULL;

	for (size_t i = 0; i < begun; i++) {
		struct join_input *input = &join->inputs[i];

		if (input->reader && (!first || input->next < first->next))
			first = input;
	}
	return first;
}

static int copy_inputs(struct join *join)
{
	size_t begun = 0;
	int err = 0;

	while (!err) {
		struct join_input *input = first_open(join, begun), *next;
		bool more;

		next = begun < join->n_inputs ? &join->inputs[begun] : NULL;
		if (next && may_begin(join, next) &&
		    (!input || next->begin + next->shift <= input->next)) {
			begun++;
			err = begin_input(join, next);
			continue;
		}
		if (!input)
			return 0;
		err = copy_chunk(join, input, &more);
		if (err || more)
			continue;
		input_close(input);
		set_open(join, input, false);
	}
	return err;
}

/* A single recording ends like its last file; several have the end reason END_MERGED. */
static int put_end(struct join *join)
{
	const struct join_input *last = &join->inputs[join->n_inputs - 1];
	struct record record = {.kind = RECORD_end, .end = last->summary.end};

	if (join->n_recordings > 1)
		record.end = (struct record_end){.reason = END_MERGED};
	else if (!last->summary.has_end)
		return 0;
	record.end.time = join->end;
	return profile_writer_put(join->writer, &record);
}

int join_write(struct join *join, struct sink *sink, size_t *input)
{
	int err = profile_writer_create(sink, &join->writer), closed;

	*input = join->n_all;
	if (err)
		return err;
	profile_writer_whole(join->writer);
	err = join_put_head(join);
	err = err ? err : copy_inputs(join);
	err = err ? err : put_end(join);
	closed = profile_writer_close(join->writer);
	join->writer = NULL;
	*input = join->failed;
	return err ? err : closed;
}
