/* SPDX-License-Identifier: BSD-2-Clause */
/* report.c: gcprof report: prints the report on a profile. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "browser.h"
#include "filter.h"
#include "report.h"
#include "../commands.h"
#include "../../browse/screen.h"
#include "../../model/rows/call_tree.h"
#include "../../model/load.h"
#include "../../profile/status.h"
#include "../../report/calls.h"
#include "../../report/report.h"
#include "../../report/terminal.h"
#include "../../util/ascii.h"
#include "../../util/log.h"

struct report_arguments {
	int json;
	int all;
	int verbose;
	uint64_t top;
	uint64_t width;
	const char *sort;
	struct option_list filter;
	int tree;
	const char *callers, *callees;
	int parts[13]; /* in the order of enum report_part */
	const char *histogram;
	const char *frames;
	int recording;
	int no_browse;
	struct server_arguments server;
	const char *where;
	const char *file;
};

static const struct option_row rows[] = {
	{"json", 0, OPTION_FLAG, offsetof(struct report_arguments, json), 0, 0, NULL,
	 "print JSON for scripts: times in ns, sizes in bytes"},
	{"top", 0, OPTION_NUMBER, offsetof(struct report_arguments, top), 1, 1000000000, "N",
	 "maximum rows of each table (default 20; all with --json)"},
	{"width", 0, OPTION_NUMBER, offsetof(struct report_arguments, width), REPORT_WIDTH_MIN,
	 REPORT_WIDTH_MAX, "N", "width of the text (default the terminal's, $COLUMNS, or 100)"},
	{"sort", 0, OPTION_TEXT, offsetof(struct report_arguments, sort), 0, 0, "KEY",
	 "order of rows: cpu, alloc, gc, survived, premature, live, syscalls ... (see the manual)"},
	{"filter", 0, OPTION_LIST, offsetof(struct report_arguments, filter), 0, 0, "KEY=VALUE",
	 "select events by function, module, type, thread, process, phase, time ..."},
	{"tree", 0, OPTION_FLAG, offsetof(struct report_arguments, tree), 0, 0, NULL,
	 "show the call tree; --sort chooses the measure: cpu, alloc, live ... (see the manual)"},
	{"callers", 0, OPTION_TEXT, offsetof(struct report_arguments, callers), 0, 0, "FUNCTION",
	 "show the callers of a function as a tree"},
	{"callees", 0, OPTION_TEXT, offsetof(struct report_arguments, callees), 0, 0, "FUNCTION",
	 "show the callees of a function as a tree"},
	{"frames", 0, OPTION_TEXT, offsetof(struct report_arguments, frames), 0, 0, "KIND",
	 "frames shown on stacks: all, managed, or native with the kernel's (default all)"},
	{"recording", 0, OPTION_FLAG, offsetof(struct report_arguments, recording), 0, 0, NULL,
	 "count the time of gcprof's BPF programs as the program's"},
	{"programs", 0, OPTION_FLAG, offsetof(struct report_arguments, parts[10]), 0, 0, NULL,
	 "show only processes by program; this and the next options may be combined"},
	{"time", 0, OPTION_FLAG, offsetof(struct report_arguments, parts[12]), 0, 0, NULL,
	 "show only where the wall time of threads went"},
	{"entries", 0, OPTION_FLAG, offsetof(struct report_arguments, parts[11]), 0, 0, NULL,
	 "show only the functions that threads begin with"},
	{"functions", 0, OPTION_FLAG, offsetof(struct report_arguments, parts[0]), 0, 0, NULL,
	 "show only functions"},
	{"gc", 0, OPTION_FLAG, offsetof(struct report_arguments, parts[1]), 0, 0, NULL,
	 "show only collections, and the longest pauses in detail"},
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
	{"off-cpu", 0, OPTION_FLAG, offsetof(struct report_arguments, parts[8]), 0, 0, NULL,
	 "show only time off the CPU"},
	{"faults", 0, OPTION_FLAG, offsetof(struct report_arguments, parts[9]), 0, 0, NULL,
	 "show only page faults"},
	{"histogram", 0, OPTION_TEXT, offsetof(struct report_arguments, histogram), 0, 0, "CALL",
	 "show the distribution of a system call's duration: read, or syscall:read"},
	{"from", 0, OPTION_TEXT, offsetof(struct report_arguments, server.url), 0, 0, "URL",
	 "report on the profiles that gcprof push stored in this ClickHouse server, not on a file"},
	{"where", 0, OPTION_TEXT, offsetof(struct report_arguments, where), 0, 0, "CONDITION",
	 "with --from: service=NAME AND version!=NAME AND time>-24h ..."},
	SERVER_OPTIONS(struct report_arguments, server, ""),
	{"all", 0, OPTION_FLAG, offsetof(struct report_arguments, all), 0, 0, NULL,
	 "show everything also on a terminal, not only what fits on a screen"},
	{"no-browse", 0, OPTION_FLAG, offsetof(struct report_arguments, no_browse), 0, 0, NULL,
	 "print the answer; by default, keys browse the report on a terminal"},
	{"verbose", 'v', OPTION_COUNT, offsetof(struct report_arguments, verbose), 0, 0, NULL,
	 "show more detail about the profile itself"},
	{NULL, 0, 0, 0, 0, 0, NULL, NULL},
};

