/* SPDX-License-Identifier: BSD-2-Clause */
/* top.c: gcprof top: a live view of running programs. */
/*
 * A recorder writes a profile for each interval. Each profile is shown as by `gcprof
 * report`, one table at a time.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <time.h>
#include <unistd.h>

#include "../commands.h"
#include "../../browse/browse.h"
#include "../../browse/screen.h"
#include "../../model/load.h"
#include "../../model/select/filter.h"
#include "../../profile/source.h"
#include "../../profile/writer.h"
#include "../../report/report.h"
#include "../../report/terminal.h"
#include "segments.h"
#include "../../util/ascii.h"
#include "../../util/log.h"
#include "../../util/output_file.h"
#include "../../util/stop_signals.h"
#include "../../util/units.h"

static double per_second(const struct model *model, double value)
{
	return model->run.wall ? value * 1e9 / (double)model->run.wall : 0;
}

/* A part of the head; parts of a line are two spaces apart. */
struct head {
	FILE *out;
	int width, column, lines;
};

__attribute__((format(printf, 2, 3))) static void put_part(struct head *head, const char *format,
							   ...)
{
	char text[200];
	va_list arguments;
	int size;

	va_start(arguments, format);
	size = vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	size = size < (int)sizeof(text) ? size : (int)sizeof(text) - 1;
	if (head->column && head->column + 2 + size > head->width) {
		fputs("\n", head->out);
		head->column = 0;
		head->lines++;
	}
	head->column += fprintf(head->out, "%s%s", head->column ? "  " : "", text);
}

static void end_line(struct head *head)
{
	fputs("\n", head->out);
	head->column = 0;
	head->lines++;
}

static void put_title(const struct model *model, const struct browse_subject *subject,
		      struct head *head)
{
	const struct model_run *run = &model->run;
	time_t at = (time_t)((run->realtime + run->duration) / 1000000000);
	char clock[16] = "";
	struct tm local;

	if (localtime_r(&at, &local))
		strftime(clock, sizeof(clock), "%H:%M:%S", &local);
	put_part(head, "%s  %.60s", clock,
		 run->command_line && *run->command_line ? run->command_line
		 : run->attached                         ? run->attached
							 : "the machine");
	put_part(head, "%s of %s%s%s", subject->page, unit_time((double)run->wall).text,
		 subject->order ? ", by " : "", subject->order ? subject->order : "");
	if (*subject->filter)
		put_part(head, "only %s", subject->filter);
	end_line(head);
}

static void put_figures(const struct model *model, struct head *head)
{
	const struct model_gc *gc = &model->gc;
	const struct model_cpu *cpu = &model->cpu;
	double wall = (double)model->run.wall, used = (double)cpu->on_cpu_ns;

	put_part(head, "CPU %.2f, collector %s", wall > 0 ? used / wall : 0,
		 unit_percent(used > 0 ? cpu->collector_ns / used : 0).text);
	if (cpu->queue_known)
		put_part(head, "without a CPU %.2f", wall > 0 ? (double)cpu->queued_ns / wall : 0);
	put_part(head, "allocated %s/s",
		 unit_bytes(per_second(model, model->alloc.bytes.value)).text);
	put_part(head, "calls %s/s",
		 unit_count((uint64_t)per_second(model, (double)model->syscall_count)).text);
	if (model_gc_count(gc))
		put_part(head, "pauses %s, %s, longest %s", unit_count(model_gc_count(gc)).text,
			 unit_percent(wall > 0 ? model_gc_ns(gc) / wall : 0).text,
			 unit_time((double)(gc->minor.max_ns > gc->major.max_ns ? gc->minor.max_ns
										: gc->major.max_ns))
				 .text);
	end_line(head);
}

/* Prints what was recorded, and its main figures, in lines of `width` columns. Returns their
 * number. */
static int head_print(const struct model *model, const struct browse_subject *subject, int width,
		      FILE *out)
{
	struct head head = {.out = out, .width = width};

	put_title(model, subject, &head);
	put_figures(model, &head);
	return head.lines;
}

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
	 "initial table: functions, sites, types, pauses, calls, waits, threads, programs ..."},
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

