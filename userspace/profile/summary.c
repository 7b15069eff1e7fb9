// SPDX-License-Identifier: BSD-2-Clause
/* summary.c: reads the facts about a recording from a profile, without its events. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codes.h"
#include "summary.h"

#define TEXT_MAX  (64 * 1024)
#define PAIRS_MAX 4096 /* facts, and words of the command */
#define CLOCK_MAX (1 << 20)

/* Limits for kept strings: names of runtimes come at the start of a profile. */
#define STRINGS_MAX 16384
#define STRING_MAX  512

/* A zero-terminated copy; ends at the first zero in the text. */
static char *summary_copy(struct bytes text)
{
	return strndup(text.size ? text.data : "", text.size < TEXT_MAX ? text.size : TEXT_MAX);
}

/* Replaces a text. */
static int set(char **place, struct bytes text)
{
	free(*place);
	*place = summary_copy(text);
	return *place ? 0 : -ENOMEM;
}

static int add_pair(struct buffer *pairs, const struct bytes *key, struct bytes value)
{
	struct summary_pair pair = {NULL, NULL};
	int err = -ENOMEM;

	if (pairs->size / sizeof(pair) >= PAIRS_MAX)
		return 0;
	pair.value = summary_copy(value);
	if (key)
		pair.key = summary_copy(*key);
	if (pair.value && (!key || pair.key))
		err = buffer_append(pairs, &pair, sizeof(pair));
	if (err) {
		free(pair.key);
		free(pair.value);
	}
	return err;
}

static void free_pairs(struct buffer *pairs)
{
	struct summary_pair *all = (void *)pairs->data;

	for (size_t i = 0; i < pairs->size / sizeof(*all); i++) {
		free(all[i].key);
		free(all[i].value);
	}
	buffer_free(pairs);
}

static int add_stream(struct summary *summary, const struct record_stream *record)
{
	struct summary_stream *stream;
	int err;

	if (record->stream >= SUMMARY_STREAMS)
		return 0;
	stream = &summary->streams[record->stream];
	stream->known = true;
	stream->attached = record->attached != 0;
	stream->why = record->why;
	err = set(&stream->name, record->name);
	return err ? err : set(&stream->why_not, record->why_not);
}

static int add_loss_kind(struct summary *summary, const struct record_loss_kind *record)
{
	struct summary_loss *loss;
	int err;

	if (record->kind >= SUMMARY_LOSSES)
		return 0;
	loss = &summary->losses[record->kind];
	loss->known = true;
	loss->stream = record->stream;
	loss->severity = record->severity;
	err = set(&loss->name, record->name);
	err = err ? err : set(&loss->text, record->text);
	return err ? err : set(&loss->one, record->one.size ? record->one : record->text);
}

static int add_string(struct summary *summary, const struct record_string *record)
{
	size_t size = record->text.size < STRING_MAX ? record->text.size : STRING_MAX;
	uint32_t at = (uint32_t)summary->texts.size, none = UINT32_MAX;
	int err = 0;

	if (record->id > STRINGS_MAX)
		return 0;
	while (!err && summary->text_at.size <= record->id * sizeof(at))
		err = buffer_append(&summary->text_at, &none, sizeof(none));
	if (err)
		return err;
	((uint32_t *)(void *)summary->text_at.data)[record->id] = at;
	err = buffer_append(&summary->texts, record->text.data, size);
	return err ? err : buffer_append(&summary->texts, "", 1);
}

static const char *find_string(const struct summary *summary, uint64_t id)
{
	const uint32_t *at = (const void *)summary->text_at.data;

	if (!id || id >= summary->text_at.size / sizeof(*at) || at[id] == UINT32_MAX)
		return "";
	return summary->texts.data + at[id];
}

static int add_runtime(struct summary *summary, const struct record_runtime *record)
{
	const char *note = record->unsampled ? unsampled_why(record->unsampled)
					     : find_string(summary, record->note);
	char name[2 * STRING_MAX + 2];
	struct bytes key = {name, 0};
	struct buffer *pairs = record->unsampled  ? &summary->unsampled
			       : record->provider ? &summary->providers
						  : &summary->runtimes;
	const struct summary_pair *known = (const void *)pairs->data;

	key.size = (size_t)snprintf(name, sizeof(name), "%s%s%s",
				    find_string(summary, record->name), record->version ? " " : "",
				    find_string(summary, record->version));
	/* Several processes may have the same one. */
	for (size_t i = 0; i < pairs->size / sizeof(*known); i++)
		if (!strcmp(known[i].key, name) && !strcmp(known[i].value, note))
			return 0;
	return add_pair(pairs, &key, (struct bytes){note, strlen(note)});
}

