/* SPDX-License-Identifier: BSD-2-Clause */
/* keep.c: `gcprof record --keep`: keeps the last part and writes snapshots. */
/*
 * A snapshot ends at a split, like a file of --rotate. A separate process writes it from the
 * segments kept at that moment, while the recording continues.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record.h"
#include "../../profile/kept.h"
#include "../../record/ingest/watch.h"
#include "../../record/machine/capabilities.h"
#include "../../record/machine/clock.h"
#include "../../util/log.h"

enum { WRITER_NICE = 10 };

int recording_keep_open(struct recording *recording)
{
	const struct record_options *options = &recording->options;
	uint64_t bytes = options->keep_ns ? options->keep_limit : options->keep_bytes;
	int err = kept_create(options->keep_ns, bytes, &recording->keeping.kept);

	return err ? err : kept_open(recording->keeping.kept, recording->began, &recording->writer);
}

bool recording_snapshot_is_due(const struct recording *recording)
{
	const struct keeping *keeping = &recording->keeping;

	return keeping->asked && !keeping->writer && clock_now() >= keeping->due;
}

void recording_ask(struct recording *recording)
{
	struct keeping *keeping = &recording->keeping;

	if (!keeping->asked)
		keeping->due = clock_now() + recording->options.after;
	keeping->asked = true;
}

/* "gcprof-0001.data has the last 61.20 s, 2.3 MiB" */
static void report_snapshot(struct recording *recording)
{
	struct stat st;
	char size[32] = "";

	if (fstat(recording->file.fd, &st))
		st.st_size = 0;
	recording->bytes = (uint64_t)st.st_size;
	recording_describe_size(recording->bytes, size, sizeof(size));
	recording_push(recording, recording->path);
	log_info("%s has the last %.2f s, %s", recording->path, recording->keeping.seconds, size);
}

static double kept_seconds(const struct recording *recording, uint64_t end)
{
	uint64_t since = kept_since(recording->keeping.kept);

	return (double)(end - (since > recording->start ? since : recording->start)) / 1e9;
}

/* Handles the end of the writing process; waits for it only with `wait`. */
static void reap(struct recording *recording, bool wait)
{
	struct keeping *keeping = &recording->keeping;
	int status;

	if (!keeping->writer || waitpid(keeping->writer, &status, wait ? 0 : WNOHANG) <= 0)
		return;
	keeping->writer = 0;
	if (WIFEXITED(status) && !WEXITSTATUS(status)) {
		if (!recording_publish(recording))
			report_snapshot(recording);
	} else {
		log_error("%s: %s; recording continues", recording->path,
			  WIFEXITED(status) ? strerror(WEXITSTATUS(status))
					    : "the process that wrote it was killed");
	}
}

static _Noreturn void write_apart(struct recording *recording, struct sink *sink)
{
	const char *why = recording->keeping.written;
	const struct record last[] = {
		{.kind = RECORD_meta, .meta = {{"snapshot", 8}, {why, strlen(why)}}},
		{.kind = RECORD_end,
		 .end = {.time = recording->keeping.end, .reason = END_SNAPSHOT}}};
	int err;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "gcprof-writer");
	setpriority(PRIO_PROCESS, 0, WRITER_NICE);
	err = capabilities_keep(0, false);
	err = err ? err
		  : kept_write(recording->keeping.kept, recording->writer,
			       recording->rotation.number, last, 2, sink);
	_exit(err ? -err & 0xff : 0);
}

static void start_writer(struct recording *recording)
{
	struct keeping *keeping = &recording->keeping;
	struct sink *sink;

	keeping->split = false;
	keeping->seconds = kept_seconds(recording, keeping->end);
	if (recording_open_file(recording, &sink))
		return;
	keeping->writer = fork();
	if (keeping->writer == 0)
		write_apart(recording, sink);
	if (keeping->writer < 0) {
		log_error("%s: %s; recording continues", recording->path, strerror(errno));
		keeping->writer = 0;
	}
	sink->close(sink);
}

static void end_snapshot(struct recording *recording, uint64_t time)
{
	struct keeping *keeping = &recording->keeping;

	/* A request made after the split began is served by the next one. */
	if (!recording_snapshot_is_due(recording) || keeping->due > time)
		return;
	keeping->asked = false;
	keeping->split = true;
	snprintf(keeping->written, sizeof(keeping->written), "%s",
		 keeping->why[0] ? keeping->why : "requested");
	keeping->why[0] = '\0';
	keeping->end = time;
}

int recording_keep_split(struct recording *recording, uint64_t time)
{
	end_snapshot(recording, time);
	return kept_turn(recording->keeping.kept, recording->writer, time);
}

void recording_keep(struct recording *recording)
{
	struct keeping *keeping = &recording->keeping;

	if (!keeping->kept)
		return;
	if (watch_take_request(recording->watch))
		recording_ask(recording);
	recording_when(recording);
	reap(recording, false);
	if (keeping->split)
		start_writer(recording);
}

int recording_keep_finish(struct recording *recording, uint64_t end)
{
	struct keeping *keeping = &recording->keeping;
	struct sink *sink;
	int err;

	reap(recording, true);
	keeping->seconds = kept_seconds(recording, end);
	if (recording_open_file(recording, &sink))
		return -EIO;
	err = kept_write(keeping->kept, recording->writer, recording->rotation.number, NULL, 0,
			 sink);
	err = err ? err : recording_publish(recording);
	if (!err)
		report_snapshot(recording);
	return err;
}
