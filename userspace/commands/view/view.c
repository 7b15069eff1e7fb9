/* SPDX-License-Identifier: BSD-2-Clause */
/* view.c: gcprof view: shows a profile in the Firefox Profiler, or as a page. */
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../report/filter.h"
#include "../commands.h"
#include "../../export/export.h"
#include "../../export/view/serve.h"
#include "../../profile/sink.h"
#include "../../profile/status.h"
#include "../../util/log.h"
#include "../../util/output_file.h"
#include "../../util/stop_signals.h"

/* --- opens an address in the user's browser ------------------------------------------------- */

/* Started by sudo, the environment may name a home that is not this user's. */
static void correct_home(void)
{
	const char *home = getenv("HOME");
	const struct passwd *user = getpwuid(getuid());

	if (user && (!home || access(home, W_OK) < 0))
		setenv("HOME", user->pw_dir, 1);
}

static int start(const char *program, const char *address, pid_t *pid)
{
	char *const words[] = {(char *)program, (char *)address, NULL};
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	sigset_t none, all;
	int err;

	sigemptyset(&none);
	sigfillset(&all);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &all);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	posix_spawn_file_actions_init(&files);
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		posix_spawn_file_actions_addopen(&files, fd, "/dev/null", O_RDWR, 0);
	err = posix_spawnp(pid, program, &files, &attributes, words, environ);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attributes);
	return -err;
}

/* Starts a browser; *name is its program, within `list`, which is cut. */
static int start_any(char *list, const char *address, const char **name, pid_t *pid)
{
	int err = -ENOENT;

	while (err && (*name = strsep(&list, ":")))
		if (**name)
			err = start(*name, address, pid);
	if (!err)
		return 0;
	*name = "xdg-open";
	return start(*name, address, pid);
}

/* The process that waits; reports through `report` whether a browser has started. */
static void attend(const char *address, int report)
{
	const char *variable = getenv("BROWSER"), *name = NULL;
	char *list = strdup(variable ? variable : "");
	pid_t pid;
	int err, status;

	setsid();
	signal(SIGCHLD, SIG_DFL);
	correct_home();
	err = list ? start_any(list, address, &name, &pid) : -ENOMEM;
	if (write(report, &err, sizeof(err)) < 0 || err)
		_exit(EXIT_FAILURE);
	/* The connection of a page must not keep a port open that gcprof has closed. */
	close_range(STDERR_FILENO + 1, ~0U, 0);
	if (waitpid(pid, &status, 0) == pid && status != 0)
		log_warning("%s has failed; open the address yourself, or set BROWSER to the name "
			    "of your browser",
			    name);
	_exit(EXIT_SUCCESS);
}

/*
 * Starts the first program that exists of those in $BROWSER, separated by colons, and then
 * xdg-open, with the address as its only argument, without a shell, with the rights of this
 * process, apart from its terminal. A process of its own waits for it and warns if it fails. To be
 * called once. 0 or a negative errno; -ENOENT: there is no such program.
 */
static int browser_open(const char *address)
{
	int ends[2], err = -EIO;
	pid_t child;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	/* Nobody waits for the child. */
	signal(SIGCHLD, SIG_IGN);
	child = fork();
	if (child == 0)
		attend(address, ends[1]);
	if (child < 0)
		err = -errno;
	close(ends[1]);
	if (child > 0 && read(ends[0], &err, sizeof(err)) != sizeof(err))
		err = -EIO;
	close(ends[0]);
	return err;
}

/* --- the command ---------------------------------------------------------------------------- */

#define PROFILER "https://profiler.firefox.com"

enum { SECRET_BYTES = 16, PATH_SIZE = 96, ADDRESS_SIZE = 512 };

struct view_arguments {
	uint64_t port;
	const char *frames;
	const char *profiler;
	struct option_list terms;
	struct filter filter;
	int html, open, no_sources;
};

struct view {
	struct export_request request;
	struct profiler_url profiler; /* not for a page */
	uint16_t port;                /* 0: any */
	bool html, open;
};

static const struct option_row rows[] = {
	{"port", 'p', OPTION_NUMBER, offsetof(struct view_arguments, port), 1, 65535, "N",
	 "loopback port to serve it on (default: any free one)"},
	{"frames", 0, OPTION_TEXT, offsetof(struct view_arguments, frames), 0, 0, "KIND",
	 "frames shown on stacks: all, managed, or native with the kernel's (default all)"},
	{"filter", 0, OPTION_LIST, offsetof(struct view_arguments, terms), 0, 0, "KEY=VALUE",
	 "show only events by function, module, type, thread, process, phase, time ..."},
	{"html", 0, OPTION_FLAG, offsetof(struct view_arguments, html), 0, 0, NULL,
	 "serve it as an HTML page, which needs no network"},
	{"open", 0, OPTION_FLAG, offsetof(struct view_arguments, open), 0, 0, NULL,
	 "open the address in the browser ($BROWSER, or xdg-open)"},
	{"profiler", 0, OPTION_TEXT, offsetof(struct view_arguments, profiler), 0, 0, "URL",
	 "a copy of the profiler's front end (default " PROFILER ")"},
	{"no-sources", 0, OPTION_FLAG, offsetof(struct view_arguments, no_sources), 0, 0, NULL,
	 "leave out the text of source files"},
	{NULL, 0, 0, 0, 0, 0, NULL, NULL},
};

