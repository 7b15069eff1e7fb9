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
#include <unistd.h>

#include "cmd_top.h"
#include "commands.h"
#include "model/load.h"
#include "model/select/filter.h"
#include "profile/source.h"
#include "profile/writer.h"
#include "report/report.h"
#include "report/terminal.h"
#include "top/prompt.h"
#include "top/screen.h"
#include "top/segments.h"
#include "util/ascii.h"
#include "util/log.h"
#include "util/output_file.h"
#include "util/stop_signals.h"

struct top_arguments {
	uint64_t delay, times;
	int once, json;
	const char *view, *sort;
	struct option_list processes, record;
	int system, off_cpu;
	const char *cgroup, *frequency, *filter;
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
	{"filter", 0, OPTION_TEXT, offsetof(struct top_arguments, filter), 0, 0, "TEXT",
	 "only what belongs to rows with this text in their name, or KEY=VALUE as in gcprof "
	 "report"},
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
	const char *filter; /* the begin of a filter for rows of this table */
} views[] = {
	{'f', "functions", PART_FUNCTIONS, "function="},
	{'s', "sites", PART_SITES, "function="},
	{'t', "types", PART_TYPES, "type="},
	{'g', "pauses", PART_GC, "function="},
	{'c', "calls", PART_SYSCALLS, "during=syscall:"},
	{'w', "waits", PART_OFF_CPU, "function="},
	{'h', "threads", PART_THREADS, "thread="},
	{'p', "programs", PART_PROGRAMS, "process="},
};

enum { N_VIEWS = sizeof(views) / sizeof(*views) };

/* The orders that 'o' cycles through; NULL: each table's own. */
static const char *const orders[] = {NULL,       "cpu",      "alloc",   "gc",
				     "survived", "syscalls", "off-cpu", "count"};

enum { N_ORDERS = sizeof(orders) / sizeof(*orders), WORDS_OWN = 10, PAGE_HEIGHT = 30 };

struct top {
	const struct top_arguments *arguments;
	const struct view *view;
	const char *sort;
	char term[100];       /* the filter; empty: none */
	struct prompt prompt; /* where it is typed */
	char note[256];
	bool paused, tty, stale; /* stale: the filter has changed */
	uint64_t shown;
	struct model *model; /* the visible one */
	char path[96];       /* its profile, kept until the next one is complete */
	struct segments *segments;
};

/* --- pages ---------------------------------------------------------------------------------- */

/* The table of the view as in the report, without the facts about the recording. */
static int put_table(const struct top *top, int width, int height, FILE *out)
{
	const struct report_options options = {
		.width = width,
		.colour = top->tty && terminal_colour(STDOUT_FILENO),
		.top = height > 9 ? (uint64_t)(height - 5) : 4,
		.parts = top->view->part,
		.sort = top->sort,
		.bare = true,
	};
	int err = report_sort(top->model, top->sort);

	return err ? err : report_text(top->model, &options, out);
}

static void put_bottom(const struct top *top, int width, char *out, size_t size)
{
	const char *space = top->paused ? "RESUME" : "pause";

	if (top->prompt.open)
		snprintf(out, size, "filter: %s_ (Enter; nothing typed shows all)",
			 top->prompt.text);
	else if (*top->note)
		snprintf(out, size, "%s", top->note);
	else if (snprintf(
			 out, size,
			 "f functions s sites t types g pauses c calls w waits h threads p programs"
			 " | o order / filter space %s W write q quit",
			 space) > width)
		snprintf(out, size,
			 "f s t g c w h p tables, o order, / filter, space %s, W write, q quit",
			 space);
}

static int cmd_top_show(struct top *top)
{
	int width = top->tty ? screen_width() : terminal_width(STDOUT_FILENO), err, lines;
	const struct head_subject subject = {top->view->name, top->sort, top->term};
	char *text = NULL, bottom[300];
	size_t size;
	FILE *out;

	if (!top->model)
		return 0;
	if (top->arguments->json) {
		const struct report_options options = {.width = REPORT_WIDTH_MAX};

		err = report_json(top->model, &options, stdout);
		return err ? err : fflush(stdout) ? -EPIPE : 0;
	}
	out = open_memstream(&text, &size);
	if (!out)
		return -ENOMEM;
	lines = head_print(top->model, &subject, width, out);
	err = put_table(top, width, (top->tty ? screen_height() : PAGE_HEIGHT) - lines, out);
	if (fclose(out))
		err = -ENOMEM;
	put_bottom(top, width, bottom, sizeof(bottom));
	if (!err && ascii_only()) {
		char *ascii = ascii_text(text);

		err = ascii ? 0 : -ENOMEM;
		free(text);
		text = ascii;
	}
	if (!err && top->tty)
		screen_show(text, bottom);
	else if (!err)
		err = fputs(text, stdout) < 0 || fflush(stdout) ? -EPIPE : 0;
	free(text);
	return err;
}

