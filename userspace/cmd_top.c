/* SPDX-License-Identifier: BSD-2-Clause */
/* cmd_top.c: gcprof top: a live view of running programs. */
/*
 * A recorder writes a profile for each interval. Each profile is shown as by `gcprof
 * report`, one table at a time.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "commands.h"
#include "model/load.h"
#include "profile/source.h"
#include "report/report.h"
#include "report/terminal.h"
#include "report/units.h"
#include "top/screen.h"
#include "top/segments.h"
#include "util/log.h"
#include "util/output_file.h"
#include "util/stop_signals.h"

struct top_arguments {
	uint64_t delay, times;
	int once, json;
	const char *view, *sort;
	struct option_list processes, record;
	int system, off_cpu;
	const char *cgroup, *frequency;
};

static const struct option_row rows[] = {
	{"pid", 'p', OPTION_LIST, offsetof(struct top_arguments, processes), 0, 0, "PID",
	 "watch running processes, and the children that they start from now on"},
	{"system", 0, OPTION_FLAG, offsetof(struct top_arguments, system), 0, 0, NULL,
	 "watch the whole machine"},
	{"cgroup", 0, OPTION_TEXT, offsetof(struct top_arguments, cgroup), 0, 0, "PATH",
	 "watch the processes in a cgroup"},
	{"delay", 'd', OPTION_TIME, offsetof(struct top_arguments, delay), 100000000,
	 UINT64_C(3600000000000), "TIME", "time that each page covers (default 1s)"},
	{"view", 0, OPTION_TEXT, offsetof(struct top_arguments, view), 0, 0, "TABLE",
	 "initial table: functions, sites, types, pauses, calls, waits, threads or programs"},
	{"sort", 0, OPTION_TEXT, offsetof(struct top_arguments, sort), 0, 0, "KEY",
	 "order of rows, as in gcprof report"},
	{"once", 0, OPTION_FLAG, offsetof(struct top_arguments, once), 0, 0, NULL,
	 "print one page and exit, for scripts"},
	{"times", 'n', OPTION_NUMBER, offsetof(struct top_arguments, times), 1, 1000000000, "N",
	 "exit after this many pages"},
	{"json", 0, OPTION_FLAG, offsetof(struct top_arguments, json), 0, 0, NULL,
	 "print each page as JSON, as gcprof report does"},
	{"off-cpu", 0, OPTION_FLAG, offsetof(struct top_arguments, off_cpu), 0, 0, NULL,
	 "also watch time off the CPU"},
	{"frequency", 'F', OPTION_TEXT, offsetof(struct top_arguments, frequency), 0, 0, "HZ",
	 "timer samples per second and CPU (default 499)"},
	{"record", 0, OPTION_LIST, offsetof(struct top_arguments, record), 0, 0, "OPTION",
	 "an option for gcprof record, such as --record=--malloc; may be given several times"},
	{NULL, 0, 0, 0, 0, 0, NULL, NULL},
};

static const struct view {
	char key;
	const char *name;
	unsigned part;
} views[] = {
	{'f', "functions", PART_FUNCTIONS}, {'s', "sites", PART_SITES},
	{'t', "types", PART_TYPES},         {'g', "pauses", PART_GC},
	{'c', "calls", PART_SYSCALLS},      {'w', "waits", PART_OFF_CPU},
	{'h', "threads", PART_THREADS},     {'p', "programs", PART_PROGRAMS},
};

enum { N_VIEWS = sizeof(views) / sizeof(*views) };

/* The orders that 'o' cycles through; NULL: each table's own. */
static const char *const orders[] = {NULL,       "cpu",      "alloc",   "gc",
				     "survived", "syscalls", "off-cpu", "count"};

enum { N_ORDERS = sizeof(orders) / sizeof(*orders), WORDS_OWN = 10, HEAD_LINES = 3 };

struct top {
	const struct top_arguments *arguments;
	const struct view *view;
	const char *sort;
	char note[100];
	bool paused, tty;
	uint64_t shown;
	struct model *model; /* the visible one */
	char path[96];       /* its profile, kept until the next one is complete */
	struct segments *segments;
};

