/* SPDX-License-Identifier: BSD-2-Clause */
/* export.c: gcprof export: writes a profile in other programs' formats. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "export.h"
#include "../report/filter.h"
#include "../commands.h"
#include "../../export/export.h"
#include "../../profile/sink.h"
#include "../../profile/source.h"
#include "../../profile/status.h"
#include "../../util/log.h"
#include "../../util/output_file.h"
#include "../../util/suggest.h"

struct export_arguments {
	const char *format;
	const char *output;
	const char *by;
	const char *frames;
	struct option_list terms;
	struct filter filter;
	uint64_t max_size;
	int no_sources;
	struct server_arguments server;
	const char *where;
	const char *file;
};

static const struct option_row rows[] = {
	{"format", 'f', OPTION_TEXT, offsetof(struct export_arguments, format), 0, 0, "NAME",
	 "firefox, html, pprof, folded, perfetto, sqlite; list: show them (default firefox)"},
	{"output", 'o', OPTION_TEXT, offsetof(struct export_arguments, output), 0, 0, "FILE",
	 "where to write, - for standard output (default FILE with a suffix)"},
	{"by", 0, OPTION_TEXT, offsetof(struct export_arguments, by), 0, 0, "MEASURE",
	 "what folded stacks count: cpu, bytes, gc, syscall, off-cpu or faults (default cpu)"},
	{"frames", 0, OPTION_TEXT, offsetof(struct export_arguments, frames), 0, 0, "KIND",
	 "frames shown on stacks: all, managed, or native with the kernel's (default all)"},
	{"filter", 0, OPTION_LIST, offsetof(struct export_arguments, terms), 0, 0, "KEY=VALUE",
	 "export only events by function, module, type, thread, process, phase, time ..."},
	{"max-size", 0, OPTION_SIZE, offsetof(struct export_arguments, max_size), 1 << 16,
	 UINT64_C(4) << 30, "SIZE",
	 "thin out events if the unpacked file would be larger; for firefox (default 400M), "
	 "perfetto"},
	{"no-sources", 0, OPTION_FLAG, offsetof(struct export_arguments, no_sources), 0, 0, NULL,
	 "leave the text of source files out of the firefox file"},
	{"from", 0, OPTION_TEXT, offsetof(struct export_arguments, server.url), 0, 0, "URL",
	 "-f folded of the profiles that gcprof push stored in this ClickHouse server, not of a "
	 "file"},
	{"where", 0, OPTION_TEXT, offsetof(struct export_arguments, where), 0, 0, "CONDITION",
	 "with --from: as for gcprof report"},
	SERVER_OPTIONS(struct export_arguments, server, ""),
	{NULL, 0, 0, 0, 0, 0, NULL, NULL},
};

static void list_formats(void)
{
	for (size_t i = 0; exporters[i]; i++)
		printf("%-8s  %-15s  %s\n", exporters[i]->name, exporters[i]->suffix,
		       exporters[i]->summary);
}

static void complain_format(const char *name)
{
	struct suggestion suggestion = {.word = name};
	char hint[64];

	for (size_t i = 0; exporters[i]; i++)
		suggestion_offer(&suggestion, exporters[i]->name);
	suggestion_text(&suggestion, "", hint, sizeof(hint));
	log_error("%s: no such format%s\n'gcprof export --format list' shows them.", name, hint);
}

static void complain_measure(const char *word, const struct exporter *exporter)
{
	char known[128] = "";
	size_t used = 0;

	for (size_t i = 0; exporter->measures && exporter->measures[i] && used < sizeof(known); i++)
		used += (size_t)snprintf(known + used, sizeof(known) - used, "%s%s", i ? ", " : "",
					 exporter->measures[i]);
	if (used)
		log_error("--by %s: %s can count %s", word, exporter->name, known);
	else
		log_error("--by %s: the format %s always has all measures", word, exporter->name);
}

static int choose(struct export_arguments *arguments, struct export_request *request)
{
	const char *name = arguments->format ? arguments->format : "firefox";

	request->exporter = exporter_find(name);
	if (!request->exporter) {
		complain_format(name);
		return -EINVAL;
	}
	if (arguments->by && !exporter_measures(request->exporter, arguments->by)) {
		complain_measure(arguments->by, request->exporter);
		return -EINVAL;
	}
	if (arguments->max_size && !request->exporter->thins) {
		log_error("--max-size: the format %s always has everything", name);
		return -EINVAL;
	}
	if (arguments->frames && model_frames_parse(arguments->frames, &request->options.frames)) {
		log_error("--frames %s: the kinds are all, managed and native", arguments->frames);
		return -EINVAL;
	}
	if (filter_parse(&arguments->terms, &arguments->filter))
		return -EINVAL;
	request->filter = &arguments->filter;
	request->options.measure = arguments->by;
	request->options.no_sources = arguments->no_sources;
	request->options.limit = arguments->max_size;
	request->file = arguments->file ? arguments->file : "gcprof.data";
	return 0;
}

/* NULL: no memory. */
static char *output_path(const struct export_arguments *arguments,
			 const struct export_request *request)
{
	char *path = NULL;

	if (arguments->output)
		return strdup(arguments->output);
	return asprintf(&path, "%s%s", request->file, request->exporter->suffix) < 0 ? NULL : path;
}

