// SPDX-License-Identifier: BSD-2-Clause
/* info.c: gcprof info: shows how a profile was recorded, and whether it is complete. */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "../../profile/codes.h"
#include "../../profile/record_json.h"
#include "../../profile/status.h"
#include "../../profile/summary.h"
#include "../../report/progress.h"
#include "../../util/ascii.h"
#include "../../util/escape.h"
#include "../../util/log.h"
#include "../../util/plural.h"
#include "../commands.h"

struct info_options {
	int json;
};

static const char *end_reason(const struct summary *summary)
{
	const char *name = end_reason_name(summary->end.reason);

	return name ? name : "unknown";
}

/* From the release of the program to the end, or to the last record. */
static uint64_t duration(const struct summary *summary)
{
	uint64_t end = summary->has_end ? summary->end.time : summary->last_time;

	return summary->has_recording && end > summary->recording.start
		       ? end - summary->recording.start
		       : 0;
}

/* Text from the profile may contain anything, so it is escaped. */
static void cmd_info_put_text(const char *text)
{
	escape_print(stdout, text, strlen(text));
}

/* Prints a word of the command on one line. */
static void put_word(const char *text)
{
	static const char blanks[] = " \t\n\v\f\r";

	for (text += strspn(text, blanks); *text;) {
		size_t length = strcspn(text, blanks);

		escape_print(stdout, text, length);
		text += length;
		text += strspn(text, blanks);
		if (*text)
			putchar(' ');
	}
}

static void put_label(const char *label)
{
	printf("%-14s", label);
}

static void put_pairs(const struct summary *summary)
{
	const struct summary_pair *facts = (const void *)summary->facts.data;
	const struct summary_pair *words = (const void *)summary->command.data;

	put_label("command");
	for (size_t i = 0; i < summary->command.size / sizeof(*words); i++) {
		if (i)
			putchar(' ');
		put_word(words[i].value);
	}
	putchar('\n');
	for (size_t i = 0; i < summary->facts.size / sizeof(*facts); i++) {
		cmd_info_put_text(facts[i].key);
		printf("%*s ", 13 - (int)strnlen(facts[i].key, 13), "");
		cmd_info_put_text(facts[i].value);
		putchar('\n');
	}
}

static void put_runtimes(const char *label, const struct buffer *pairs)
{
	const struct summary_pair *runtimes = (const void *)pairs->data;

	for (size_t i = 0; i < pairs->size / sizeof(*runtimes); i++) {
		put_label(label);
		cmd_info_put_text(runtimes[i].key);
		if (*runtimes[i].value)
			printf(": ");
		cmd_info_put_text(runtimes[i].value);
		putchar('\n');
	}
}

static const char *state_of(const struct record_source *source)
{
	return profile_state_name(source->state <= PROFILE_DAMAGED
					  ? (enum profile_state)source->state
					  : PROFILE_DAMAGED);
}

/* "merged        #1 12.3 s from 0.000 s on, complete, host vm, part 2: a.data (./app)" */
static void put_sources(const struct summary *summary)
{
	const struct summary_source *all = (const void *)summary->sources.data;

	for (size_t i = 0; i < summary->sources.size / sizeof(*all); i++) {
		const struct record_source *source = &all[i].record;

		put_label(i ? "" : "merged");
		printf("recording %" PRIu64 ", %.3f s from %.3f s on, %s", source->recording,
		       (double)(source->end - source->begin) / 1e9,
		       (double)(int64_t)(source->begin - summary->recording.start) / 1e9,
		       state_of(source));
		if (source->part)
			printf(", part %" PRIu64, source->part);
		printf("\n%-16s", "");
		cmd_info_put_text(all[i].path);
		printf("%s", *all[i].host ? " of " : "");
		cmd_info_put_text(all[i].host);
		printf(": ");
		put_word(all[i].command);
		putchar('\n');
	}
}

static void put_end(const struct summary *summary)
{
	int status = (int)summary->end.status;

	put_label("end");
	if (!summary->has_end) {
		printf("missing\n");
		return;
	}
	printf("%s", end_reason(summary));
	if (summary->end.reason == END_EXITED && WIFSIGNALED(status))
		printf(", killed by signal %d", WTERMSIG(status));
	else if (summary->end.reason == END_EXITED)
		printf(", exit status %d", WEXITSTATUS(status));
	putchar('\n');
}

/* "paused        1.000 s from 1.002 s on" */
static void put_pauses(const struct summary *summary)
{
	size_t count;
	const struct paused_time *all = paused_times(&summary->paused, &count);

	for (size_t i = 0; i < count; i++) {
		put_label(i ? "" : "paused");
		printf("%.3f s from %.3f s on\n", (double)(all[i].end - all[i].begin) / 1e9,
		       (double)(int64_t)(all[i].begin - summary->recording.start) / 1e9);
	}
}

