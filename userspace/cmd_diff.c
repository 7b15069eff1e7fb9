/* SPDX-License-Identifier: BSD-2-Clause */
/* cmd_diff.c: gcprof diff: shows what changed between two profiles. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "model/load.h"
#include "profile/source.h"
#include "profile/status.h"
#include "report/diff.h"
#include "report/terminal.h"
#include "report/progress.h"
#include "util/log.h"

struct diff_arguments {
	int json;
	uint64_t top;
	uint64_t width;
	const char *files[2];
};

static const struct option_row rows[] = {
	{"json", 0, OPTION_FLAG, offsetof(struct diff_arguments, json), 0, 0, NULL,
	 "print JSON for scripts: times in ns, sizes in bytes"},
	{"top", 0, OPTION_NUMBER, offsetof(struct diff_arguments, top), 1, 1000000000, "N",
	 "maximum rows of each table (default 10; all with --json)"},
	{"width", 0, OPTION_NUMBER, offsetof(struct diff_arguments, width), REPORT_WIDTH_MIN,
	 REPORT_WIDTH_MAX, "N", "width of the text (default the terminal's, $COLUMNS, or 100)"},
	{NULL, 0, 0, 0, 0, 0, NULL, NULL},
};

static int parse_arguments(struct diff_arguments *arguments, int argc, char **argv)
{
	int n = options_parse_words(&cmd_diff, arguments, argc, argv, arguments->files, 2);

	if (n < 0)
		return n;
	if (n == 2)
		return 0;
	log_error("name two profiles: gcprof diff BEFORE AFTER\nTry 'gcprof diff --help'.");
	return -EINVAL;
}

/* A profile that needs too much memory is read only in part: half, a quarter and so on. */
static int load(const char *file, struct model **out)
{
	struct model_view view = {.frames = MODEL_FRAMES_ALL};
	uint64_t records = 0;
	int error;

	view.records = &records;
	do {
		struct source *source;

		view.records_max = records / 2;
		error = progress_open(file, false, &source);
		if (!error)
			error = model_load_view(source, file, &view, out);
	} while (error == -ENOMEM && records > 1 && strcmp(file, "-") != 0);
	if (error == -ENOENT)
		log_error("%s: no such file", file);
	else if (error)
		log_error("%s: %s", file, profile_error_text(error));
	return error;
}

/* Comparing part of a profile with a complete one is misleading. */
static int judge(const struct model *model)
{
	if (model->state == PROFILE_COMPLETE)
		return 0;
	if (model->state != PROFILE_DAMAGED && model->state != PROFILE_LARGE) {
		log_warning("%s: %s", model->file, profile_state_text(model->state));
		return 0;
	}
	log_error("%s: %s", model->file, profile_state_text(model->state));
	return -EBADMSG;
}

static int print(const struct diff_arguments *arguments, struct model *const models[2])
{
	struct report_options options = {
		.width = arguments->width ? (int)arguments->width : terminal_width(STDOUT_FILENO),
		.colour = terminal_colour(STDOUT_FILENO),
		.top = arguments->top,
	};
	struct diff diff;
	int error = diff_make(models[0], models[1], &diff);

	if (!error)
		error = arguments->json ? diff_json(&diff, &options, stdout)
					: diff_text(&diff, &options, stdout);
	diff_free(&diff);
	if (!error && (fflush(stdout) != 0 || ferror(stdout)))
		error = errno ? -errno : -EIO;
	if (error && error != -EPIPE)
		log_error("standard output: %s", strerror(-error));
	return error == -EPIPE ? 0 : error;
}

static int diff_run(int argc, char **argv)
{
	struct diff_arguments arguments = {0};
	struct model *models[2] = {NULL, NULL};
	int error = 0;

	if (parse_arguments(&arguments, argc, argv) < 0)
		return EXIT_USAGE;
	for (int i = 0; i < 2 && !error; i++)
		error = load(arguments.files[i], &models[i]);
	if (!error)
		error = print(&arguments, models);
	for (int i = 0; i < 2; i++) {
		if (!error)
			error = judge(models[i]);
		model_free(models[i]);
	}
	return error ? 1 : 0;
}

const struct command cmd_diff = {
	.name = "diff",
	.usage = "[OPTIONS] BEFORE AFTER",
	.summary = "show what changed from one profile to another",
	.options = rows,
	.run = diff_run,
};