static void cmd_export_explain(const struct export_request *request, const char *path, int error)
{
	if (error == -EFBIG)
		log_error("%s: too large for --max-size even without %s", request->file,
			  request->exporter->thins);
	else if (error == -ENOENT || error == -ENODATA || error == -EBADMSG || error == -EPROTO ||
		 error == -EISDIR || error == -EACCES || error == -ENOMEM)
		log_error("%s: %s", request->file, profile_error_text(error));
	else if (error != -EPIPE)
		log_error("%s: %s", path, strerror(-error));
}

/* Reports missing data; returns the exit code. */
static int cmd_export_judge(const struct export_request *request,
			    const struct export_result *result)
{
	if (*result->note)
		log_warning("%s: %s", request->file, result->note);
	return profile_judge(request->file, result->state, result->status.bytes);
}

/* The output must not replace the input. */
static bool is_same_file(const char *a, const char *b)
{
	struct stat x, y;

	return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino && S_ISREG(x.st_mode);
}

/* Takes over the sources. Returns the exit code. */
static int convert_to(const struct export_request *request, struct source *const sources[2],
		      struct output_file *file)
{
	struct export_result result;
	struct sink *sink;
	int error = sink_fd_create(file->fd, &sink);

	for (int i = 0; i < 2 && error && sources[i]; i++)
		sources[i]->close(sources[i]);
	error = error ? error : export_run(request, sources, sink, &result);
	if (error) {
		cmd_export_explain(request, file->path, error);
		return error == -EPIPE ? EXIT_SUCCESS : EXIT_FAILURE;
	}
	error = output_file_publish(file);
	if (error) {
		log_error("%s: %s", file->path, output_file_error(error));
		return EXIT_FAILURE;
	}
	if (!output_file_is_stdout(file->path))
		log_info("wrote %s", file->path);
	if (*result.info)
		log_info("%s: the export %s", request->file, result.info);
	return cmd_export_judge(request, &result);
}

static int cmd_export_convert(const struct export_request *request, const char *path)
{
	struct output_file file = {.path = path, .mark = &request->exporter->mark};
	bool piped = output_file_is_stdout(path);
	struct source *sources[2];
	int status = EXIT_FAILURE, error;

	if (request->exporter->packed && piped && isatty(STDOUT_FILENO)) {
		log_error("not writing compressed data to a terminal; name a file with -o");
		return EXIT_FAILURE;
	}
	error = filter_open(request->filter, request->file, piped, sources);
	if (error) {
		cmd_export_explain(request, path, error);
		return EXIT_FAILURE;
	}
	error = output_file_open(&file);
	if (!error) {
		status = convert_to(request, sources, &file);
	} else {
		for (int i = 0; i < 2 && sources[i]; i++)
			sources[i]->close(sources[i]);
		log_error("%s: %s", path, output_file_error(error));
	}
	output_file_close(&file);
	return status;
}

static int from_server(const struct export_arguments *arguments,
		       const struct export_request *request)
{
	if (!arguments->server.url || arguments->file || arguments->frames ||
	    arguments->terms.count || strcmp(request->exporter->name, "folded") != 0) {
		log_error("--from URL: only with -f folded, without a file, --frames and "
			  "--filter; --where only with --from");
		return EXIT_USAGE;
	}
	return export_from_server(&arguments->server, arguments->where,
				  arguments->by ? arguments->by : "cpu",
				  arguments->output ? arguments->output : "fleet.folded");
}

static int cmd_export_run(int argc, char **argv)
{
	struct export_arguments arguments = {0};
	struct export_request request = {0};
	char *path;
	int status;

	if (options_parse_words(&cmd_export, &arguments, argc, argv, &arguments.file, 1) < 0)
		return EXIT_USAGE;
	if (arguments.format && strcmp(arguments.format, "list") == 0) {
		list_formats();
		return EXIT_SUCCESS;
	}
	if (choose(&arguments, &request) < 0)
		return EXIT_USAGE;
	if (arguments.server.url || arguments.where)
		return from_server(&arguments, &request);
	if (arguments.output && is_same_file(arguments.output, request.file)) {
		log_error("%s: this is the profile itself; name another file with -o",
			  arguments.output);
		return EXIT_USAGE;
	}
	path = output_path(&arguments, &request);
	if (!path) {
		log_error("%s", strerror(ENOMEM));
		return EXIT_FAILURE;
	}
	status = cmd_export_convert(&request, path);
	free(path);
	return status;
}

const struct command cmd_export = {
	.name = "export",
	.usage = "[OPTIONS] [FILE]",
	.summary =
		"write a profile as an HTML page, for the Firefox Profiler, pprof or flame graphs",
	.options = rows,
	.run = cmd_export_run,
};
