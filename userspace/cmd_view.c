/* SPDX-License-Identifier: BSD-2-Clause */
/* cmd_view.c: gcprof view: shows a profile in the Firefox Profiler, or as a page. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "commands.h"
#include "export/export.h"
#include "export/serve.h"
#include "profile/sink.h"
#include "profile/source.h"
#include "profile/status.h"
#include "report/progress.h"
#include "util/log.h"
#include "util/output_file.h"
#include "util/stop_signals.h"

#define PROFILER "https://profiler.firefox.com"

enum { SECRET_BYTES = 16, PATH_SIZE = 96 };

struct view_arguments {
	uint64_t port;
	const char *frames;
	bool html;
};

static const struct option_row rows[] = {
	{"port", 'p', OPTION_NUMBER, offsetof(struct view_arguments, port), 1, 65535, "N",
	 "loopback port to serve it on (default: any free one)"},
	{"frames", 0, OPTION_TEXT, offsetof(struct view_arguments, frames), 0, 0, "KIND",
	 "frames shown on stacks: all, managed, or native with the kernel's (default all)"},
	{"html", 0, OPTION_FLAG, offsetof(struct view_arguments, html), 0, 0, NULL,
	 "serve it as an HTML page, which needs no network"},
	{NULL, 0, 0, 0, 0, 0, NULL, NULL},
};

static int convert(const char *file, enum model_frames frames, bool html, int fd)
{
	struct export_request request = {.exporter = html ? &exporter_html : &exporter_firefox,
					 .options = {.limit = EXPORT_LIMIT, .frames = frames},
					 .file = file};
	struct export_result result;
	struct source *source;
	struct sink *sink;
	int error = progress_open(file, false, &source);

	if (error)
		return error;
	error = sink_fd_create(fd, &sink);
	if (error) {
		source->close(source);
		return error;
	}
	error = export_run(&request, source, sink, &result);
	if (error)
		return error;
	if (*result.note)
		log_warning("%s: %s", file, result.note);
	if (result.state != PROFILE_COMPLETE)
		log_warning("%s: %s", file, profile_state_text(result.state));
	return 0;
}

/* A path that cannot be guessed. */
static int make_path(char path[PATH_SIZE], bool html)
{
	unsigned char secret[SECRET_BYTES];
	int used = snprintf(path, PATH_SIZE, "/");

	if (getrandom(secret, sizeof(secret), 0) != sizeof(secret))
		return -EIO;
	for (int i = 0; i < SECRET_BYTES; i++)
		used += snprintf(path + used, PATH_SIZE - (size_t)used, "%02x", secret[i]);
	snprintf(path + used, PATH_SIZE - (size_t)used, html ? "/gcprof.html" : "/gcprof.json.gz");
	return 0;
}

static void print_address(const struct served *served)
{
	if (served->origin)
		printf(PROFILER "/from-url/http%%3A%%2F%%2F127.0.0.1%%3A%u",
		       (unsigned)served->port);
	else
		printf("http://127.0.0.1:%u%s", (unsigned)served->port, served->path);
	for (const char *at = served->path; served->origin && *at; at++)
		printf(*at == '/' ? "%%2F" : "%c", *at);
	printf("\n");
	fflush(stdout);
	log_info("open this address in a browser on this machine; Ctrl-C ends");
}

static int serve(int file, bool html, uint16_t wanted)
{
	struct served served = {.file = file, .origin = html ? NULL : PROFILER};
	int listener = serve_listen(wanted, &served.port), stop = -1, error;
	char path[PATH_SIZE];
	struct stat st;

	if (listener < 0)
		return listener;
	served.path = path;
	error = fstat(file, &st) < 0 ? -errno : make_path(path, html);
	if (!error)
		stop = stop_signals_open(false);
	if (!error && stop < 0)
		error = stop;
	if (!error) {
		served.size = (uint64_t)st.st_size;
		print_address(&served);
		error = serve_run(listener, &served, stop);
	}
	if (stop >= 0)
		close(stop);
	close(listener);
	return error;
}

static int view(const char *name, enum model_frames frames, bool html, uint64_t port)
{
	int file = output_file_nameless(), error;

	if (file < 0) {
		log_error("cannot make a temporary file: %s", strerror(-file));
		return EXIT_FAILURE;
	}
	error = convert(name, frames, html, file);
	if (error) {
		log_error("%s: %s", name, profile_error_text(error));
	} else {
		error = serve(file, html, (uint16_t)port);
		if (error)
			log_error("port %" PRIu64 ": %s", port, strerror(-error));
	}
	close(file);
	return error ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int run(int argc, char **argv)
{
	struct view_arguments arguments = {0};
	const char *file = "gcprof.data";
	enum model_frames frames = MODEL_FRAMES_ALL;

	if (options_parse_words(&cmd_view, &arguments, argc, argv, &file, 1) < 0)
		return EXIT_USAGE;
	if (arguments.frames && model_frames_parse(arguments.frames, &frames)) {
		log_error("--frames %s: the kinds are all, managed and native", arguments.frames);
		return EXIT_USAGE;
	}
	return view(file, frames, arguments.html, arguments.port);
}

const struct command cmd_view = {
	.name = "view",
	.usage = "[OPTIONS] [FILE]",
	.summary = "show a profile in the Firefox Profiler, or as an HTML page",
	.options = rows,
	.run = run,
};