enum { WORDS_OWN = 10, PAGE_HEIGHT = 30 };

struct top {
	struct browse_host host;
	const struct top_arguments *arguments;
	const struct report_page *table;
	char term[100]; /* the filter that was asked for; empty: none */
	bool paused, tty, ended;
	uint64_t shown;
	char path[96]; /* the profile that is shown, kept until the next one is complete */
	struct segments *segments;
	struct browse *browse; /* on a terminal */
};

/* --- pages ---------------------------------------------------------------------------------- */

/* Loads what the terms select of the profile that is shown; with a filter it is read twice. */
static int top_load(struct browse_host *host, const struct browse_terms *terms,
		    struct model_observer *observer, struct model **out)
{
	const struct top *top = (struct top *)host;
	const struct model_view view = {.frames = MODEL_FRAMES_ALL, .observer = observer};
	struct filter filter = {.count = 0};
	struct source *sources[2];
	char fault[200];
	int err = 0;

	for (size_t i = 0; i < terms->count && !err; i++)
		err = filter_add(&filter, terms->items[i], fault, sizeof(fault));
	err = err ? err : source_file_open(top->path, &sources[0]);
	if (err || !filter.count)
		return err ? err : model_load_view(sources[0], top->path, &view, out);
	err = source_file_open(top->path, &sources[1]);
	if (err) {
		sources[0]->close(sources[0]);
		return err;
	}
	return model_load_filtered(sources, top->path, &filter, &view, out);
}

static int top_head(struct browse_host *host, const struct model *model,
		    const struct browse_subject *subject, int width, FILE *out)
{
	(void)host;
	return head_print(model, subject, width, out);
}

/* The table as in the report, without the facts about the recording, below the head. */
static int put_page(const struct top *top, struct model *model, FILE *out)
{
	const char *sort = top->arguments->sort;
	const struct browse_subject subject = {top->table->name, sort, top->term};
	struct report_options options = {
		.width = terminal_width(STDOUT_FILENO),
		.parts = top->table->part,
		.sort = sort,
		.bare = true,
	};
	int lines, err;

	if (top->arguments->json)
		return report_json(model, &(struct report_options){.width = REPORT_WIDTH_MAX}, out);
	lines = head_print(model, &subject, options.width, out);
	options.top = (uint64_t)(PAGE_HEIGHT - lines > 9 ? PAGE_HEIGHT - lines - 5 : 4);
	err = report_sort(model, sort);
	return err ? err : report_text(model, &options, out);
}

/* Prints a page, which is in ASCII where the locale asks for that. */
static int print_page(struct top *top)
{
	struct browse_terms terms = {{top->term}, *top->term != 0};
	struct model *model = NULL;
	int err = top_load(&top->host, &terms, NULL, &model);

	err = err ? err : put_page(top, model, stdout);
	model_free(model);
	return err ? err : fflush(stdout) ? -EPIPE : 0;
}

/* --- profiles ------------------------------------------------------------------------------- */

static int take_profile(struct top *top, const char *path)
{
	if (top->path[0])
		unlink(top->path);
	snprintf(top->path, sizeof(top->path), "%s", path);
	top->shown++;
	return top->browse ? browse_refresh(top->browse) : print_page(top);
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
		err = take_profile(top, path);
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
	snprintf(top->host.note, sizeof(top->host.note), "%s%s", err ? "not written: " : "wrote ",
		 err ? strerror(-err) : name);
}

/* --- keys ------------------------------------------------------------------------------------ */

/*
 * Makes a filter of what was asked for: KEY=VALUE as in reports, or a text that is part of a name
 * in the table. -EINVAL with a note.
 */
static int set_filter(struct top *top, const char *text)
{
	struct filter filter = {.count = 0};

	if (browse_is_term(text))
		snprintf(top->term, sizeof(top->term), "%s", text);
	else
		snprintf(top->term, sizeof(top->term), "%s*%s*", top->table->filter, text);
	return filter_add(&filter, top->term, top->host.note, sizeof(top->host.note));
}

static void name_keys(struct top *top)
{
	static const char *const keys[][3] = {{"space pause", "W write", NULL},
					      {"space RESUME", "W write", NULL}};

	top->host.keys = keys[top->paused];
}