static unsigned parts_of(const struct report_arguments *arguments)
{
	unsigned parts = 0;

	for (size_t i = 0; i < sizeof(arguments->parts) / sizeof(*arguments->parts); i++)
		parts |= arguments->parts[i] ? 1U << i : 0;
	if (arguments->histogram)
		parts |= arguments->json ? PART_SYSCALLS : PART_HISTOGRAM;
	return parts;
}

static bool wants_calls(const struct report_arguments *arguments)
{
	return arguments->tree || arguments->callers || arguments->callees;
}

static void make_builder(const struct report_arguments *arguments, struct call_tree *tree,
			 struct call_builder *builder)
{
	if (arguments->callers)
		call_builder_init(builder, CALLS_CALLERS, arguments->callers, tree);
	else if (arguments->callees)
		call_builder_init(builder, CALLS_CALLEES, arguments->callees, tree);
	else
		call_builder_init(builder, CALLS_TREE, NULL, tree);
}

static int print_calls(const struct model *model, const struct report_arguments *arguments,
		       const struct report_options *options, const struct call_builder *builder,
		       FILE *out)
{
	struct calls_request request = {.kind = builder->kind, .pattern = builder->pattern};
	int error;

	calls_measure(builder->tree, arguments->sort, &request.measure);
	error = call_tree_sort(builder->tree, request.measure);
	if (error)
		return error;
	return arguments->json ? calls_json(model, builder->tree, &request, out)
			       : calls_text(model, builder->tree, &request, options, out);
}

static struct report_options options_of(const struct report_arguments *arguments)
{
	return (struct report_options){
		.width = arguments->width ? (int)arguments->width : terminal_width(STDOUT_FILENO),
		.colour = terminal_colour(STDOUT_FILENO),
		.brief = isatty(STDOUT_FILENO) && !arguments->all && !arguments->verbose &&
			 !arguments->top && !arguments->sort,
		.verbose = arguments->verbose,
		.top = arguments->top,
		.parts = parts_of(arguments),
		.sort = arguments->sort,
		.histogram = arguments->histogram,
	};
}

static int print_report(struct model *model, const struct report_arguments *arguments,
			const struct call_builder *builder, FILE *out)
{
	struct report_options options = options_of(arguments);
	int error = report_sort(model, arguments->sort);

	if (!error && wants_calls(arguments))
		error = print_calls(model, arguments, &options, builder, out);
	else if (!error)
		error = arguments->json ? report_json(model, &options, out)
					: report_text(model, &options, out);
	return error;
}

/* False if there is no such call, which is reported. */
static bool has_call(const struct model *model, const char *name)
{
	char names[200] = "";

	for (size_t i = 0; i < model->n_syscalls; i++) {
		if (!strcmp(model->syscalls[i].name, name))
			return true;
		if (i < 5)
			snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s",
				 i ? ", " : "", model->syscalls[i].name);
	}
	log_error("--histogram %s: no such call was recorded%s%s%s", name,
		  names[0] ? "; there are " : "", names,
		  model->n_syscalls > 5 ? " and others" : "");
	return false;
}

/* A profile that needs too much memory is read only in part: half, a quarter and so on. */
static int load_what_fits(const char *file, const struct filter *filter, struct model_view *view,
			  struct call_tree *calls, struct model **out)
{
	uint64_t records = 0;
	int error = 0;

	view->records = &records;
	do {
		call_tree_free(calls);
		view->records_max = records / 2;
		error = filter_load(filter, file, view, out);
	} while (error == -ENOMEM && records > 1 && strcmp(file, "-") != 0);
	view->records = NULL;
	return error;
}

/* Is it asked for by a person at a terminal, who did not say what is to be printed? */
static bool wants_browser(const struct report_arguments *arguments)
{
	return !arguments->no_browse && !arguments->json && !arguments->all &&
	       !arguments->verbose && !arguments->top && !arguments->sort && !arguments->width &&
	       !wants_calls(arguments) && !parts_of(arguments) && !arguments->server.url &&
	       (!arguments->file || strcmp(arguments->file, "-") != 0) && screen_possible();
}

