/* SPDX-License-Identifier: BSD-2-Clause */
/* import.c: gcprof import: converts files of other profilers. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "../../profile/status.h"
#include "../../profile/summary.h"
#include "../../profile/writer.h"
#include "../../record/machine/clock.h"
#include "../../util/buffer.h"
#include "../../util/log.h"
#include "../../util/memory.h"
#include "../../util/output_file.h"
#include "../../util/plural.h"
#include "../commands.h"
#include "vmprof.h"

#define FILE_SIZE_MAX (UINT64_C(4) << 30)

enum { CLOCK_PAUSE_NS = 200000000, BLOCK_SIZE = 1 << 20 };

struct import_arguments {
	const char *output;
	const char *pypylog;
	const char *clock;
	const char *words[2]; /* format, file */
};

static const struct option_row rows[] = {
	{"output", 'o', OPTION_TEXT, offsetof(struct import_arguments, output), 0, 0, "FILE",
	 "the profile to write (default gcprof.data)"},
	{"pypylog", 0, OPTION_TEXT, offsetof(struct import_arguments, pypylog), 0, 0, "FILE",
	 "take collections from the log that PYPYLOG=gc:FILE wrote in the same run"},
	{"clock", 0, OPTION_TEXT, offsetof(struct import_arguments, clock), 0, 0, "PROFILE",
	 "a gcprof profile of the same boot, to align the log's clock (default: this machine, "
	 "now)"},
	{NULL, 0, 0, 0, 0, 0, NULL, NULL},
};

static int parse_arguments(struct import_arguments *arguments, int argc, char **argv)
{
	int n = options_parse_words(&cmd_import, arguments, argc, argv, arguments->words, 2);

	if (n < 0)
		return n;
	if (n < 2 || strcmp(arguments->words[0], "vmprof") != 0) {
		log_error("import: name the format and the file: 'gcprof import vmprof FILE'");
		return -EINVAL;
	}
	return 0;
}

/* The contents of a file, decompressed if it is gzip: a small one may unfold to gigabytes. */
static int read_file(const char *path, struct buffer *out)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY), error = 0, n = 1;
	struct stat st;
	gzFile file;

	if (fd < 0 || fstat(fd, &st))
		error = -errno;
	if (!error)
		memory_allow(&st);
	file = error ? NULL : gzdopen(fd, "rb");
	if (!file) {
		if (fd >= 0)
			close(fd);
		return error ? error : -ENOMEM;
	}
	while (!error && n > 0) {
		error = buffer_reserve(out, BLOCK_SIZE);
		if (error)
			break;
		n = gzread(file, out->data + out->size, BLOCK_SIZE);
		if (n < 0)
			error = -EIO;
		else
			out->size += (size_t)n;
		if (out->size > FILE_SIZE_MAX)
			error = -EFBIG;
	}
	gzclose(file);
	return error;
}

/* --- clocks -------------------------------------------------------------------------------- */

/* The line through two clock readings. */
static int clock_between(const struct record_clock *first, const struct record_clock *last,
			 struct pypylog_clock *clock, uint64_t *offset)
{
	uint64_t from = first->before + (first->after - first->before) / 2;
	uint64_t to = last->before + (last->after - last->before) / 2;

	*offset = first->realtime - from;
	if (!first->tsc || last->tsc <= first->tsc || to <= from)
		return -ENODATA;
	clock->tsc = last->tsc;
	clock->monotonic = to;
	clock->ns_per_tick = (double)(to - from) / (double)(last->tsc - first->tsc);
	return 0;
}

static int clock_of_profile(const char *path, struct pypylog_clock *clock, uint64_t *offset)
{
	struct profile_reader *reader = NULL;
	struct source *source = NULL;
	struct summary summary;
	const struct record_clock *pairs;
	size_t count;
	int error = source_file_open(path, &source);

	if (!error)
		error = profile_reader_open(source, &reader);
	if (error)
		return error;
	error = summary_read(reader, &summary);
	pairs = (const struct record_clock *)(const void *)summary.clocks.data;
	count = summary.clocks.size / sizeof(*pairs);
	if (!error)
		error = count < 2 ? -ENODATA
				  : clock_between(&pairs[0], &pairs[count - 1], clock, offset);
	summary_free(&summary);
	profile_reader_close(reader);
	return error;
}

static int clock_of_now(struct pypylog_clock *clock, uint64_t *offset)
{
	struct record_clock first = clock_read(), last;
	struct timespec pause = {.tv_nsec = CLOCK_PAUSE_NS};

	nanosleep(&pause, NULL);
	last = clock_read();
	return clock_between(&first, &last, clock, offset);
}

/* --- the import ------------------------------------------------------------------------------ */

