// SPDX-License-Identifier: BSD-2-Clause
/* merge.c: gcprof merge: merges several profiles into one. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../commands.h"
#include "../../profile/join.h"
#include "../../profile/status.h"
#include "../../profile/writer.h"
#include "../../report/progress.h"
#include "../../util/log.h"
#include "../../util/output_file.h"
#include "../../util/plural.h"

enum { FILES_MAX = 4096 };

struct merge_options {
	const char *output;
};

static int open_input(void *context, size_t input, struct source **out)
{
	const char *const *paths = context;

	return progress_open(paths[input], false, out);
}

static int cmd_merge_explain(const char *const *paths, int err, size_t input, size_t other)
{
	if (err == -EEXIST && input == other)
		log_error("%s: has the same part of a recording twice", paths[input]);
	else if (err == -EEXIST)
		log_error("%s and %s have the same part of one recording; merge only one of them",
			  paths[input], paths[other]);
	else
		log_error("%s: %s", paths[input], profile_error_text(err));
	return EXIT_FAILURE;
}

/* Reports incomplete inputs; returns the exit code. */
static int report_inputs(const struct join *join, const char *const *paths, size_t count)
{
	int status = EXIT_SUCCESS;

	for (size_t i = 0; i < count; i++) {
		enum profile_state state;

		if (!join_input_state(join, i, &state))
			log_warning("%s: %s; left out", paths[i], profile_error_text(-ENODATA));
		else
			status |= profile_judge(paths[i], state, 0);
	}
	return status;
}

static void report_result(const struct join *join, size_t files, const char *output)
{
	size_t recordings = join_recordings(join), joined = 0;
	enum profile_state state;

	for (size_t i = 0; i < files; i++)
		joined += join_input_state(join, i, &state);
	log_info("%s: %zu %s of %zu %s", output, joined, plural(joined, "file[|s]").text,
		 recordings, plural(recordings, "recording[|s]").text);
}

/* The output must not replace an input. */
static bool is_input(const char *output, const char *const *paths, size_t count)
{
	struct stat to, from;

	if (stat(output, &to) || !S_ISREG(to.st_mode))
		return false;
	for (size_t i = 0; i < count; i++)
		if (!stat(paths[i], &from) && from.st_dev == to.st_dev && from.st_ino == to.st_ino)
			return true;
	return false;
}

static int write_output(struct join *join, const char *const *paths, size_t count,
			const char *output)
{
	struct output_file file = {.path = output, .mark = &profile_mark};
	struct sink *sink;
	size_t failed = count;
	int err = output_file_open(&file);

	err = err ? err : sink_fd_create(file.fd, &sink);
	err = err ? err : join_write(join, sink, &failed);
	err = err ? err : output_file_publish(&file);
	output_file_close(&file);
	if (err) {
		log_error("%s: %s", failed < count ? paths[failed] : output,
			  failed < count ? profile_error_text(err) : output_file_error(err));
		return EXIT_FAILURE;
	}
	report_result(join, count, output);
	return report_inputs(join, paths, count);
}

static int merge_files(const char **paths, size_t count, const char *output)
{
	size_t input = 0, other = 0;
	struct join *join = NULL;
	int err = join_create(paths, count, open_input, paths, &join), status;

	if (err) {
		log_error("%s", strerror(-err));
		return EXIT_FAILURE;
	}
	err = join_plan(join, &input, &other);
	status = err ? cmd_merge_explain(paths, err, input, other)
		     : write_output(join, paths, count, output);
	join_free(join);
	return status;
}

static int cmd_merge_run(int argc, char **argv)
{
	struct merge_options options = {.output = "merged.data"};
	const char *paths[FILES_MAX];
	int count = options_parse_words(&cmd_merge, &options, argc, argv, paths, FILES_MAX);
	const char *wrong = NULL;

	if (count < 0)
		return EXIT_USAGE;
	for (int i = 0; i < count; i++)
		if (strcmp(paths[i], "-") == 0)
			wrong = "each file is read twice, so standard input cannot be one of them";
	if (!count)
		wrong = "name the files to merge";
	else if (is_input(options.output, paths, (size_t)count))
		wrong = "the output is one of the files to merge; choose another with -o";
	if (wrong) {
		log_error("%s\nTry 'gcprof merge --help'.", wrong);
		return EXIT_USAGE;
	}
	return merge_files(paths, (size_t)count, options.output);
}

static const struct option_row rows[] = {
	{"output", 'o', OPTION_TEXT, offsetof(struct merge_options, output), 0, 0, "FILE",
	 "write to FILE instead of merged.data"},
	{0},
};

const struct command cmd_merge = {
	.name = "merge",
	.usage = "[-o FILE] FILE...",
	.summary = "merge several profiles into one",
	.options = rows,
	.run = cmd_merge_run,
};
