// SPDX-License-Identifier: BSD-2-Clause
/* join_head.c: combines the facts about several recordings into those of one profile. */
#include <stdio.h>
#include <string.h>

#include "codes.h"
#include "join_parts.h"

enum {
	VALUES_MAX = 4, /* per fact; further ones become "and others" */
	FACTS_MAX = 64,
	TEXT_MAX = 2000,
};

static struct bytes text(const char *text)
{
	return (struct bytes){text, strlen(text)};
}

static const struct summary_pair *pairs_of(const struct buffer *buffer, size_t *count)
{
	*count = buffer->size / sizeof(struct summary_pair);
	return (const struct summary_pair *)(const void *)buffer->data;
}

static const char *fact(const struct join_input *input, const char *key)
{
	size_t count;
	const struct summary_pair *facts = pairs_of(&input->summary.facts, &count);

	for (size_t i = 0; i < count; i++)
		if (strcmp(facts[i].key, key) == 0)
			return facts[i].value;
	return NULL;
}

static void command_line(const struct join_input *input, char *out, size_t size)
{
	size_t count, used = 0;
	const struct summary_pair *words = pairs_of(&input->summary.command, &count);

	*out = '\0';
	for (size_t i = 0; i < count && used < size; i++)
		used += (size_t)snprintf(out + used, size - used, "%s%s", i ? " " : "",
					 words[i].value);
}

/* --- facts ------------------------------------------------------------------------------------ */

/* The different texts of a fact. */
struct values {
	char texts[VALUES_MAX][TEXT_MAX / VALUES_MAX];
	size_t count;
};

static void add_value(struct values *values, const char *value)
{
	char cut[sizeof(values->texts[0])];

	snprintf(cut, sizeof(cut), "%s", value);
	for (size_t i = 0; i < values->count && i < VALUES_MAX; i++)
		if (strcmp(values->texts[i], cut) == 0)
			return;
	if (values->count < VALUES_MAX)
		memcpy(values->texts[values->count], cut, sizeof(cut));
	values->count++;
}

/* "a, b, c, d and others" */
static void chain(const struct values *values, char *out, size_t size)
{
	size_t used = 0;

	for (size_t i = 0; i < values->count && i < VALUES_MAX && used < size; i++)
		used += (size_t)snprintf(out + used, size - used, "%s%s", i ? ", " : "",
					 values->texts[i]);
	if (values->count > VALUES_MAX && used < size)
		snprintf(out + used, size - used, " and others");
}

static int put_fact(struct join *join, const char *key)
{
	struct values values = {.count = 0};
	char joined[TEXT_MAX + 16] = "";
	struct record record = {.kind = RECORD_meta, .meta = {text(key), {NULL, 0}}};

	for (size_t i = 0; i < join->n_inputs; i++) {
		const char *value = fact(&join->inputs[i], key);

		if (value)
			add_value(&values, value);
	}
	chain(&values, joined, sizeof(joined));
	record.meta.value = text(joined);
	return profile_writer_put(join->writer, &record);
}

/* Writes each key once, in the order of the inputs. */
static int put_facts(struct join *join)
{
	const char *keys[FACTS_MAX];
	size_t n = 0, count;
	int err = 0;

	for (size_t i = 0; i < join->n_inputs; i++) {
		const struct summary_pair *facts = pairs_of(&join->inputs[i].summary.facts, &count);

		for (size_t j = 0; j < count && !err; j++) {
			size_t k = 0;

			while (k < n && strcmp(keys[k], facts[j].key) != 0)
				k++;
			if (k < n || n == FACTS_MAX)
				continue;
			keys[n++] = facts[j].key;
			err = put_fact(join, facts[j].key);
		}
	}
	return err;
}

static int put_word(struct join *join, const char *word)
{
	const struct record record = {.kind = RECORD_argument, .argument = {text(word)}};

	return profile_writer_put(join->writer, &record);
}

/* Writes the first input's command, and whether there are others. */
static int put_command(struct join *join)
{
	char first[TEXT_MAX], other[TEXT_MAX];
	size_t count, others = 0;
	const struct summary_pair *words = pairs_of(&join->inputs->summary.command, &count);
	int err = 0;

	command_line(join->inputs, first, sizeof(first));
	for (size_t i = 1; i < join->n_inputs; i++) {
		command_line(&join->inputs[i], other, sizeof(other));
		others += strcmp(first, other) != 0;
	}
	for (size_t i = 0; i < count && !err; i++)
		err = put_word(join, words[i].value);
	if (err || !others)
		return err;
	return put_word(join, others == 1 ? "and another command" : "and other commands");
}