static void cmd_import_explain(const char *path, int error)
{
	if (error == -EBADMSG)
		log_error("%s: not a VMProf profile", path);
	else if (error == -ENOTSUP)
		log_error("%s: of a 32-bit or Windows program, which cannot be imported", path);
	else if (error == -EPROTO)
		log_error("%s: written by a newer VMProf; versions up to 7 are supported", path);
	else
		log_error("%s: %s", path,
			  error == -ENOMEM ? profile_error_text(error) : strerror(-error));
}

static int read_log(const struct import_arguments *arguments, struct pypylog *log, uint64_t *offset)
{
	struct pypylog_clock clock;
	struct buffer text = {0};
	int error = arguments->clock ? clock_of_profile(arguments->clock, &clock, offset)
				     : clock_of_now(&clock, offset);

	if (error) {
		log_error("%s: no readings of clocks: %s",
			  arguments->clock ? arguments->clock : "this machine",
			  error == -ENODATA ? "no time stamp counter" : profile_error_text(error));
		return error;
	}
	error = read_file(arguments->pypylog, &text);
	if (!error)
		error = pypylog_read(log, text.data, text.size, &clock);
	if (error == -EBADMSG)
		log_error("%s: not a PyPy log; PYPYLOG=gc:FILE writes one", arguments->pypylog);
	else if (error)
		cmd_import_explain(arguments->pypylog, error);
	if (!error && log->bad_lines)
		log_warning("%s: left out %" PRIu64 " %s nothing", arguments->pypylog,
			    log->bad_lines,
			    plural(log->bad_lines, "line[ that begins or ends|s that begin or end]")
				    .text);
	buffer_free(&text);
	return error;
}

static void tell(const struct import_arguments *arguments, const struct vmprof_result *result,
		 const struct pypylog *log, const char *output)
{
	const char *path = arguments->words[1];

	if (result->torn)
		log_warning("%s: truncated or damaged: imported up to there", path);
	if (result->unmatched)
		log_warning("%s: type and outcome of %" PRIu64 " allocation %s are unknown", path,
			    result->unmatched, plural(result->unmatched, "sample[|s]").text);
	if (log->n_gcs && result->log_before + result->log_behind == log->n_gcs)
		log_warning(
			"%s: all of it lies outside the profile; is it from the same run, and the "
			"clock from the same boot?",
			arguments->pypylog);
	log_info("imported %" PRIu64 " timer and %" PRIu64 " allocation %s into %s; see them "
		 "with: gcprof report %s",
		 result->time_samples, result->gc_samples,
		 plural(result->gc_samples, "sample[|s]").text, output, output);
}

static int import(const struct import_arguments *arguments, const struct buffer *data,
		  const struct vmprof_import *import, const struct pypylog *log)
{
	const char *output = arguments->output ? arguments->output : "gcprof.data";
	struct output_file file = {.path = output, .mark = &profile_mark};
	struct vmprof_result result;
	struct vmprof_reader reader;
	struct sink *sink;
	int error = vmprof_open(&reader, data->data, data->size), wrong;

	if (error) {
		cmd_import_explain(arguments->words[1], error);
		return EXIT_FAILURE;
	}
	wrong = output_file_open(&file);
	if (!wrong)
		wrong = sink_fd_create(file.fd, &sink);
	if (!wrong)
		error = vmprof_convert(data->data, data->size, import, sink, &result);
	if (!wrong && !error)
		wrong = output_file_publish(&file);
	output_file_close(&file);
	if (wrong)
		log_error("%s: %s", output, output_file_error(wrong));
	else if (error)
		cmd_import_explain(arguments->words[1], error);
	else
		tell(arguments, &result, log, output);
	return wrong || error ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int cmd_import_run(int argc, char **argv)
{
	struct import_arguments arguments = {0};
	struct vmprof_import request = {0};
	struct pypylog log = {0};
	struct buffer data = {0};
	int error, status = EXIT_FAILURE;

	if (parse_arguments(&arguments, argc, argv) < 0)
		return EXIT_USAGE;
	if (arguments.clock && !arguments.pypylog) {
		log_error("--clock: only with --pypylog");
		return EXIT_USAGE;
	}
	error = read_file(arguments.words[1], &data);
	if (error) {
		cmd_import_explain(arguments.words[1], error);
		goto out;
	}
	request.name = arguments.words[1];
	if (arguments.pypylog) {
		if (read_log(&arguments, &log, &request.clock_offset) < 0)
			goto out;
		request.log = &log;
	}
	status = import(&arguments, &data, &request, &log);
out:
	pypylog_free(&log);
	buffer_free(&data);
	return status;
}

const struct command cmd_import = {
	.name = "import",
	.usage = "[OPTIONS] vmprof FILE",
	.summary = "convert a VMProf profile to a gcprof profile",
	.options = rows,
	.run = cmd_import_run,
};
