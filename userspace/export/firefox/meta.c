/* SPDX-License-Identifier: BSD-2-Clause */
/* meta.c: what the Firefox export says about itself and the recording. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../util/path_base.h"
#include "../../util/plural.h"
#include "firefox.h"

enum {
	VISIBLE_MAX = 40, /* tracks visible at first */
	RUNTIMES_MAX = 40,
};

/* --- "More info" ------------------------------------------------------------------- */

static void put_entry(struct column *column, const char *label, const char *text)
{
	struct output *output = column_cell(column);

	output_text(output, "{\"label\":");
	output_string(output, label);
	output_text(output, ",\"format\":\"string\",\"value\":");
	output_string(output, text ? text : "unknown");
	output_text(output, "}");
}

static void put_bytes(struct column *column, const char *label, double bytes)
{
	struct output *output = column_cell(column);

	output_text(output, "{\"label\":");
	output_string(output, label);
	output_format(output, ",\"format\":\"bytes\",\"value\":%.0f}", bytes);
}

static void put_count(struct column *column, const char *label, uint64_t count)
{
	struct output *output = column_cell(column);

	output_text(output, "{\"label\":");
	output_string(output, label);
	output_format(output, ",\"format\":\"integer\",\"value\":%" PRIu64 "}", count);
}

static struct column begin_group(struct column *groups, const char *label)
{
	struct output *output = column_cell(groups);

	output_format(output, "{\"label\":\"%s\",\"entries\":[", label);
	return (struct column){output, false};
}

static void put_recording(struct column *groups, const struct model *model)
{
	const struct model_run *run = &model->run;
	struct column entries = begin_group(groups, "Recording");

	put_entry(&entries, "Recorded by", run->tool);
	put_entry(&entries, "Host", run->host);
	put_entry(&entries, "Kernel", run->kernel);
	put_count(&entries, "Timer samples per second", run->frequency);
	put_count(&entries, "Timer samples", model->cpu.samples);
	put_bytes(&entries, "Sampling period (mean bytes)", (double)model->alloc.period);
	if (model->alloc.period_max > model->alloc.period)
		put_bytes(&entries, "Longest sampling period", (double)model->alloc.period_max);
	put_count(&entries, "Allocation samples", model->alloc.samples);
	put_bytes(&entries, "Allocated, estimated", model->alloc.bytes.value);
	put_bytes(&entries, "At least (95 %)", model->alloc.bytes.low);
	put_bytes(&entries, "At most (95 %)", model->alloc.bytes.high);
	if (model->state != PROFILE_COMPLETE)
		put_entry(&entries, "The profile", "is incomplete: its end is missing or damaged");
	output_text(entries.output, "]}");
}

static void put_streams(struct column *groups, const struct model *model)
{
	struct column entries = begin_group(groups, "Streams");

	for (size_t i = 0; i < model->n_streams; i++) {
		const struct model_stream *stream = &model->streams[i];
		char text[128];

		snprintf(text, sizeof(text),
			 "%" PRIu64 " event%.1s, %" PRIu64 " lost, %" PRIu64 " cut, %" PRIu64
			 " held back",
			 stream->events, plural(stream->events, "[|s]").text, stream->lost,
			 stream->cut, stream->held);
		if (stream->attached)
			put_entry(&entries, stream->name, text);
		else
			put_entry(&entries, stream->name,
				  stream->why_not ? stream->why_not : "not recorded");
	}
	output_text(entries.output, "]}");
}

/* The sources of allocation samples and collections, by process. */
static void put_runtimes(struct column *groups, const struct model *model)
{
	struct column entries = begin_group(groups, "Runtimes and providers");

	for (size_t i = 0; i < model->n_runtimes && i < RUNTIMES_MAX; i++) {
		const struct model_runtime *row = &model->runtimes[i];
		char label[64], text[256];

		snprintf(label, sizeof(label), "%s of process %" PRIu64,
			 row->provider ? "Provider" : "Runtime", row->pid);
		snprintf(text, sizeof(text), "%s %s", row->name, row->version);
		put_entry(&entries, label, text);
	}
	output_text(entries.output, "]}");
}

static void put_losses(struct column *groups, const struct model *model)
{
	struct column entries = begin_group(groups, "Losses");

	for (size_t i = 0; i < model->n_losses; i++)
		put_count(&entries, model->losses[i].text, model->losses[i].count);
	if (!model->n_losses)
		put_entry(&entries, "Nothing", "was lost");
	output_text(entries.output, "]}");
}

static void put_extra(struct firefox *firefox)
{
	const struct model *model = firefox->world->model;
	struct column groups = {firefox->job.output, false}, entries;

	output_text(groups.output, "\"extra\":[");
	put_recording(&groups, model);
	put_streams(&groups, model);
	if (model->n_runtimes)
		put_runtimes(&groups, model);
	put_losses(&groups, model);
	entries = begin_group(&groups, "This file");
	put_entry(&entries, "Left out", *firefox->job.note ? firefox->job.note : "nothing");
	put_entry(&entries, "Source files",
		  *firefox->job.info ? firefox->job.info : "their text is left out");
	output_text(groups.output, "]}],\n");
}

