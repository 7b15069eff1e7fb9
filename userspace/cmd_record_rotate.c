/* SPDX-License-Identifier: BSD-2-Clause */
/* cmd_record_rotate.c: `gcprof record --rotate`: one profile after the other. */
/*
 * Each is a profile by itself, and together they have what one would have. What takes time (a
 * system call, a wait, a collection) is in the profile in which it ends.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd_record.h"
#include "record/ingest/drain.h"
#include "record/machine/clock.h"
#include "util/log.h"
#include "util/output_file.h"
#include "util/path_base.h"

bool recording_rotates(const struct recording *recording)
{
	return recording->options.rotate != NULL;
}

/* NAME-0001.EXTENSION: the path of a file of several. */
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
	int fd = path ? output_file_open_as(&recording->user, path) : -ENOMEM, err;

	if (fd < 0) {
		log_error("%s: %s", path ? path : output, output_file_error(fd));
		free(path);
		return fd;
	}
	if (recording->file > 0)
		close(recording->file);
	recording->file = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	err = sink_file_adopt(fd, sink);
	free(recording->path);
	recording->path = path;
	recording->rotation.number++;
	return err;
}

static bool is_due(const struct recording *recording)
{
	const struct record_options *options = &recording->options;
	uint64_t begin = recording->rotation.begin ? recording->rotation.begin : recording->start;

	if (options->rotate_ns)
		return clock_now() >= begin + options->rotate_ns;
	return profile_writer_size(recording->writer) >= options->rotate_bytes;
}

/* What came until the split is written: the other file begins there. */
static int next_file(struct recording *recording)
{
	struct rotation *rotation = &recording->rotation;
	const struct record end = {.kind = RECORD_end,
				   .end = {.time = rotation->split, .reason = END_NEXT}};
	uint64_t begin = rotation->begin ? rotation->begin : recording->start;
	char size[32], *path;
	struct sink *sink;
	int err = counters_put_losses(recording->counters, rotation->split);

	err = err ? err : profile_writer_put(recording->writer, &end);
	err = err ? err : profile_writer_flush(recording->writer);
	if (err)
		return err;
	recording->bytes += profile_writer_size(recording->writer);
	recording_describe_size(profile_writer_size(recording->writer), size, sizeof(size));
	path = strdup(recording->path);
	err = path ? recording_open_file(recording, &sink) : -ENOMEM;
	err = err ? err : profile_writer_next(recording->writer, sink, rotation->split);
	if (!err)
		log_info("%s is complete: %.2f s, %s", path,
			 (double)(rotation->split - begin) / 1e9, size);
	free(path);
	rotation->begin = rotation->split;
	rotation->split = 0;
	drain_go_on(recording->drain);
	/* With a reading of the clocks. */
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