static int add_source(struct summary *summary, const struct record_source *record)
{
	struct summary_source source = {*record, summary_copy(record->path),
					summary_copy(record->host), summary_copy(record->command)};
	int err = -ENOMEM;

	if (summary->sources.size / sizeof(source) >= RECORDINGS_MAX)
		err = -EBADMSG;
	else if (source.path && source.host && source.command)
		err = buffer_append(&summary->sources, &source, sizeof(source));
	if (!err)
		return 0;
	free(source.path);
	free(source.host);
	free(source.command);
	return err;
}

static void free_sources(struct summary *summary)
{
	struct summary_source *all = (void *)summary->sources.data;

	for (size_t i = 0; i < summary->sources.size / sizeof(*all); i++) {
		free(all[i].path);
		free(all[i].host);
		free(all[i].command);
	}
	buffer_free(&summary->sources);
}

/* Remembers the latest time of all records. */
static void note_time(struct summary *summary, const struct record *record)
{
	const struct record_info *info = record_info(record->kind);

	for (size_t i = 0; i < info->n_fields; i++) {
		uint64_t time;

		if (info->fields[i].kind != FIELD_TIME)
			continue;
		memcpy(&time, (const char *)record + info->fields[i].offset, sizeof(time));
		if (time > summary->last_time)
			summary->last_time = time;
		return;
	}
}

/* The end of the last window of a recording; NULL: too many recordings, or out of memory. */
static uint64_t *window_end(struct summary *summary, uint64_t recording)
{
	const uint64_t none = 0;

	while (summary->window_ends.size <= recording * sizeof(none))
		if (recording >= RECORDINGS_MAX ||
		    buffer_append(&summary->window_ends, &none, sizeof(none)))
			return NULL;
	return (uint64_t *)(void *)summary->window_ends.data + recording;
}

/* The time of a pause is no gap between windows. */
static int add_paused(struct summary *summary, const struct record_paused *record)
{
	int err = paused_add(&summary->paused, record);
	const struct paused_time *pause;
	uint64_t *end;
	size_t count;

	if (err <= 0)
		return err == -ENOMEM ? err : 0;
	pause = paused_times(&summary->paused, &count) + count - 1;
	end = window_end(summary, pause->recording);
	if (end && *end)
		*end += pause->end - pause->begin;
	return 0;
}

/* Ignores impossible windows. */
static void add_window(struct summary *summary, const struct record_call_window *window)
{
	uint64_t *end = window_end(summary, window->recording);

	if (!end || window->end <= window->begin || window->begin < *end)
		return;
	if (*end)
		summary->tracing.untraced_ns += window->begin - *end;
	summary->tracing.traced_ns += window->end - window->begin;
	*end = window->end;
}

/* A recording lasted until `time` at least. */
static void add_rest(struct summary *summary, uint64_t recording, uint64_t time)
{
	uint64_t *end = window_end(summary, recording);

	if (!end || !*end || time <= *end)
		return;
	summary->tracing.untraced_ns += time - *end;
	*end = time;
}

static void add_end(struct summary *summary, const struct record_end *end)
{
	const struct summary_source *sources = (const void *)summary->sources.data;
	size_t count = summary->sources.size / sizeof(*sources);

	summary->end = *end;
	summary->has_end = true;
	add_rest(summary, 0, end->time);
	for (size_t i = 0; i < count; i++)
		add_rest(summary, sources[i].record.recording, sources[i].record.end);
}

static int add_record(struct summary *summary, const struct record *record)
{
	unsigned stream = record_stream(record);
	int err;

	if (stream && stream < SUMMARY_STREAMS)
		summary->streams[stream].events++;
	note_time(summary, record);
	switch (record->kind) {
	case RECORD_meta:
		return add_pair(&summary->facts, &record->meta.key, record->meta.value);
	case RECORD_argument:
		return add_pair(&summary->command, NULL, record->argument.text);
	case RECORD_recording:
		summary->recording = record->recording;
		summary->has_recording = true;
		return 0;
	case RECORD_clock:
		if (summary->clocks.size / sizeof(record->clock) >= CLOCK_MAX)
			return 0;
		return buffer_append(&summary->clocks, &record->clock, sizeof(record->clock));
	case RECORD_stream:
		return add_stream(summary, &record->stream);
	case RECORD_loss_kind:
		return add_loss_kind(summary, &record->loss_kind);
	case RECORD_loss:
		if (record->loss.kind < SUMMARY_LOSSES)
			summary->losses[record->loss.kind].count += record->loss.count;
		return 0;
	case RECORD_end:
		err = add_paused(summary, &(struct record_paused){.time = record->end.time});
		add_end(summary, &record->end);
		return err;
	case RECORD_string:
		return add_string(summary, &record->string);
	case RECORD_runtime:
		return add_runtime(summary, &record->runtime);
	case RECORD_source:
		return add_source(summary, &record->source);
	case RECORD_paused:
		return add_paused(summary, &record->paused);
	case RECORD_call_window:
		add_window(summary, &record->call_window);
		return 0;
	default:
		return 0;
	}
}