/* --- pages ---------------------------------------------------------------------------------- */

static double per_second(const struct model *model, double value)
{
	return model->run.wall ? value * 1e9 / (double)model->run.wall : 0;
}

static void put_head(const struct top *top, FILE *out)
{
	const struct model *model = top->model;
	const struct model_gc *gc = &model->gc;
	const struct model_cpu *cpu = &model->cpu;
	double wall = (double)model->run.wall, used = (double)cpu->on_cpu_ns;
	time_t at = (time_t)((model->run.realtime + model->run.duration) / 1000000000);
	char clock[16] = "";
	struct tm local;

	if (localtime_r(&at, &local))
		strftime(clock, sizeof(clock), "%H:%M:%S", &local);
	fprintf(out, "%s  %.60s  %s of %s%s%s\n", clock,
		model->run.command_line && *model->run.command_line ? model->run.command_line
		: model->run.attached                               ? model->run.attached
								    : "the machine",
		top->view->name, unit_time(wall).text, top->sort ? ", by " : "",
		top->sort ? top->sort : "");
	fprintf(out, "CPU %.2f, collector %s", wall > 0 ? used / wall : 0,
		unit_percent(used > 0 ? model_collector_ns(cpu) / used : 0).text);
	if (cpu->queue_known)
		fprintf(out, ", without a CPU %.2f", wall > 0 ? (double)cpu->queued_ns / wall : 0);
	fprintf(out, "  allocated %s/s",
		unit_bytes(per_second(model, model->alloc.bytes.value)).text);
	fprintf(out, "  calls %s/s",
		unit_count((uint64_t)per_second(model, (double)model->syscall_count)).text);
	if (model_gc_count(gc))
		fprintf(out, "  pauses %s, %s, longest %s", unit_count(model_gc_count(gc)).text,
			unit_percent(wall > 0 ? model_gc_ns(gc) / wall : 0).text,
			unit_time((double)(gc->minor.max_ns > gc->major.max_ns ? gc->minor.max_ns
									       : gc->major.max_ns))
				.text);
	fputs("\n", out);
}

/* The table of the view as in the report, without the facts about the recording. */
static int put_table(const struct top *top, int width, int height, FILE *out)
{
	const struct report_options options = {
		.width = width,
		.colour = top->tty && terminal_colour(STDOUT_FILENO),
		.top = height > 8 ? (uint64_t)(height - HEAD_LINES - 4) : 4,
		.parts = top->view->part,
		.sort = top->sort,
		.bare = true,
	};
	int err = report_sort(top->model, top->sort);

	return err ? err : report_text(top->model, &options, out);
}

static int show(struct top *top)
{
	char *text = NULL, bottom[300];
	size_t size;
	FILE *out;
	int err;

	if (!top->model)
		return 0;
	if (top->arguments->json) {
		const struct report_options options = {.width = REPORT_WIDTH_MIN};

		err = report_json(top->model, &options, stdout);
		return err ? err : fflush(stdout) ? -EPIPE : 0;
	}
	out = open_memstream(&text, &size);
	if (!out)
		return -ENOMEM;
	put_head(top, out);
	err = put_table(top, top->tty ? screen_width() : terminal_width(STDOUT_FILENO),
			top->tty ? screen_height() : 30, out);
	if (fclose(out))
		err = -ENOMEM;
	snprintf(bottom, sizeof(bottom),
		 "f functions s sites t types g pauses c calls w waits h threads p programs | "
		 "o order, space %s, W write, q quit",
		 top->paused ? "RESUME" : "pause");
	if (!err && top->tty)
		screen_show(text, *top->note ? top->note : bottom);
	else if (!err)
		err = fputs(text, stdout) < 0 || fflush(stdout) ? -EPIPE : 0;
	free(text);
	return err;
}

/* --- profiles ------------------------------------------------------------------------------- */