static void put_recording(const struct summary *summary)
{
	const struct record_recording *recording = &summary->recording;

	put_label("duration");
	printf("%.3f s\n", (double)duration(summary) / 1e9);
	put_pauses(summary);
	put_end(summary);
	if (!summary->has_recording)
		return;
	put_label("options");
	printf("timer %" PRIu64 " Hz", recording->frequency);
	if (recording->period)
		printf(", allocation period %" PRIu64 " byte%s", recording->period,
		       plural(recording->period, "[|s]").text);
	else
		printf(", allocation period chosen by the program");
	if (recording->ceiling)
		printf(", at most %" PRIu64 " sample%s/s", recording->ceiling,
		       plural(recording->ceiling, "[|s]").text);
	printf("\n%-14ssystem call records: %" PRIu64 " short ones/s per CPU, all from %" PRIu64
	       " us on; with stack from %" PRIu64 " us on\n",
	       "", recording->syscall_rate, recording->syscall_slow / 1000,
	       recording->syscall_stack / 1000);
	if (summary->tracing.untraced_ns)
		printf("%-14ssystem calls traced for %.3f of %.3f s: their totals are "
		       "estimates\n",
		       "", (double)summary->tracing.traced_ns / 1e9,
		       ((double)summary->tracing.traced_ns + (double)summary->tracing.untraced_ns) /
			       1e9);
}

static void put_clock(const struct summary *summary)
{
	const struct record_clock *first = (const void *)summary->clocks.data;
	struct summary_clock clock;
	char date[64] = "";
	struct tm tm;
	time_t seconds;

	summary_clock(summary, &clock);
	put_label("clock");
	printf("CLOCK_MONOTONIC, %zu pair%s, read within %" PRIu64 " ns\n", clock.pairs,
	       plural(clock.pairs, "[|s]").text, clock.bracket_ns);
	if (!clock.pairs)
		return;
	seconds = (time_t)(first->realtime / 1000000000);
	if (gmtime_r(&seconds, &tm))
		strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S UTC", &tm);
	printf("%-14sREALTIME   begins at %s, offset %+.9f s, drift %+.3f ppm (%+" PRId64 " ns)\n",
	       "", date, (double)clock.offset_ns / 1e9, clock.realtime_ppm, clock.step_ns);
	if (clock.tsc_mhz > 0)
		printf("%-14sTSC        %.6f MHz, strays %.0f ns (%.3f ppm)\n", "", clock.tsc_mhz,
		       clock.tsc_stray_ns, clock.tsc_stray_ppm);
}

static void put_streams(const struct summary *summary)
{
	printf("streams\n");
	for (size_t i = 0; i < SUMMARY_STREAMS; i++) {
		const struct summary_stream *stream = &summary->streams[i];

		if (!stream->known)
			continue;
		printf("  ");
		cmd_info_put_text(stream->name);
		printf("%*s", 12 - (int)strnlen(stream->name, 12), "");
		if (stream->attached) {
			printf("%" PRIu64 " event%s\n", stream->events,
			       plural(stream->events, "[|s]").text);
		} else {
			printf("not recorded: ");
			cmd_info_put_text(stream_why_not(i, stream->why, stream->why_not));
			putchar('\n');
		}
	}
}

static const char *loss_text(const struct summary_loss *loss)
{
	return !loss->known ? "of an unknown kind" : loss->count == 1 ? loss->one : loss->text;
}

static void put_losses(const struct summary *summary)
{
	bool any = false;

	printf("losses\n");
	for (size_t i = 0; i < SUMMARY_LOSSES; i++) {
		const struct summary_loss *loss = &summary->losses[i];

		if (!loss->count)
			continue;
		any = true;
		printf("  %" PRIu64 " ", loss->count);
		cmd_info_put_text(loss_text(loss));
		putchar('\n');
	}
	if (!any)
		printf("  none\n");
}

static void put_file(const char *path, const struct summary *summary)
{
	const struct profile_status *status = &summary->status;
	const char *fault = profile_state_text(status->state);

	put_label("file");
	cmd_info_put_text(path);
	printf("\n%-14sformat %" PRIu64 ", %" PRIu64 " chunk%s, %" PRIu64 " bytes (%" PRIu64
	       " plain), %" PRIu64 " records\n",
	       "", status->version, status->chunks, plural(status->chunks, "[|s]").text,
	       status->bytes, status->plain_bytes, status->records);
	put_label("state");
	if (!fault)
		printf("complete\n");
	else if (status->state == PROFILE_DAMAGED)
		printf("damaged at byte %" PRIu64 ": %s\n", status->bytes, fault);
	else
		printf("%s: %s\n", profile_state_name(status->state), fault);
	if (status->unknown)
		printf("%-14s%" PRIu64 " %s that this gcprof does not know\n", "", status->unknown,
		       plural(status->unknown, "record[ is of a kind|s are of kinds]").text);
}