int summary_read(struct profile_reader *reader, struct summary *out)
{
	struct record record;
	int more;

	memset(out, 0, sizeof(*out));
	while ((more = profile_reader_next(reader, &record)) > 0) {
		int err = add_record(out, &record);

		if (err)
			return err;
	}
	profile_reader_status(reader, &out->status);
	if (add_paused(out, &(struct record_paused){.time = out->last_time}))
		return -ENOMEM;
	paused_clip(&out->paused, out->recording.start,
		    out->has_end ? out->end.time : out->last_time);
	return more;
}

void summary_free(struct summary *summary)
{
	free_pairs(&summary->facts);
	free_pairs(&summary->command);
	free_pairs(&summary->runtimes);
	free_pairs(&summary->providers);
	free_pairs(&summary->unsampled);
	free_sources(summary);
	paused_free(&summary->paused);
	buffer_free(&summary->window_ends);
	buffer_free(&summary->texts);
	buffer_free(&summary->text_at);
	buffer_free(&summary->clocks);
	for (size_t i = 0; i < SUMMARY_STREAMS; i++) {
		free(summary->streams[i].name);
		free(summary->streams[i].why_not);
	}
	for (size_t i = 0; i < SUMMARY_LOSSES; i++) {
		free(summary->losses[i].name);
		free(summary->losses[i].text);
		free(summary->losses[i].one);
	}
}

/* When the other clocks were read: the middle of the bracket, relative to that of `base`. */
static double middle(const struct record_clock *clock, const struct record_clock *base)
{
	return (double)(int64_t)(clock->before - base->before) +
	       ((double)(clock->after - clock->before) - (double)(base->after - base->before)) / 2;
}

/* Measures how far the time stamp counter strays from a constant rate. */
static void measure_tsc(const struct record_clock *all, size_t n, struct summary_clock *out)
{
	double elapsed = middle(&all[n - 1], &all[0]);
	double ticks = (double)(int64_t)(all[n - 1].tsc - all[0].tsc);

	if (!all[0].tsc || elapsed <= 0 || ticks <= 0)
		return;
	out->tsc_mhz = ticks / elapsed * 1e3;
	for (size_t i = 1; i + 1 < n; i++) {
		double stray = (double)(int64_t)(all[i].tsc - all[0].tsc) * (elapsed / ticks) -
			       middle(&all[i], &all[0]);

		if (stray < 0)
			stray = -stray;
		if (stray > out->tsc_stray_ns)
			out->tsc_stray_ns = stray;
	}
	out->tsc_stray_ppm = out->tsc_stray_ns / elapsed * 1e6;
}

/* CLOCK_REALTIME minus CLOCK_MONOTONIC. */
static uint64_t offset(const struct record_clock *clock)
{
	return clock->realtime - clock->before - (clock->after - clock->before) / 2;
}

void summary_clock(const struct summary *summary, struct summary_clock *out)
{
	const struct record_clock *all = (const void *)summary->clocks.data;
	size_t n = summary->clocks.size / sizeof(*all);
	double elapsed;

	memset(out, 0, sizeof(*out));
	out->pairs = n;
	if (!n)
		return;
	for (size_t i = 0; i < n; i++) {
		if (all[i].after - all[i].before > out->bracket_ns)
			out->bracket_ns = all[i].after - all[i].before;
	}
	elapsed = middle(&all[n - 1], &all[0]);
	out->offset_ns = (int64_t)offset(&all[0]);
	out->step_ns = (int64_t)(offset(&all[n - 1]) - offset(&all[0]));
	if (elapsed > 0)
		out->realtime_ppm = (double)out->step_ns / elapsed * 1e6;
	measure_tsc(all, n, out);
}
