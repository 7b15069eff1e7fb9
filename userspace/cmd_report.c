/* SPDX-License-Identifier: BSD-2-Clause */
/* cmd_report.c: gcprof report: shows what a profile says. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "model/filter.h"
#include "model/model.h"
#include "profile/source.h"
#include "report/report.h"
#include "report/terminal.h"
#include "util/log.h"

struct report_arguments {
	int json;
	int verbose;
	uint64_t top;
	uint64_t width;
	const char *sort;
	struct option_list filter;
	int parts[8]; /* in the order of enum report_part */
	const char *frames;
	const char *file;
};

static const struct option_row rows[] = {
	{"json", 0, OPTION_FLAG, offsetof(struct report_arguments, json), 0, 0, NULL,
	 "print JSON for programs: times in ns, sizes in bytes"},
	{"top", 0, OPTION_NUMBER, offsetof(struct report_arguments, top), 1, 1000000000, "N",
	 "rows of each table at most (default 20; all with --json)"},
	{"width", 0, OPTION_NUMBER, offsetof(struct report_arguments, width), REPORT_WIDTH_MIN,
	 REPORT_WIDTH_MAX, "N", "columns of the text (default the terminal's, $COLUMNS, or 100)"},
	{"sort", 0, OPTION_TEXT, offsetof(struct report_arguments, sort), 0, 0, "KEY",
	 "order of rows: cpu, alloc, gc, survived, vain, live, syscalls ... (see the manual)"},
	{"filter", 0, OPTION_LIST, offsetof(struct report_arguments, filter), 0, 0, "KEY=VALUE",
	 "count only events of a function, module, type, thread, phase, time, or during a call"},
	{"functions", 0, OPTION_FLAG, offsetof(struct report_arguments, parts[0]), 0, 0, NULL,
	 "show only functions; this and the next ones may be combined"},
	{"gc", 0, OPTION_FLAG, offsetof(struct report_arguments, parts[1]), 0, 0, NULL,
	 "show only collections"},
	{"sites", 0, OPTION_FLAG, offsetof(struct report_arguments, parts[2]), 0, 0, NULL,
	 "show only where objects are allocated"},
	{"types", 0, OPTION_FLAG, offsetof(struct report_arguments, parts[3]), 0, 0, NULL,
	 "show only types"},
	{"syscalls", 0, OPTION_FLAG, offsetof(struct report_arguments, parts[4]), 0, 0, NULL,
	 "show only system calls"},
	{"threads", 0, OPTION_FLAG, offsetof(struct report_arguments, parts[5]), 0, 0, NULL,
	 "show only threads"},
	{"live", 0, OPTION_FLAG, offsetof(struct report_arguments, parts[6]), 0, 0, NULL,
	 "show only what was alive at the end, and who allocated it"},
	{"timeline", 0, OPTION_FLAG, offsetof(struct report_arguments, parts[7]), 0, 0, NULL,
	 "show only figures over time"},
	{"frames", 0, OPTION_TEXT, offsetof(struct report_arguments, frames), 0, 0, "KIND",
	 "frames on stacks: all, managed or native, which are the kernel's too (default all)"},
	{"verbose", 'v', OPTION_FLAG, offsetof(struct report_arguments, verbose), 0, 0, NULL,
	 "show more about the profile itself"},
	{NULL, 0, 0, 0, 0, 0, NULL, NULL},
};

static void explain(const char *file, int error)
{
	switch (error) {
	case -ENOENT:
		log_error("%s: no such file; 'gcprof record -- COMMAND' makes one", file);
		break;
	case -ENODATA:
		log_error("%s: the file is empty: nothing was recorded", file);
		break;
	case -EBADMSG:
		log_error("%s: not a profile of gcprof", file);
		break;
	case -EPROTO:
		log_error("%s: made by a newer gcprof, whose format this one does not know", file);
		break;
	default:
		log_error("%s: %s", file, strerror(-error));
	}
}

static unsigned parts_of(const struct report_arguments *arguments)
{
	unsigned parts = 0;

	for (size_t i = 0; i < sizeof(arguments->parts) / sizeof(*arguments->parts); i++)
		parts |= arguments->parts[i] ? 1U << i : 0;
	return parts;
}