static void print_text(const char *path, const struct summary *summary)
{
	put_file(path, summary);
	put_pairs(summary);
	put_sources(summary);
	put_runtimes("runtime", &summary->runtimes);
	put_runtimes("provider", &summary->providers);
	put_runtimes("not sampled", &summary->unsampled);
	put_recording(summary);
	put_clock(summary);
	put_streams(summary);
	put_losses(summary);
}

static void json_string(const char *text)
{
	json_text(stdout, (struct bytes){text ? text : "", text ? strlen(text) : 0});
}

static void json_status(const char *path, const struct summary *summary)
{
	const struct profile_status *status = &summary->status;
	const char *fault = profile_state_text(status->state);

	printf("{\"file\":");
	json_string(path);
	printf(",\"format\":%" PRIu64 ",\"state\":\"%s\",\"fault\":", status->version,
	       profile_state_name(status->state));
	if (fault)
		json_string(fault);
	else
		printf("null");
	printf(",\"chunks\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"plain_bytes\":%" PRIu64
	       ",\"records\":%" PRIu64 ",\"unknown_records\":%" PRIu64,
	       status->chunks, status->bytes, status->plain_bytes, status->records,
	       status->unknown);
}

static void json_pairs(const struct summary *summary)
{
	const struct summary_pair *facts = (const void *)summary->facts.data;
	const struct summary_pair *words = (const void *)summary->command.data;

	printf(",\"command\":[");
	for (size_t i = 0; i < summary->command.size / sizeof(*words); i++) {
		if (i)
			putchar(',');
		json_string(words[i].value);
	}
	printf("],\"facts\":{");
	for (size_t i = 0; i < summary->facts.size / sizeof(*facts); i++) {
		if (i)
			putchar(',');
		json_string(facts[i].key);
		putchar(':');
		json_string(facts[i].value);
	}
	putchar('}');
}

static void json_runtimes(const char *label, const struct buffer *pairs)
{
	const struct summary_pair *runtimes = (const void *)pairs->data;

	printf(",\"%ss\":[", label);
	for (size_t i = 0; i < pairs->size / sizeof(*runtimes); i++) {
		printf("%s{\"%s\":", i ? "," : "", label);
		json_string(runtimes[i].key);
		printf(",\"note\":");
		json_string(runtimes[i].value);
		putchar('}');
	}
	putchar(']');
}

static void json_sources(const struct summary *summary)
{
	const struct summary_source *all = (const void *)summary->sources.data;

	printf(",\"merged\":[");
	for (size_t i = 0; i < summary->sources.size / sizeof(*all); i++) {
		const struct record_source *source = &all[i].record;

		printf("%s{\"file\":", i ? "," : "");
		json_string(all[i].path);
		printf(",\"host\":");
		json_string(all[i].host);
		printf(",\"command\":");
		json_string(all[i].command);
		printf(",\"recording\":%" PRIu64 ",\"part\":%" PRIu64 ",\"state\":\"%s\""
		       ",\"begin\":%" PRIu64 ",\"end\":%" PRIu64 ",\"shift\":%" PRId64
		       ",\"realtime\":%" PRIu64 "}",
		       source->recording, source->part, state_of(source), source->begin,
		       source->end, source->shift, source->realtime);
	}
	putchar(']');
}

static void json_pauses(const struct summary *summary)
{
	size_t count;
	const struct paused_time *all = paused_times(&summary->paused, &count);

	printf(",\"paused\":[");
	for (size_t i = 0; i < count; i++)
		printf("%s{\"start_ns\":%" PRIu64 ",\"duration_ns\":%" PRIu64 "}", i ? "," : "",
		       all[i].begin, all[i].end - all[i].begin);
	putchar(']');
}