/* --- visible tracks -------------------------------------------------------------------- */

static int busiest_first(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? 1 : x > y ? -1 : 0;
}

/* The number of rows that a track must have to be visible. */
static uint64_t visible_rows(const struct firefox *firefox)
{
	uint64_t *rows, limit = 0;

	if (firefox->n_tracks <= VISIBLE_MAX)
		return 0;
	rows = calloc(firefox->n_tracks, sizeof(*rows));
	if (!rows)
		return UINT64_MAX;
	for (size_t i = 0; i < firefox->n_tracks; i++)
		rows[i] = firefox->tracks[i].rows;
	qsort(rows, firefox->n_tracks, sizeof(*rows), busiest_first);
	limit = rows[VISIBLE_MAX - 1];
	free(rows);
	return limit;
}

/* The thread with the most timer samples. */
static size_t selected_track(const struct firefox *firefox)
{
	uint64_t most = 0, rows;
	size_t selected = 0;

	for (size_t i = 0; i < firefox->n_tracks; i++) {
		rows = firefox->threads[firefox->tracks[i].thread].cpu.rows;
		if (!firefox->tracks[i].thread || rows <= most)
			continue;
		most = rows;
		selected = i;
	}
	return selected;
}

/*
 * Of tracks that are no threads, small ones are hidden: those with less than a 20th of the largest,
 * and those of processes with less than a 20th of the CPU time of the first one.
 */
static bool is_dust(const struct firefox *firefox, const struct ff_track *track)
{
	uint64_t most = 0;

	if (track->kind != TRACK_THREAD && track->process_ns < firefox->tracks[0].process_ns / 20)
		return true;

	for (size_t i = 0; i < firefox->n_tracks && track->kind != TRACK_THREAD; i++)
		if (firefox->tracks[i].kind == track->kind && firefox->tracks[i].rows > most)
			most = firefox->tracks[i].rows;
	return track->rows < most / 20;
}

static void put_visible(struct firefox *firefox)
{
	struct column column = {firefox->job.output, false};
	uint64_t rows = visible_rows(firefox), shown = 0;
	size_t selected = selected_track(firefox);

	output_text(column.output, "\"initialVisibleThreads\":[");
	for (size_t i = 0; i < firefox->n_tracks; i++) {
		bool busy = firefox->tracks[i].rows >= rows && shown < VISIBLE_MAX &&
			    !is_dust(firefox, &firefox->tracks[i]);

		if (!busy && i != selected)
			continue;
		shown++;
		output_number(column_cell(&column), i);
	}
	output_format(column.output, "],\"initialSelectedThreads\":[%zu],\n", selected);
}

/* --- meta ---------------------------------------------------------------------------- */

static void put_text(struct output *output, const char *key, const char *text)
{
	output_format(output, "\"%s\":", key);
	output_string(output, text ? text : "");
	output_text(output, ",\n");
}

static void put_host(struct output *output, const struct model_run *run)
{
	uint64_t cpus = run->cpus ? strtoull(run->cpus, NULL, 10) : 0;

	put_text(output, "product", run->n_command ? path_base(run->command[0]) : "gcprof");
	put_text(output, "oscpu", run->kernel);
	put_text(output, "CPUName", run->cpu_model);
	if (cpus && cpus < 1 << 20)
		output_format(output, "\"logicalCPUs\":%" PRIu64 ",", cpus);
	put_text(output, "arguments", run->command_line);
}

void firefox_put_meta(struct firefox *firefox)
{
	const struct model_run *run = &firefox->world->model->run;
	struct output *output = firefox->job.output;
	bool one_kind = !firefox->layout.managed || !firefox->layout.native;

	output_text(output, "\"meta\":{\n\"version\":24,\"preprocessedProfileVersion\":66,"
			    "\"processType\":0,\"stackwalk\":1,\"debug\":false,"
			    "\"symbolicated\":true,\"sourceCodeIsNotOnSearchfox\":true,"
			    "\"keepProfileThreadOrder\":true,\"importedFrom\":\"gcprof\","
			    "\"platform\":\"X11\",\n");
	output_format(output, "\"usesOnlyOneStackType\":%s,\"interval\":%.6f,\"startTime\":",
		      one_kind ? "true" : "false",
		      /* An interval of 0 cannot be opened, either. */
		      run->frequency ? fmax(1e3 / (double)run->frequency, 1e-6) : 1.0);
	output_milliseconds(output, run->realtime);
	output_text(output, ",\"profilingStartTime\":0,\"profilingEndTime\":");
	/* A range without any time cannot be opened. */
	output_milliseconds(output, run->duration > 1000000 ? run->duration : 1000000);
	output_text(output, ",\n\"sampleUnits\":{\"time\":\"ms\",\"eventDelay\":\"ms\","
			    "\"threadCPUDelta\":\"ns\"},\n");
	put_host(output, run);
	put_visible(firefox);
	put_extra(firefox);
	firefox_put_categories(output);
	firefox_put_marker_schema(output);
	output_text(output, "},\n");
}
