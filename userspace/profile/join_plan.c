// SPDX-License-Identifier: BSD-2-Clause
/* join_plan.c: reads what the inputs of a merge are and places them in time. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "join.h"
#include "join_parts.h"
#include "../util/buffer.h"

/* A span of a recording, by its own clock. */
struct span {
	size_t recording; /* number */
	uint64_t begin, end;
	uint64_t beyond; /* it may have ended this much earlier */
	size_t input;    /* index of the input */
};

/* Without an end record, the latest time of any record is the end; some times are in the future. */
#define BEYOND_NS UINT64_C(1000000000)

/* Frees strings early; find_times() frees the clocks, which take the most memory. */
static int read_summary(struct join *join, struct join_input *input)
{
	struct summary *summary = &input->summary;
	struct profile_reader *reader;
	struct source *source;
	int err = join->open(join->context, input->index, &source);

	err = err ? err : profile_reader_open(source, &reader);
	/* Empty: the recorder was killed just after it started. */
	input->left_out = err == -ENODATA;
	if (err)
		return input->left_out ? 0 : err;
	err = summary_read(reader, summary);
	profile_reader_close(reader);
	buffer_free(&summary->texts);
	buffer_free(&summary->text_at);
	return err;
}

static void find_times(struct join_input *input)
{
	const struct summary *summary = &input->summary;
	struct summary_clock clock;

	summary_clock(summary, &clock);
	input->begin = summary->recording.start;
	input->end = summary->has_end ? summary->end.time : summary->last_time;
	if (input->end < input->begin)
		input->end = input->begin;
	if (clock.pairs)
		input->realtime = input->begin + (uint64_t)clock.offset_ns;
	buffer_free(&input->summary.clocks);
}

/* --- recordings ------------------------------------------------------------------------------ */

/* The number of the recording with this id, added if necessary; 0: out of memory. */
static size_t number_of(struct join *join, uint64_t id)
{
	struct join_recording *grown;

	for (size_t i = 0; id && i < join->n_recordings; i++)
		if (join->recordings[i].id == id)
			return i + 1;
	grown = realloc(join->recordings, (join->n_recordings + 1) * sizeof(*grown));
	if (!grown)
		return 0;
	join->recordings = grown;
	grown[join->n_recordings] = (struct join_recording){.id = id};
	return ++join->n_recordings;
}

static const struct summary_source *sources(const struct join_input *input)
{
	return (const struct summary_source *)(const void *)input->summary.sources.data;
}

/* Numbers the recordings of an input; a merged profile has several. */
static int number_recordings(struct join *join, struct join_input *input)
{
	const struct summary_source *all = sources(input);
	size_t count = join_sources(input), most = 0, number;

	for (size_t i = 0; i < count; i++)
		if (all[i].record.recording <= count && all[i].record.recording > most)
			most = all[i].record.recording;
	input->n_recordings = most + 1;
	input->recordings = calloc(input->n_recordings, sizeof(*input->recordings));
	if (!input->recordings)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		const struct record_source *source = &all[i].record;

		if (source->recording > most || input->recordings[source->recording])
			continue;
		number = number_of(join, source->id);
		input->recordings[source->recording] = (uint32_t)number;
		if (!number)
			return -ENOMEM;
	}
	number = most ? input->recordings[1] : number_of(join, input->summary.recording.id);
	input->recordings[0] = (uint32_t)number;
	for (size_t i = 1; i <= most; i++)
		if (!input->recordings[i])
			input->recordings[i] = (uint32_t)number;
	return number ? 0 : -ENOMEM;
}

/* Finds the clock offset of each recording, from its earliest input. */
static void note_recordings(struct join *join)
{
	for (size_t i = 0; i < join->n_inputs; i++) {
		struct join_input *input = &join->inputs[i];
		struct join_recording *first = join_recording(join, input, 0);

		/* The clock of a merged profile is that of its first recording. */
		if (input->realtime && !first->timed)
			first->offset = input->realtime - input->begin;
		first->timed |= input->realtime != 0;
	}
}

/* --- time ------------------------------------------------------------------------------------ */