static int cmd_view_convert(const struct export_request *request, int fd)
{
	const char *file = request->file;
	struct export_result result;
	struct source *sources[2];
	struct sink *sink;
	int error = filter_open(request->filter, file, false, sources);

	if (error)
		return error;
	error = sink_fd_create(fd, &sink);
	if (error) {
		for (int i = 0; i < 2 && sources[i]; i++)
			sources[i]->close(sources[i]);
		return error;
	}
	error = export_run(request, sources, sink, &result);
	if (error)
		return error;
	if (*result.info)
		log_info("%s: what the browser gets %s", file, result.info);
	if (*result.note)
		log_warning("%s: %s", file, result.note);
	(void)profile_judge(file, result.state, result.status.bytes);
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

/* The profiler's page that loads the file, or the file itself if that is a page. */
static void make_address(char address[ADDRESS_SIZE], const struct served *served, const char *page)
{
	int used;

	if (!page) {
		snprintf(address, ADDRESS_SIZE, "http://127.0.0.1:%u%s", (unsigned)served->port,
			 served->path);
		return;
	}
	used = snprintf(address, ADDRESS_SIZE, "%s/from-url/http%%3A%%2F%%2F127.0.0.1%%3A%u", page,
			(unsigned)served->port);
	for (const char *at = served->path; *at; at++)
		used += snprintf(address + used, ADDRESS_SIZE - (size_t)used,
				 *at == '/' ? "%%2F" : "%c", *at);
}

static void show_address(const struct served *served, const struct view *view)
{
	char address[ADDRESS_SIZE];
	int err = 0;

	make_address(address, served, view->html ? NULL : view->profiler.page);
	printf("%s\n", address);
	fflush(stdout);
	if (view->open)
		err = browser_open(address);
	if (err == -ENOENT)
		log_warning("there is no xdg-open; set BROWSER to the name of your browser");
	else if (err)
		log_warning("cannot start a browser: %s", strerror(-err));
	if (view->open && !err)
		log_info("opening this address in the browser; Ctrl-C ends");
	else
		log_info("open this address in a browser on this machine; Ctrl-C ends");
	if (!view->html)
		log_info("the browser may ask whether %s may connect to this machine: allow it",
			 view->profiler.origin);
}

static int serve(int file, const struct view *view)
{
	struct served served = {.file = file, .origin = view->html ? NULL : view->profiler.origin};
	int listener = serve_listen(view->port, &served.port), stop = -1, error;
	char path[PATH_SIZE];
	struct stat st;

	if (listener < 0)
		return listener;
	served.path = path;
	error = fstat(file, &st) < 0 ? -errno : make_path(path, view->html);
	if (!error)
		stop = stop_signals_open();
	if (!error && stop < 0)
		error = stop;
	if (!error) {
		served.size = (uint64_t)st.st_size;
		show_address(&served, view);
		error = serve_run(listener, &served, stop);
	}
	if (stop >= 0)
		close(stop);
	close(listener);
	return error;
}

static int cmd_view_show(const struct view *view)
{
	int file = output_file_nameless(), error;

	if (file < 0) {
		log_error("cannot make a temporary file: %s", strerror(-file));
		return EXIT_FAILURE;
	}
	error = cmd_view_convert(&view->request, file);
	if (error) {
		log_error("%s: %s", view->request.file, profile_error_text(error));
	} else {
		error = serve(file, view);
		if (error)
			log_error("port %u: %s", (unsigned)view->port, strerror(-error));
	}
	close(file);
	return error ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int choose(struct view_arguments *arguments, struct view *view)
{
	struct export_options *options = &view->request.options;
	const char *profiler = arguments->profiler ? arguments->profiler : PROFILER;

	view->html = arguments->html;
	view->open = arguments->open;
	view->port = (uint16_t)arguments->port;
	view->request.exporter = view->html ? &exporter_html : &exporter_firefox;
	options->no_sources = arguments->no_sources;
	if (arguments->frames && model_frames_parse(arguments->frames, &options->frames)) {
		log_error("--frames %s: the kinds are all, managed and native", arguments->frames);
		return -EINVAL;
	}
	if (filter_parse(&arguments->terms, &arguments->filter))
		return -EINVAL;
	view->request.filter = &arguments->filter;
	if (view->html && arguments->profiler) {
		log_error("--profiler: the page of --html needs no profiler");
		return -EINVAL;
	}
	if (profiler_url_parse(profiler, &view->profiler)) {
		log_error("--profiler %s: not an address such as " PROFILER, profiler);
		return -EINVAL;
	}
	return 0;
}

static int cmd_view_run(int argc, char **argv)
{
	struct view_arguments arguments = {0};
	struct view view = {.request.file = "gcprof.data"};

	if (options_parse_words(&cmd_view, &arguments, argc, argv, &view.request.file, 1) < 0 ||
	    choose(&arguments, &view) < 0)
		return EXIT_USAGE;
	return cmd_view_show(&view);
}

const struct command cmd_view = {
	.name = "view",
	.usage = "[OPTIONS] [FILE]",
	.summary = "show a profile in the Firefox Profiler, or as an HTML page",
	.options = rows,
	.run = cmd_view_run,
};