static int take(struct top *top, const char *path)
{
	struct model *model = NULL;
	struct source *source;
	int err = source_file_open(path, &source);

	err = err ? err : model_load(source, path, &model);
	if (err)
		return err;
	if (top->path[0])
		unlink(top->path);
	model_free(top->model);
	top->model = model;
	snprintf(top->path, sizeof(top->path), "%s", path);
	top->shown++;
	return show(top);
}

static bool is_done(const struct top *top)
{
	const struct top_arguments *arguments = top->arguments;

	return top->shown &&
	       (arguments->once || (arguments->times && top->shown >= arguments->times));
}

/* Takes all complete profiles. If the screen could not keep up, only the last one matters. */
static int take_all(struct top *top)
{
	const char *path;
	int err = 0;

	while (!err && !top->paused && !is_done(top) && (path = segments_next(top->segments)))
		err = take(top, path);
	return err;
}

static int copy_file(const char *from, const char *to)
{
	int in = open(from, O_RDONLY | O_CLOEXEC), out = in < 0 ? -errno : output_file_open(to);
	int err = out < 0 ? out : 0;
	ssize_t n = 1;

	while (!err && n > 0) {
		n = sendfile(out, in, NULL, 1 << 20);
		err = n < 0 ? -errno : 0;
	}
	if (out >= 0)
		close(out);
	if (in >= 0)
		close(in);
	return err;
}

/* Copies the profile of the page to an unused name. */
static void write_profile(struct top *top)
{
	char name[32];
	int i = 1, err;

	do
		snprintf(name, sizeof(name), "gcprof-top-%d.data", i);
	while (!access(name, F_OK) && ++i < 1000);
	err = top->path[0] ? copy_file(top->path, name) : -ENOENT;
	snprintf(top->note, sizeof(top->note), "%s%s", err ? "not written: " : "wrote ",
		 err ? strerror(-err) : name);
}

/* --- keys ------------------------------------------------------------------------------------ */

static void next_order(struct top *top)
{
	size_t at = 0;

	while (at < N_ORDERS && orders[at] != top->sort)
		at++;
	top->sort = orders[(at + 1) % N_ORDERS];
}

/* Handles a key; false: quit. */
static bool press(struct top *top, int key)
{
	*top->note = 0;
	for (size_t i = 0; i < N_VIEWS; i++)
		if (views[i].key == key)
			top->view = &views[i];
	if (key == 'o')
		next_order(top);
	if (key == ' ')
		top->paused = !top->paused;
	if (key == 'W')
		write_profile(top);
	return key != 'q';
}

/*
 * --- the command
 * -------------------------------------------------------------------------------
 */

/* On a terminal, the last page remains visible when the recorder has ended by itself. */
static bool is_over(struct top *top, bool ended)
{
	if (!ended || !top->tty || !top->shown)
		return ended;
	snprintf(top->note, sizeof(top->note),
		 "the recording has ended: q quits, W writes this page");
	return show(top) != 0;
}

/* Runs until enough pages were shown, the recorder has ended, or the user quits. */
static int watch(struct top *top, int signals)
{
	struct pollfd fds[4] = {{.fd = signals, .events = POLLIN},
				{.fd = top->tty ? STDIN_FILENO : -1, .events = POLLIN}};
	int err = 0;

	while (!is_done(top)) {
		struct signalfd_siginfo signal = {0};
		bool ended = segments_ended(top->segments);

		err = take_all(top);
		if (err || is_done(top) || is_over(top, ended))
			break;
		/*
		 * The recorder has ended since the last take, so its last profile is
		 * complete now.
		 */
		if (!ended && segments_ended(top->segments))
			continue;
		segments_poll(top->segments, fds + 2);
		if (poll(fds, 4, -1) < 0 && errno != EINTR)
			return -errno;
		if (fds[0].revents && read(signals, &signal, sizeof(signal)) == sizeof(signal) &&
		    signal.ssi_signo != SIGWINCH)
			break;
		if (fds[1].revents & (POLLHUP | POLLERR) ||
		    (fds[1].revents && !press(top, screen_key())))
			break;
		if (fds[0].revents || fds[1].revents)
			err = show(top);
		if (err)
			break;
	}
	return err;
}