/* --- how it was recorded ---------------------------------------------------------------------- */

/* Where inputs differ, the first one decides. */
static int put_recording(struct join *join)
{
	struct record record = {.kind = RECORD_recording,
				.recording = join->inputs->summary.recording};
	struct record_recording *recording = &record.recording;

	recording->start = join->inputs->begin;
	if (join->n_recordings > 1)
		recording->id = 0;
	/* Files of one recording that include its first are a whole recording. */
	if (join->n_recordings > 1 || recording->part == 1)
		recording->part = 0;
	for (size_t i = 1; i < join->n_inputs; i++)
		recording->arguments &= join->inputs[i].summary.recording.arguments;
	return profile_writer_put(join->writer, &record);
}

/* A stream counts as recorded if any input has it; the text names one input that lacks it. */
static int put_stream(struct join *join, size_t number)
{
	struct record record = {.kind = RECORD_stream, .stream = {.stream = number}};
	char why[TEXT_MAX] = "";

	for (size_t i = 0; i < join->n_inputs; i++) {
		const struct summary_stream *stream = &join->inputs[i].summary.streams[number];

		if (!stream->known)
			continue;
		record.stream.name = text(stream->name);
		record.stream.attached |= stream->attached;
		if (!stream->attached && !record.stream.why && !*why) {
			record.stream.why = stream->why;
			snprintf(why, sizeof(why), "%s", stream->why_not);
		}
	}
	for (size_t i = 0; record.stream.attached && i < join->n_inputs; i++) {
		const struct summary_stream *stream = &join->inputs[i].summary.streams[number];

		if (stream->known && !stream->attached) {
			record.stream.why = WHY_TEXT;
			snprintf(why, sizeof(why), "not in %s: %s", join->inputs[i].path,
				 stream_why_not(number, stream->why, stream->why_not));
			break;
		}
	}
	record.stream.why_not = text(why);
	return record.stream.name.data ? profile_writer_put(join->writer, &record) : 0;
}

static int put_loss_kind(struct join *join, size_t number)
{
	for (size_t i = 0; i < join->n_inputs; i++) {
		const struct summary_loss *loss = &join->inputs[i].summary.losses[number];
		struct record record = {.kind = RECORD_loss_kind};

		if (!loss->known)
			continue;
		record.loss_kind = (struct record_loss_kind){number,           loss->stream,
							     loss->severity,   text(loss->name),
							     text(loss->text), text(loss->one)};
		return profile_writer_put(join->writer, &record);
	}
	return 0;
}

/* --- sources ---------------------------------------------------------------------------------- */

/* An input that is a merged profile has sources of its own. */
static int put_sources(struct join *join, const struct join_input *input)
{
	const struct summary *summary = &input->summary;
	const struct summary_source *all = (const void *)summary->sources.data;
	const char *host = fact(input, "host");
	char command[TEXT_MAX];
	struct record record = {.kind = RECORD_source};
	int err = 0;

	command_line(input, command, sizeof(command));
	record.source = (struct record_source){
		.begin = input->begin + input->shift,
		.end = input->end + input->shift,
		.recording = input->recordings[0],
		.shift = (int64_t)input->shift,
		.realtime = input->realtime,
		.id = summary->recording.id,
		.part = summary->recording.part,
		.state = summary->status.state,
		.path = text(input->path),
		.host = text(host ? host : ""),
		.command = text(command),
	};
	if (!join_sources(input))
		return profile_writer_put(join->writer, &record);
	for (size_t i = 0; i < join_sources(input) && !err; i++) {
		record.source = all[i].record;
		record.source.path = text(all[i].path);
		record.source.host = text(all[i].host);
		record.source.command = text(all[i].command);
		record.source.begin += input->shift;
		record.source.end += input->shift;
		record.source.shift = (int64_t)((uint64_t)record.source.shift + input->shift);
		record.source.recording =
			input->recordings[record.source.recording < input->n_recordings
						  ? record.source.recording
						  : 0];
		err = profile_writer_put(join->writer, &record);
	}
	return err;
}

int join_put_head(struct join *join)
{
	int err = put_facts(join);

	err = err ? err : put_command(join);
	err = err ? err : put_recording(join);
	for (size_t i = 0; i < SUMMARY_STREAMS && !err; i++)
		err = put_stream(join, i);
	for (size_t i = 0; i < SUMMARY_LOSSES && !err; i++)
		err = put_loss_kind(join, i);
	for (size_t i = 0; i < join->n_inputs && !err; i++)
		err = put_sources(join, &join->inputs[i]);
	return err ? err : profile_writer_flush(join->writer);
}