/* --- profiles ------------------------------------------------------------------------------- */

/* Replaces the model by what the filter selects; with a filter the profile is read twice. */
static int cmd_top_load(struct top *top, const char *path)
{
	const struct model_view view = {.frames = MODEL_FRAMES_ALL};
	struct filter filter = {.count = 0};
	struct model *model = NULL;
	struct source *sources[2];
	char fault[100];
	int err = source_file_open(path, &sources[0]);

	if (!err && !*top->term)
		err = model_load(sources[0], path, &model);
	else if (!err) {
		err = source_file_open(path, &sources[1]);
		if (err)
			sources[0]->close(sources[0]);
		else /* set_filter() has checked it */
			err = filter_add(&filter, top->term, fault, sizeof(fault));
		err = err ? err : model_load_filtered(sources, path, &filter, &view, &model);
	}
	if (err)
		return err;
	model_free(top->model);
	top->model = model;
	return 0;
}

static int cmd_top_take(struct top *top, const char *path)
{
	int err = cmd_top_load(top, path);

	if (err)
		return err;
	if (top->path[0])
		unlink(top->path);
	snprintf(top->path, sizeof(top->path), "%s", path);
	top->shown++;
	return cmd_top_show(top);
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
		err = cmd_top_take(top, path);
	return err;
}

static int copy_file(const char *from, const char *to)
{
	struct output_file out = {.path = to, .mark = &profile_mark, .fd = -1};
	int in = open(from, O_RDONLY | O_CLOEXEC), err = in < 0 ? -errno : output_file_open(&out);
	ssize_t n = 1;

	while (!err && n > 0) {
		n = sendfile(out.fd, in, NULL, 1 << 20);
		err = n < 0 ? -errno : 0;
	}
	err = err ? err : output_file_publish(&out);
	output_file_close(&out);
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

/*
 * Makes a filter of what was typed: KEY=VALUE as in reports, or a text that is part of a name in
 * the table. Returns -EINVAL with a note, and then there is no filter.
 */
static int set_filter(struct top *top, const char *text)
{
	struct filter filter = {.count = 0};
	char fault[100];
	int err;

	if (!*text || strchr(text, '='))
		snprintf(top->term, sizeof(top->term), "%s", text);
	else
		snprintf(top->term, sizeof(top->term), "%s*%s*", top->view->filter, text);
	err = *text ? filter_add(&filter, top->term, fault, sizeof(fault)) : 0;
	if (err) {
		snprintf(top->note, sizeof(top->note), "%s: %s", top->term, fault);
		*top->term = '\0';
	}
	return err;
}

/* Handles a key; false: quit. */
static bool press(struct top *top, int key)
{
	*top->note = 0;
	if (top->prompt.open) {
		if (prompt_press(&top->prompt, key)) {
			(void)set_filter(top, top->prompt.text);
			top->stale = top->path[0];
		}
		return true;
	}
	if (key == '/')
		prompt_open(&top->prompt);
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

static bool press_keys(struct top *top)
{
	char keys[32];
	size_t n = screen_keys(keys, sizeof(keys));
	bool more = true;

	for (size_t i = 0; i < n && more; i++)
		more = press(top, (unsigned char)keys[i]);
	return more;
}

/* --- the command ----------------------------------------------------------------------------- */

/* On a terminal, the last page remains visible when the recorder has ended by itself. */
static bool is_over(struct top *top, bool ended)
{
	if (!ended || !top->tty || !top->shown)
		return ended;
	snprintf(top->note, sizeof(top->note),
		 "the recording has ended: q quits, W writes this page");
	return cmd_top_show(top) != 0;
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
		if (fds[1].revents & (POLLHUP | POLLERR) || (fds[1].revents && !press_keys(top)))
			break;
		if (top->stale)
			err = cmd_top_load(top, top->path);
		top->stale = false;
		if (!err && (fds[0].revents || fds[1].revents))
			err = cmd_top_show(top);
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

static int cmd_top_run(int argc, char **argv)
{
	struct top_arguments arguments = {.delay = 1000000000};
	struct top top = {.arguments = &arguments};
	char **words, delay[32];
	int first = options_parse(&cmd_top, &arguments, argc, argv), signals, err, status;

	if (first < 0 || !is_sensible(&arguments, argv[first]))
		return EXIT_USAGE;
	top.view = find_view(arguments.view);
	top.sort = arguments.sort;
	if (arguments.filter && set_filter(&top, arguments.filter)) {
		log_error("--filter %s", top.note);
		return EXIT_USAGE;
	}
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
	.run = cmd_top_run,
};