static void json_recording(const struct summary *summary)
{
	struct summary_clock clock;

	summary_clock(summary, &clock);
	printf(",\"duration_ns\":%" PRIu64, duration(summary));
	json_pauses(summary);
	if (summary->has_end)
		printf(",\"end\":{\"reason\":\"%s\",\"status\":%" PRIu64 ",\"time\":%" PRIu64 "}",
		       end_reason(summary), summary->end.status, summary->end.time);
	else
		printf(",\"end\":null");
	printf(",\"recording\":{\"start\":%" PRIu64 ",\"frequency_hz\":%" PRIu64
	       ",\"period\":%" PRIu64 ",\"ceiling\":%" PRIu64 ",\"syscall_rate\":%" PRIu64
	       ",\"syscall_slow_ns\":%" PRIu64 ",\"syscall_stack_ns\":%" PRIu64 ",\"user\":%" PRIu64
	       "}",
	       summary->recording.start, summary->recording.frequency, summary->recording.period,
	       summary->recording.ceiling, summary->recording.syscall_rate,
	       summary->recording.syscall_slow, summary->recording.syscall_stack,
	       summary->recording.user);
	printf(",\"syscall_tracing\":{\"traced_ns\":%" PRIu64 ",\"untraced_ns\":%" PRIu64 "}",
	       summary->tracing.traced_ns, summary->tracing.untraced_ns);
	printf(",\"clock\":{\"name\":\"CLOCK_MONOTONIC\",\"pairs\":%zu,\"bracket_ns\":%" PRIu64
	       ",\"realtime_offset_ns\":%" PRId64 ",\"realtime_step_ns\":%" PRId64
	       ",\"realtime_ppm\":%.6f,\"tsc_mhz\":%.6f,\"tsc_stray_ns\":%.1f,"
	       "\"tsc_stray_ppm\":%.6f}",
	       clock.pairs, clock.bracket_ns, clock.offset_ns, clock.step_ns, clock.realtime_ppm,
	       clock.tsc_mhz, clock.tsc_stray_ns, clock.tsc_stray_ppm);
}

static void json_streams(const struct summary *summary)
{
	const char *comma = "";

	printf(",\"streams\":{");
	for (size_t i = 0; i < SUMMARY_STREAMS; i++) {
		const struct summary_stream *stream = &summary->streams[i];

		if (!stream->known)
			continue;
		printf("%s", comma);
		comma = ",";
		json_string(stream->name);
		printf(":{\"attached\":%s,\"why_not\":", stream->attached ? "true" : "false");
		if (stream->attached)
			printf("null");
		else
			json_string(stream_why_not(i, stream->why, stream->why_not));
		printf(",\"events\":%" PRIu64 "}", stream->events);
	}
	putchar('}');
}

static void json_losses(const struct summary *summary)
{
	const char *comma = "";

	printf(",\"losses\":[");
	for (size_t i = 0; i < SUMMARY_LOSSES; i++) {
		const struct summary_loss *loss = &summary->losses[i];

		if (!loss->count)
			continue;
		printf("%s{\"kind\":%zu,\"count\":%" PRIu64
		       ",\"unit\":\"%s\",\"severity\":\"%s\",\"name\":",
		       comma, i, loss->count, loss_unit_name(loss_info(i)->unit),
		       severity_name(loss->severity));
		comma = ",";
		json_string(loss->name);
		printf(",\"text\":");
		json_string(loss_text(loss));
		putchar('}');
	}
	putchar(']');
}

static void print_json(const char *path, const struct summary *summary)
{
	json_status(path, summary);
	json_pairs(summary);
	json_sources(summary);
	json_runtimes("runtime", &summary->runtimes);
	json_runtimes("provider", &summary->providers);
	json_runtimes("unsampled", &summary->unsampled);
	json_recording(summary);
	json_streams(summary);
	json_losses(summary);
	printf("}\n");
}

static int open_profile(const char *path, struct profile_reader **out)
{
	struct source *source;
	int err = progress_open(path, false, &source);

	return err ? err : profile_reader_open(source, out);
}

/* Prints everything about the file; returns the exit code. */
static int cmd_info_show(const char *path, const struct info_options *options)
{
	struct profile_reader *reader;
	struct summary summary;
	int err = open_profile(path, &reader);

	if (err) {
		log_error("%s: %s", path, profile_error_text(err));
		return EXIT_FAILURE;
	}
	err = summary_read(reader, &summary);
	if (!err && options->json)
		print_json(path, &summary);
	else if (!err)
		print_text(path, &summary);
	if (err)
		log_error("%s: %s", path, strerror(-err));
	else
		err = profile_judge(path, summary.status.state, summary.status.bytes);
	summary_free(&summary);
	profile_reader_close(reader);
	return err ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int cmd_info_run(int argc, char **argv)
{
	struct info_options options = {0};
	const char *path = "gcprof.data";

	if (options_parse_words(&cmd_info, &options, argc, argv, &path, 1) < 0)
		return EXIT_USAGE;
	if (!options.json)
		ascii_stdout();
	return cmd_info_show(path, &options);
}

static const struct option_row rows[] = {
	{"json", 0, OPTION_FLAG, offsetof(struct info_options, json), 0, 0, NULL,
	 "print one JSON object"},
	{0},
};

const struct command cmd_info = {
	.name = "info",
	.usage = "[OPTIONS] [FILE]",
	.summary = "show how and when a profile was recorded, and whether it is complete",
	.options = rows,
	.run = cmd_info_run,
};