static int print_report(const struct model *model, const struct report_arguments *arguments)
{
	struct report_options options = {
		.width = arguments->width ? (int)arguments->width : terminal_width(STDOUT_FILENO),
		.colour = terminal_colour(STDOUT_FILENO),
		.verbose = arguments->verbose,
		.top = arguments->top,
		.parts = parts_of(arguments),
		.sort = arguments->sort,
	};
	int error = arguments->json ? report_json(model, &options, stdout)
				    : report_text(model, &options, stdout);

	if (!error && (fflush(stdout) != 0 || ferror(stdout)))
		error = errno ? -errno : -EIO;
	/* The reader had enough, as `head` does. */
	return error == -EPIPE ? 0 : error;
}

static void warn_of_state(const struct model *model)
{
	if (model->state == PROFILE_DAMAGED)
		log_error("%s: the profile is damaged; it was read up to byte %llu", model->file,
			  (unsigned long long)model->status.bytes);
	else if (model->state != PROFILE_COMPLETE)
		log_warning("%s: the end of the profile is missing: it was read as far as it goes",
			    model->file);
}

/* Options may stand before and behind the file. */
static int parse_arguments(struct report_arguments *arguments, int argc, char **argv)
{
	for (int next; (next = options_parse(&cmd_report, arguments, argc, argv)) < argc;) {
		if (next < 0)
			return next;
		if (arguments->file) {
			log_error("%s: one profile at a time", argv[next]);
			return -EINVAL;
		}
		arguments->file = argv[next];
		/* What was parsed last stands where the verb would. */
		argv += next;
		argc -= next;
	}
	return 0;
}

static int make_filter(const struct report_arguments *arguments, struct filter *filter)
{
	char fault[200];

	for (size_t i = 0; i < arguments->filter.count; i++) {
		const char *text = arguments->filter.items[i];

		if (filter_add(filter, text, fault, sizeof(fault)) < 0) {
			log_error("--filter %s: %s", text, fault);
			return -EINVAL;
		}
	}
	return 0;
}

/* With a filter the profile is read twice. */
static int load(const char *file, const struct filter *filter, enum model_frames frames,
		struct model **out)
{
	struct source *source = NULL, *second = NULL;
	int error = source_file_open(file, &source);

	if (error || !filter->count)
		return error ? error : model_load_shown(source, file, frames, NULL, out);
	error = source_file_open(file, &second);
	if (error) {
		source->close(source);
		return error;
	}
	return model_load_filtered((struct source *[]){source, second}, file, filter, frames, out);
}

static int report_run(int argc, char **argv)
{
	struct report_arguments arguments = {0};
	enum model_frames frames = MODEL_FRAMES_ALL;
	struct filter filter = {.count = 0};
	struct model *model = NULL;
	const char *file;
	int error;

	if (parse_arguments(&arguments, argc, argv) < 0)
		return EXIT_USAGE;
	if (make_filter(&arguments, &filter) < 0)
		return EXIT_USAGE;
	if (arguments.sort && !report_order_exists(arguments.sort)) {
		log_error("--sort %s: there are %s", arguments.sort, report_orders());
		return EXIT_USAGE;
	}
	if (arguments.frames && model_frames_parse(arguments.frames, &frames)) {
		log_error("--frames %s: the kinds are all, managed and native", arguments.frames);
		return EXIT_USAGE;
	}
	file = arguments.file ? arguments.file : "gcprof.data";
	error = load(file, &filter, frames, &model);
	if (error) {
		explain(file, error);
		return 1;
	}
	error = report_sort(model, arguments.sort);
	if (!error)
		error = print_report(model, &arguments);
	if (error)
		log_error("standard output: %s", strerror(-error));
	warn_of_state(model);
	if (model->state == PROFILE_DAMAGED)
		error = -EBADMSG;
	model_free(model);
	return error ? 1 : 0;
}

const struct command cmd_report = {
	.name = "report",
	.usage = "[OPTIONS] [FILE]",
	.summary = "show where time and memory went",
	.options = rows,
	.run = report_run,
};