static bool top_press(struct browse_host *host, int key)
{
	struct top *top = (struct top *)host;

	if (key == ' ')
		top->paused = !top->paused;
	else if (key == 'W')
		write_profile(top);
	name_keys(top);
	return key == ' ' || key == 'W';
}

/* --- the command ----------------------------------------------------------------------------- */

/* On a terminal, the last page remains visible when the recorder has ended by itself. */
static bool is_over(struct top *top, bool ended)
{
	if (!ended || !top->browse || !top->shown)
		return ended;
	if (top->ended)
		return false;
	top->ended = true;
	snprintf(top->host.note, sizeof(top->host.note),
		 "the recording has ended: q quits, W writes this page");
	return browse_show(top->browse) != 0;
}

/* Waits for keys, signals and profiles. 0: goes on; 1: it is to end; or a negative errno. */
static int wait_for_more(struct top *top, int signals)
{
	struct pollfd fds[4] = {{.fd = -1}, {.fd = signals, .events = POLLIN}};
	int err;

	segments_poll(top->segments, fds + 2);
	if (top->browse) {
		err = browse_wait(top->browse, fds, 4);
		if (err)
			return 1; /* also if the terminal is gone */
	} else if (poll(fds, 4, -1) < 0 && errno != EINTR) {
		return -errno;
	}
	return fds[1].revents ? 1 : 0;
}

/* Runs until enough pages were shown, the recorder has ended, or the user quits. */
static int watch(struct top *top, int signals)
{
	int err = 0;

	while (!err && !is_done(top)) {
		bool ended = segments_ended(top->segments);

		err = take_all(top);
		if (err || is_done(top) || is_over(top, ended))
			break;
		/*
		 * The recorder has ended since the last take, so its last profile is
		 * complete now.
		 */
		if (ended || !segments_ended(top->segments))
			err = wait_for_more(top, signals);
	}
	return err < 0 ? err : 0;
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

static const struct report_page *find_table(const char *name)
{
	for (const struct report_page *table = report_pages; table->name; table++)
		if (!name || !strcmp(table->name, name))
			return table;
	return NULL;
}

static bool is_table(const char *name)
{
	char names[200] = "";

	if (find_table(name))
		return true;
	for (const struct report_page *table = report_pages; table->name; table++)
		snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s",
			 *names ? ", " : "", table->name);
	log_error("--view %s: the tables are %s", name, names);
	return false;
}

static bool is_sensible(const struct top_arguments *arguments, const char *command)
{
	if (!is_table(arguments->view))
		return false;
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
	struct top top = {.host = {.load = top_load, .head = top_head, .press = top_press},
			  .arguments = &arguments};
	char **words, delay[32];
	int first = options_parse(&cmd_top, &arguments, argc, argv), signals, err, status;

	if (first < 0 || !is_sensible(&arguments, argv[first]))
		return EXIT_USAGE;
	top.table = find_table(arguments.view);
	if (arguments.filter && set_filter(&top, arguments.filter)) {
		log_error("--filter %s: %s", top.term, top.host.note);
		return EXIT_USAGE;
	}
	top.tty = !arguments.once && !arguments.json && screen_possible();
	if (!arguments.json && !top.tty)
		ascii_stdout();
	name_keys(&top);
	top.host.table = top.table->name;
	top.host.sort = arguments.sort;
	top.host.term = top.term;
	snprintf(delay, sizeof(delay), "%lluns", (unsigned long long)arguments.delay);
	words = make_words(&arguments, argv + first, (size_t)(argc - first), delay);
	err = words ? segments_start(words, &top.segments) : -ENOMEM;
	free(words);
	if (err) {
		log_error("top cannot start: %s", strerror(-err));
		return EXIT_FAILURE;
	}
	signals = stop_signals_open();
	err = signals < 0 ? signals : top.tty ? browse_open(&top.host, &top.browse) : 0;
	err = err ? err : watch(&top, signals);
	browse_close(top.browse);
	if (err && err != -EPIPE) /* main() reports what standard output refuses */
		log_error("top: %s", strerror(-err));
	if (top.path[0])
		unlink(top.path);
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
