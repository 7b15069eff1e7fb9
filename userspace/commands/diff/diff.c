/* SPDX-License-Identifier: BSD-2-Clause */
/* diff.c: gcprof diff: shows what changed between two profiles. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "diff.h"
#include "../commands.h"
#include "../../model/load.h"
#include "../../profile/source.h"
#include "../../profile/status.h"
#include "../../report/diff.h"
#include "../../report/terminal.h"
#include "../../report/progress.h"
#include "../../util/ascii.h"
#include "../../util/log.h"

enum { EXIT_MET = 3 };

/* What is asked of the difference, parsed. */
struct request {
	struct condition conditions[OPTION_LIST_MAX];
	size_t n_conditions;
	const char *per; /* NULL: figures are not divided */
	struct term work;
};

struct diff_arguments {
	int json;
	uint64_t top;
	uint64_t width;
	const char *where;
	struct option_list fail_if;
	const char *per;
	struct server_arguments server;
	const char *files[2]; /* or conditions */
};

static const struct option_row rows[] = {
	{"json", 0, OPTION_FLAG, offsetof(struct diff_arguments, json), 0, 0, NULL,
	 "print JSON for scripts: times in ns, sizes in bytes"},
	{"top", 0, OPTION_NUMBER, offsetof(struct diff_arguments, top), 1, 1000000000, "N",
	 "maximum rows of each table (default 10; all with --json)"},
	{"width", 0, OPTION_NUMBER, offsetof(struct diff_arguments, width), REPORT_WIDTH_MIN,
	 REPORT_WIDTH_MAX, "N", "width of the text (default the terminal's, $COLUMNS, or 100)"},
	{"fail-if", 0, OPTION_LIST, offsetof(struct diff_arguments, fail_if), 0, 0, "CONDITION",
	 "exit with 3 if a figure changed more, such as cpu>+5%, pauses>+20ms or "
	 "calls:write<-10%; may be given several times"},
	{"per", 0, OPTION_TEXT, offsetof(struct diff_arguments, per), 0, 0, "WORK",
	 "divide figures by the work done: objects, alloc (MiB), calls, calls:NAME, minor, major"},
	{"from", 0, OPTION_TEXT, offsetof(struct diff_arguments, server.url), 0, 0, "URL",
	 "compare profiles that gcprof push stored there; name two conditions, not files"},
	{"where", 0, OPTION_TEXT, offsetof(struct diff_arguments, where), 0, 0, "CONDITION",
	 "with --from: condition on both sides, such as service=NAME AND time>-24h"},
	SERVER_OPTIONS(struct diff_arguments, server, ""),
	{NULL, 0, 0, 0, 0, 0, NULL, NULL},
};

static int parse_request(const struct diff_arguments *arguments, struct request *out)
{
	struct condition_fault fault;
	int error = 0;

	*out = (struct request){.per = arguments->per};
	if (arguments->server.url && (arguments->per || arguments->fail_if.count)) {
		log_error("--fail-if and --per: only of two files, not with --from");
		return -EINVAL;
	}
	if (out->per && condition_parse_work(out->per, &out->work, &fault)) {
		log_error("--per %s: %s", out->per, fault.text);
		return -EINVAL;
	}
	for (size_t i = 0; i < arguments->fail_if.count && !error; i++) {
		const char *text = arguments->fail_if.items[i];

		error = condition_parse(text, &out->conditions[out->n_conditions++], &fault);
		if (error)
			log_error("--fail-if %s: %s", text, fault.text);
	}
	return error;
}

static int parse_arguments(struct diff_arguments *arguments, int argc, char **argv)
{
	int n = options_parse_words(&cmd_diff, arguments, argc, argv, arguments->files, 2);

	if (n < 0)
		return n;
	if (n != 2)
		log_error("name two %s: gcprof diff %s\nTry 'gcprof diff --help'.",
			  arguments->server.url ? "conditions" : "profiles",
			  arguments->server.url ? "--from URL version=1 version=2"
						: "BEFORE AFTER");
	if (n == 2 && arguments->where && !arguments->server.url)
		log_error("--where: only with --from");
	return n == 2 && (arguments->server.url || !arguments->where) ? 0 : -EINVAL;
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
	if (!profile_judge(model->file, model->state, model->status.bytes))
		return 0;
	log_error("a part of a profile is not compared with another profile");
	return -EBADMSG;
}

/* Divides by work, and judges the conditions. Says what is at fault: -ENODATA. */
static int answer(struct request *request, struct diff *diff)
{
	struct condition_fault fault;
	int error = 0;

	diff->conditions = request->conditions;
	diff->n_conditions = request->n_conditions;
	diff->per.text = request->per;
	if (request->per && condition_divide(&request->work, diff, &fault)) {
		log_error("--per %s: %s", request->per, fault.text);
		return -ENODATA;
	}
	for (size_t i = 0; i < request->n_conditions && !error; i++) {
		error = condition_judge(&request->conditions[i], diff, &fault);
		if (error)
			log_error("--fail-if %s: %s", request->conditions[i].text, fault.text);
	}
	return error;
}

static int print(const struct report_options *options, diff_printer *printer,
		 struct model *const models[2], struct request *request)
{
	struct diff diff;
	int error = diff_make(models[0], models[1], &diff);

	if (!error)
		error = answer(request, &diff);
	if (!error)
		error = printer(&diff, options, stdout);
	diff_free(&diff);
	if (error && error != -ENODATA)
		log_error("%s", strerror(-error));
	return error;
}

static bool any_met(const struct request *request)
{
	for (size_t i = 0; i < request->n_conditions; i++)
		if (request->conditions[i].met)
			return true;
	return false;
}

static int diff_run(int argc, char **argv)
{
	struct diff_arguments arguments = {0};
	struct model *models[2] = {NULL, NULL};
	struct request request;
	struct report_options options;
	diff_printer *printer;
	int error = 0;

	if (parse_arguments(&arguments, argc, argv) < 0 || parse_request(&arguments, &request) < 0)
		return EXIT_USAGE;
	options = (struct report_options){
		.width = arguments.width ? (int)arguments.width : terminal_width(STDOUT_FILENO),
		.colour = terminal_colour(STDOUT_FILENO),
		.top = arguments.top,
	};
	printer = arguments.json ? diff_json : diff_text;
	if (!arguments.json)
		ascii_stdout();
	if (arguments.server.url)
		return diff_from_server(&arguments.server, arguments.where, arguments.files,
					printer, &options);
	for (int i = 0; i < 2 && !error; i++)
		error = load(arguments.files[i], &models[i]);
	if (!error)
		error = print(&options, printer, models, &request);
	for (int i = 0; i < 2; i++) {
		if (!error)
			error = judge(models[i]);
		model_free(models[i]);
	}
	return error ? EXIT_FAILURE : any_met(&request) ? EXIT_MET : 0;
}

const struct command cmd_diff = {
	.name = "diff",
	.usage = "[OPTIONS] BEFORE AFTER",
	.summary = "show what changed from one profile to another",
	.options = rows,
	.run = diff_run,
};