static int check_sort(const struct report_arguments *arguments)
{
	struct call_node root = {.name = NULL};
	struct call_tree empty = {&root, 1, 1};
	enum call_measure measure;

	if (!!arguments->tree + !!arguments->callers + !!arguments->callees > 1) {
		log_error("use only one of --tree, --callers and --callees");
		return -EINVAL;
	}
	if (wants_calls(arguments) && calls_measure(&empty, arguments->sort, &measure) < 0) {
		log_error("--sort %s: calls can be sorted by cpu, alloc, gc, syscalls, off-cpu, "
			  "survived or live",
			  arguments->sort);
		return -EINVAL;
	}
	if (arguments->sort && !report_order_exists(arguments->sort)) {
		log_error("--sort %s: no such key; there are %s", arguments->sort, report_orders());
		return -EINVAL;
	}
	return 0;
}

/* A server has sums of samples, pauses, calls and threads, but no events or live objects. */
static int run_from_server(const struct report_arguments *arguments, size_t n_filters)
{
	const unsigned parts = PART_FUNCTIONS | PART_SITES | PART_TYPES | PART_SYSCALLS | PART_GC |
			       PART_THREADS;
	struct report_options options = options_of(arguments);
	struct call_tree none = {.count = 0};
	struct call_builder builder;
	struct calls_request calls;

	options.brief = false;
	if (arguments->file || n_filters || arguments->frames || arguments->histogram ||
	    arguments->recording || (options.parts & ~parts && options.parts != PART_TIMELINE)) {
		log_error("--from: only with --functions, --sites, --types, --syscalls, --gc, "
			  "--threads, --tree, --callers, --callees, --timeline (alone), --where, "
			  "--sort, "
			  "--top and --json");
		return EXIT_USAGE;
	}
	make_builder(arguments, &none, &builder);
	calls = (struct calls_request){.kind = builder.kind, .pattern = builder.pattern};
	if (arguments->sort && wants_calls(arguments))
		calls_measure(&none, arguments->sort, &calls.measure);
	if (calls.measure == CALLS_LIVE) {
		log_error("--sort live: the server does not know what was alive");
		return EXIT_USAGE;
	}
	return report_from_server(&(struct server_report){&arguments->server, arguments->where,
							  arguments->json, &options,
							  wants_calls(arguments) ? &calls : NULL});
}

/* The answer stays on the terminal when the browser is left. */
static int browse_first(const struct report_arguments *arguments, struct report_browser *browser)
{
	struct call_builder none = {.tree = NULL};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	int error = out ? print_report(*browser->first, arguments, &none, out) : -ENOMEM;

	if (out && fclose(out))
		error = -ENOMEM;
	error = error ? error : report_browse(browser);
	/* A terminal that cannot be used is no reason for no answer. */
	if (!error || error == -ENOTTY)
		error = fputs(text, stdout) < 0 ? -EIO : 0;
	free(text);
	return error;
}

static int report_run(int argc, char **argv)
{
	struct report_arguments arguments = {0};
	struct model_view view = {.frames = MODEL_FRAMES_ALL};
	struct filter filter = {.count = 0};
	struct call_tree calls = {.count = 0};
	struct call_builder builder;
	struct model *model = NULL;
	enum profile_state state;
	const char *file;
	uint64_t bytes;
	int error, status;

	if (options_parse_words(&cmd_report, &arguments, argc, argv, &arguments.file, 1) < 0)
		return EXIT_USAGE;
	if (filter_parse(&arguments.filter, &filter) < 0 || check_sort(&arguments) < 0)
		return EXIT_USAGE;
	if (arguments.frames && model_frames_parse(arguments.frames, &view.frames)) {
		log_error("--frames %s: the kinds are all, managed and native", arguments.frames);
		return EXIT_USAGE;
	}
	if (!arguments.json)
		ascii_stdout();
	if (arguments.server.url)
		return run_from_server(&arguments, filter.count);
	view.recording = arguments.recording;
	if (arguments.histogram && !strncmp(arguments.histogram, "syscall:", 8))
		arguments.histogram += 8;
	make_builder(&arguments, &calls, &builder);
	if (wants_calls(&arguments))
		view.observer = &builder.observer;
	file = arguments.file ? arguments.file : "gcprof.data";
	error = load_what_fits(file, &filter, &view, &calls, &model);
	if (error) {
		log_error("%s: %s", file, profile_error_text(error));
		call_tree_free(&calls);
		return 1;
	}
	if (arguments.histogram && !has_call(model, arguments.histogram)) {
		model_free(model);
		call_tree_free(&calls);
		return 1;
	}
	status = model_selects_nothing(model); /* as grep */
	state = model->state;
	bytes = model->status.bytes;
	error = wants_browser(&arguments)
			? browse_first(&arguments, &(struct report_browser){.file = file,
									    .filter = &filter,
									    .view = view,
									    .first = &model})
			: print_report(model, &arguments, &builder, stdout);
	if (error)
		log_error("%s", strerror(-error));
	status = profile_judge(file, state, bytes) || status;
	model_free(model);
	call_tree_free(&calls);
	return error ? EXIT_FAILURE : status;
}

const struct command cmd_report = {
	.name = "report",
	.usage = "[OPTIONS] [FILE]",
	.summary = "show where time and memory went",
	.options = rows,
	.run = report_run,
};