/* The words after `gcprof record -o FILE`; the caller frees the array. NULL: no memory. */
static char **make_words(const struct top_arguments *arguments, char **command, size_t n_command,
			 char *delay)
{
	char **words = calloc(n_command + WORDS_OWN + 3 * OPTION_LIST_MAX, sizeof(*words));
	size_t n = 0;

	if (!words)
		return NULL;
#define WORD(text) (words[n++] = (char *)(uintptr_t)(text))
	WORD("--rotate");
	WORD(delay);
	WORD("-F");
	WORD(arguments->frequency ? arguments->frequency : "499");
	if (arguments->off_cpu)
		WORD("--off-cpu");
	if (arguments->system)
		WORD("--system");
	if (arguments->cgroup) {
		WORD("--cgroup");
		WORD(arguments->cgroup);
	}
	for (size_t i = 0; i < arguments->processes.count; i++) {
		WORD("-p");
		WORD(arguments->processes.items[i]);
	}
	for (size_t i = 0; i < arguments->record.count; i++)
		WORD(arguments->record.items[i]);
	if (*command)
		WORD("--");
	while (*command)
		WORD(*command++);
#undef WORD
	return words;
}

static const struct view *find_view(const char *name)
{
	for (size_t i = 0; i < N_VIEWS; i++)
		if (!name || !strcmp(views[i].name, name))
			return &views[i];
	return NULL;
}

static bool is_sensible(const struct top_arguments *arguments, const char *command)
{
	if (!find_view(arguments->view)) {
		log_error(
			"--view %s: the tables are functions, sites, types, pauses, calls, waits, "
			"threads and programs",
			arguments->view);
		return false;
	}
	if (arguments->sort && !report_order_exists(arguments->sort)) {
		log_error("--sort %s: the orders are %s", arguments->sort, report_orders());
		return false;
	}
	if (!command && !arguments->processes.count && !arguments->system && !arguments->cgroup) {
		log_error("nothing to watch: give a command after --, -p PID, --system or --cgroup "
			  "PATH\n"
			  "Try 'gcprof top --help'.");
		return false;
	}
	return true;
}

static int run(int argc, char **argv)
{
	struct top_arguments arguments = {.delay = 1000000000};
	struct top top = {.arguments = &arguments};
	char **words, delay[32];
	int first = options_parse(&cmd_top, &arguments, argc, argv), signals, err, status;

	if (first < 0 || !is_sensible(&arguments, argv[first]))
		return EXIT_USAGE;
	top.view = find_view(arguments.view);
	top.sort = arguments.sort;
	top.tty = !arguments.once && !arguments.json && isatty(STDIN_FILENO) &&
		  isatty(STDOUT_FILENO);
	snprintf(delay, sizeof(delay), "%lluns", (unsigned long long)arguments.delay);
	words = make_words(&arguments, argv + first, (size_t)(argc - first), delay);
	err = words ? segments_start(words, &top.segments) : -ENOMEM;
	free(words);
	if (err) {
		log_error("top cannot start: %s", strerror(-err));
		return EXIT_FAILURE;
	}
	signals = stop_signals_open(true);
	err = signals < 0 ? signals : top.tty ? screen_open() : 0;
	err = err ? err : watch(&top, signals);
	screen_close();
	if (err && err != -EPIPE) /* main() reports what standard output refuses */
		log_error("top: %s", strerror(-err));
	if (top.path[0])
		unlink(top.path);
	model_free(top.model);
	status = segments_finish(top.segments, !top.shown);
	return err ? EXIT_FAILURE : top.shown ? 0 : status ? status : EXIT_FAILURE;
}

const struct command cmd_top = {
	.name = "top",
	.usage = "[OPTIONS] -- COMMAND [ARGUMENTS]   (or -p PID, --system, --cgroup PATH)",
	.summary = "show a live view of running programs",
	.options = rows,
	.needs_root = true,
	.run = run,
};
