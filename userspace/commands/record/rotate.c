/* SPDX-License-Identifier: BSD-2-Clause */
/* rotate.c: `gcprof record --rotate`: writes a series of profiles. */
/*
 * Each profile is complete by itself; together they contain what a single one would. A system call,
 * wait or collection is in the profile in which it ends.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../profile/kept.h"
#include "../../record/ingest/drain.h"
#include "../../record/machine/clock.h"
#include "../../record/machine/user_task.h"
#include "../../util/log.h"
#include "../../util/output_file.h"
#include "../../util/path_base.h"
#include "record.h"

int recording_check_spans(struct record_options *options)
{
	const char *wrong = NULL;

	if (options->rotate &&
	    span_parse(options->rotate, &options->rotate_ns, &options->rotate_bytes))
		wrong = "--rotate: give a time such as 10m, or a size such as 100M";
	else if (options->keep &&
		 span_parse(options->keep, &options->keep_ns, &options->keep_bytes))
		wrong = "--keep: give a time such as 60s, or a size such as 100M";
	else if (options->keep && options->rotate)
		wrong = "use only one of --keep and --rotate";
	else if ((options->rotate || options->keep) && output_file_is_stdout(options->output))
		wrong = "--rotate and --keep write several profiles: not with -o -";
	else if (options->rotate_limit && !options->rotate)
		wrong = "--rotate-limit needs --rotate";
	else if (options->keep_limit && !options->keep_ns)
		wrong = "--keep-limit needs --keep with a time";
	else if (options->push.url && output_file_is_stdout(options->output))
		wrong = "--push needs a file: not with -o -";
	else if ((options->spool || options->labels.count) && !options->push.url)
		wrong = "--spool and --label need --push";
	else if ((options->after || options->when.count) && !options->keep)
		wrong = "--when and --after: only with --keep";
	if (wrong)
		log_error("%s", wrong);
	return wrong ? -EINVAL : 0;
}

bool recording_rotates(const struct recording *recording)
{
	return recording->options.rotate || recording->options.keep;
}

/* The path of a numbered file: NAME-0001.EXTENSION. */
static char *numbered_path(const char *path, unsigned number)
{
	const char *dot = strrchr(path_base(path), '.');
	size_t stem = dot && dot != path_base(path) ? (size_t)(dot - path) : strlen(path);
	char *out;

	return asprintf(&out, "%.*s-%04u%s", (int)stem, path, number, path + stem) < 0 ? NULL : out;
}

int recording_open_file(struct recording *recording, struct sink **sink)
{
	const char *output = recording->options.output;
	char *path = recording_rotates(recording)
			     ? numbered_path(output, recording->rotation.number + 1)
			     : strdup(output);
	struct output_file file = {.path = path, .keep = true, .mark = &profile_mark};
	int err = path ? output_file_open_as(&recording->user, &file) : -ENOMEM, fd;

	if (err) {
		log_error("%s: %s", path ? path : output, output_file_error(err));
		free(path);
		return err;
	}
	output_file_close_as(&recording->user, &recording->file);
	recording->file = file;
	free(recording->path);
	recording->path = path;
	recording->rotation.number++;
	err = recording->begun ? recording_publish(recording) : 0;
	/* The writer still has data when the next file replaces this one here. */
	fd = err ? -1 : fcntl(file.fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	return err ? err : fd < 0 ? -errno : sink_file_adopt(fd, sink);
}

int recording_publish(struct recording *recording)
{
	int err = recording->path ? output_file_publish_as(&recording->user, &recording->file) : 0;

	if (err)
		log_error("%s: %s", recording->path, output_file_error(err));
	return err;
}

int recording_begin(struct recording *recording)
{
	/* A snapshot gets its name when it is complete. */
	recording->begun = !recording->keeping.kept;
	return recording_publish(recording) ? EXIT_FAILURE : 0;
}

/* Removes the oldest files so that all, with another one of this size, are within --rotate-limit.
 */
static int remove_oldest(struct recording *recording, uint64_t size)
{
	struct rotation *rotation = &recording->rotation;
	uint64_t *sizes, limit = recording->options.rotate_limit;
	int err = limit ? buffer_append(&rotation->sizes, &size, sizeof(size)) : 0;

	rotation->together += size;
	while (!err && limit && rotation->sizes.size && rotation->together + size > limit) {
		unsigned count = (unsigned)(rotation->sizes.size / sizeof(*sizes));
		char *path = numbered_path(recording->options.output, rotation->number - count);

		if (!path)
			return -ENOMEM;
		(void)user_call_path(&recording->user, &user_task_remove, path);
		log_verbose("removed %s (--rotate-limit)", path);
		free(path);
		sizes = (uint64_t *)(void *)rotation->sizes.data;
		rotation->together -= sizes[0];
		rotation->sizes.size -= sizeof(*sizes);
		memmove(sizes, sizes + 1, rotation->sizes.size);
	}
	return err;
}

static uint64_t file_begin(const struct recording *recording)
{
	return recording->rotation.begin ? recording->rotation.begin : recording->start;
}

static bool is_due(const struct recording *recording)
{
	const struct record_options *options = &recording->options;
	const struct kept *kept = recording->keeping.kept;
	uint64_t ns = !kept ? options->rotate_ns : options->keep_ns ? kept_segment_ns(kept) : 0;
	uint64_t bytes = kept ? kept_segment_bytes(kept) : options->rotate_bytes;

	if (recording_snapshot_is_due(recording))
		return true;
	return (ns && clock_now() >= file_begin(recording) + ns) ||
	       (bytes && profile_writer_size(recording->writer) >= bytes);
}

/* Ends the file; a segment of --keep has no end record. */
static int end_file(struct recording *recording, uint64_t time)
{
	const struct record end = {.kind = RECORD_end, .end = {.time = time, .reason = END_NEXT}};
	int err = counters_put_losses(recording->counters, time);

	if (!err && !recording->keeping.kept)
		err = profile_writer_put(recording->writer, &end);
	return err ? err : profile_writer_flush(recording->writer);
}

/* Opens the next file and reports that this one is complete. */
static int open_next(struct recording *recording, uint64_t time)
{
	uint64_t bytes = profile_writer_size(recording->writer);
	struct sink *sink;
	char size[32], *path;
	int err;

	if (recording->keeping.kept)
		return recording_keep_split(recording, time);
	path = strdup(recording->path);
	recording->bytes += bytes;
	recording_describe_size(bytes, size, sizeof(size));
	err = path ? recording_open_file(recording, &sink) : -ENOMEM;
	err = err ? err : profile_writer_next(recording->writer, sink, time);
	if (!err)
		recording_push(recording, path);
	if (!err)
		log_info("%s is complete: %.2f s, %s", path,
			 (double)(time - file_begin(recording)) / 1e9, size);
	free(path);
	return err ? err : remove_oldest(recording, bytes);
}

/* Everything before the split is written: continues in the next file. */
static int next_file(struct recording *recording)
{
	struct rotation *rotation = &recording->rotation;
	int err = end_file(recording, rotation->split);

	err = err ? err : open_next(recording, rotation->split);
	rotation->begin = rotation->split;
	rotation->split = 0;
	drain_go_on(recording->drain);
	/* This also records the clocks in the new file. */
	return err ? err : counters_put(recording->counters);
}

int recording_rotate(struct recording *recording)
{
	struct rotation *rotation = &recording->rotation;

	if (!recording_rotates(recording))
		return 0;
	if (!rotation->split)
		return is_due(recording) ? drain_split(recording->drain, &rotation->split) : 0;
	return drain_is_split(recording->drain) ? next_file(recording) : 0;
}