/* Inputs with unknown time come last, in the order given. */
static int by_begin(const void *a, const void *b)
{
	const struct join_input *x = a, *y = b;
	uint64_t from = x->left_out ? UINT64_MAX : x->realtime ? x->realtime : UINT64_MAX - 1;
	uint64_t to = y->left_out ? UINT64_MAX : y->realtime ? y->realtime : UINT64_MAX - 1;

	if (from != to)
		return from < to ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

/* Computes the shift of each clock, which removes times without a recording. */
static void lay_out(struct join *join)
{
	const struct join_input *first = join->inputs;
	uint64_t zero = first->realtime - first->begin, covered = first->realtime, removed = 0;

	for (size_t i = 0; i < join->n_inputs; i++) {
		struct join_input *input = &join->inputs[i];
		const struct join_recording *recording = join_recording(join, input, 0);
		uint64_t offset = recording->timed ? recording->offset : covered - input->begin;
		uint64_t begin = input->begin + offset, end = input->end + offset;

		if (begin > covered)
			removed += begin - covered;
		covered = end > covered ? end : covered;
		input->shift = offset - zero - removed;
		if (input->end + input->shift > join->end)
			join->end = input->end + input->shift;
	}
}

/* --- duplicates ------------------------------------------------------------------------------- */

static int by_span(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	if (x->recording != y->recording)
		return x->recording < y->recording ? -1 : 1;
	return x->begin < y->begin ? -1 : x->begin > y->begin;
}

static int add_spans(const struct join *join, size_t i, struct buffer *spans)
{
	const struct join_input *input = &join->inputs[i];
	const struct summary_source *all = sources(input);
	uint64_t beyond = input->summary.has_end ? 0 : BEYOND_NS;
	struct span span = {input->recordings[0], input->begin, input->end, beyond, i};
	int err = 0;

	if (!join_sources(input))
		return buffer_append(spans, &span, sizeof(span));
	for (size_t j = 0; j < join_sources(input) && !err; j++) {
		const struct record_source *source = &all[j].record;

		if (source->recording >= input->n_recordings)
			continue;
		span = (struct span){input->recordings[source->recording],
				     source->begin - (uint64_t)source->shift,
				     source->end - (uint64_t)source->shift,
				     source->state ? BEYOND_NS : 0, i};
		err = buffer_append(spans, &span, sizeof(span));
	}
	return err;
}

/* -EEXIST: *input and *other have the same span of a recording. */
static int check_spans(struct join *join, size_t *input, size_t *other)
{
	struct buffer buffer = {0};
	const struct span *spans;
	int err = 0;

	for (size_t i = 0; i < join->n_inputs && !err; i++)
		err = add_spans(join, i, &buffer);
	spans = (const struct span *)(const void *)buffer.data;
	if (buffer.size)
		qsort(buffer.data, buffer.size / sizeof(*spans), sizeof(*spans), by_span);
	for (size_t i = 1; i < buffer.size / sizeof(*spans) && !err; i++) {
		const struct span *before = &spans[i - 1], *span = &spans[i];

		if (span->recording != before->recording || span->input == before->input)
			continue;
		if (span->begin + before->beyond >= before->end && span->begin > before->begin)
			continue;
		*input = join->inputs[before->input].index;
		*other = join->inputs[span->input].index;
		err = -EEXIST;
	}
	buffer_free(&buffer);
	return err;
}

int join_plan(struct join *join, size_t *input, size_t *other)
{
	int err = 0;

	for (size_t i = 0; i < join->n_inputs && !err; i++) {
		*input = i;
		err = read_summary(join, &join->inputs[i]);
		if (!err)
			find_times(&join->inputs[i]);
	}
	if (err)
		return err;
	qsort(join->inputs, join->n_inputs, sizeof(*join->inputs), by_begin);
	while (join->n_inputs && join->inputs[join->n_inputs - 1].left_out)
		join->n_inputs--;
	for (size_t i = 0; i < join->n_inputs && !err; i++)
		err = number_recordings(join, &join->inputs[i]);
	*input = 0;
	if (err || !join->n_inputs)
		return err ? err : -ENODATA;
	note_recordings(join);
	lay_out(join);
	return check_spans(join, input, other);
}
