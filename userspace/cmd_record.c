/* SPDX-License-Identifier: BSD-2-Clause */
/* cmd_record.c: `gcprof record`: runs a program and writes a profile of it. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "../bpf/config.h"
#include "commands.h"
#include "record/clock.h"
#include "record/drain.h"
#include "record/facts.h"
#include "record/libraries.h"
#include "record/rights.h"
#include "record/target.h"
#include "record/watch.h"
#include "util/log.h"

#define OUTPUT_DEFAULT "gcprof.data"

enum {
	EXIT_NOT_EXECUTABLE = 126,
	EXIT_NOT_FOUND = 127,
	EXIT_BY_SIGNAL = 128,
	CEILING_DEFAULT_RATE = 2000, /* the collector's own, told in the profile */
	ROUND_MS = 100,              /* between two looks at the rings */
	SIGNAL_GRACE_MS = 200,       /* for a program that got the same SIGINT as we */
};

enum end_reason { END_EXITED = 1, END_INTERRUPTED = 2, END_DURATION = 3, END_ERROR = 4 };

/* Everything that belongs to one recording, in the order in which it comes to be. */
struct recording {
	struct record_options options;
	uint64_t began; /* when gcprof was called, for the timings of -v */
	uint64_t start; /* when the program was released */
	char *command;  /* the file to run */
	struct target_user user;
	struct rights rights;
	struct profile_writer *writer;
	struct target *target;
	struct session *session;
	struct perf_maps *maps;
	struct unwinder *unwinder; /* NULL: stacks are not walked by rows */
	struct store *store;
	struct ledger *ledger;
	struct drain *drain;
	struct watch *watch;
	enum end_reason reason;
	bool ended;     /* the program, with `status` */
	int status;     /* as wait(2) shows it */
	bool failed;    /* the profile could not be written */
	uint64_t bytes; /* of the profile */
};

static const struct option_row rows[] = {
	{"output", 'o', OPTION_TEXT, offsetof(struct record_options, output), 0, 0, "FILE",
	 "where the profile goes (default: " OUTPUT_DEFAULT ")"},
	{"frequency", 'F', OPTION_NUMBER, offsetof(struct record_options, frequency), 0, 10000,
	 "HZ", "timer samples a second and CPU, 0: none (default: 999)"},
	{"period", 'R', OPTION_SIZE, offsetof(struct record_options, period), 64, 1ull << 36,
	 "BYTES", "mean bytes between allocation samples (default: the program's, 512K)"},
	{"ceiling", 0, OPTION_NUMBER, offsetof(struct record_options, ceiling), 0, 1000000000, "N",
	 "allocation samples a second before the period rises, 0: none (default: 2000, with -R 0)"},
	{"duration", 0, OPTION_TIME, offsetof(struct record_options, duration), 1000000,
	 1000000000ull * 86400 * 365, "TIME", "stop recording after so long (default: never)"},
	{"syscall-rate", 0, OPTION_NUMBER, offsetof(struct record_options, syscall_rate), 0,
	 10000000, "N", "short system calls recorded a second and CPU (default: 5000)"},
	{"stack", 0, OPTION_TEXT, offsetof(struct record_options, stack), 0, 0, "MODE",
	 "how native stacks are walked: rows, fp (frame pointers), off (default: rows)"},
	{"verbose", 'v', OPTION_FLAG, offsetof(struct record_options, verbose), 0, 0, NULL,
	 "say what is done at each step, with its time; twice: the kernel's words too"},
	{0},
};

static int fail(const struct problem *problem)
{
	log_error("%s", problem->text);
	return EXIT_FAILURE;
}

static int fail_errno(const char *what, int err)
{
	log_error("%s: %s", what, strerror(-err));
	return EXIT_FAILURE;
}

static void step_done(const struct recording *recording, const char *what)
{
	log_verbose("%8.1f ms  %s", (double)(clock_now() - recording->began) / 1e6, what);
}

/* --- before the program runs --------------------------------------------------- */

/* Right after start-up: does the command exist, may we record, can the profile be written? */
static int prepare_output(struct recording *recording)
{
	const char *path = recording->options.output;
	struct sink *sink;
	int err = sink_file_create(path, recording->user.change ? recording->user.uid : (uid_t)-1,
				   recording->user.change ? recording->user.gid : (gid_t)-1, &sink);

	if (err == -ELOOP) {
		log_error("%s: is a symbolic link; nothing is written through links", path);
		return EXIT_FAILURE;
	}
	if (!err)
		err = profile_writer_create(sink, &recording->writer);
	return err ? fail_errno(path, err) : 0;
}

static int prepare(struct recording *recording, const char *word)
{
	struct problem problem = {""};
	int err = target_resolve(word, &recording->command, &problem);

	if (err) {
		fail(&problem);
		return err == -ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
	}
	if (rights_check(&recording->rights, &problem))
		return fail(&problem);
	if (problem.text[0])
		log_warning("%s", problem.text);
	target_user_find(&recording->user);
	return prepare_output(recording);
}

static uint64_t ceiling_wanted(const struct record_options *options)
{
	if (options->ceiling == CEILING_DEFAULT && options->period)
		return 0;
	return options->ceiling;
}

static int start_child(struct recording *recording, char **words)
{
	struct target_setup setup = {
		.path = recording->command,
		.arguments = words,
		.user = &recording->user,
		.period = recording->options.period,
		.ceiling = ceiling_wanted(&recording->options),
	};
	struct problem problem;

	if (target_start(&setup, &recording->target, &problem))
		return fail(&problem);
	signal(SIGPIPE, SIG_IGN);
	return 0;
}

struct probe_search {
	struct recording *recording;
	unsigned files;
};

static void search_file(void *context, const char *path)
{
	struct probe_search *search = context;
	struct problem problem = {""};
	int sites = attach_file(session_probes(search->recording->session), path, &problem);

	search->files++;
	unwinder_expect(search->recording->unwinder, path);
	unwinder_flush(search->recording->unwinder);
	if (sites > 0)
		log_verbose("%s: %d probes attached", path, sites);
	if (sites < 0)
		log_warning("%s", problem.text);
}

/* Attaches to the probes of the program and its libraries; says so if there are none. */
static void attach_probes(struct recording *recording)
{
	struct probe_search search = {.recording = recording};
	const char *name = strrchr(recording->command, '/');
	char why_not[256];

	name = name ? name + 1 : recording->command;
	if (!recording->rights.probes) {
		session_probes_attached(recording->session, "attaching probes needs CAP_SYS_ADMIN");
		return;
	}
	libraries_each(recording->command, &recording->user, search_file, &search);
	snprintf(why_not, sizeof(why_not), "no gcprof probes in %s or its libraries", name);
	session_probes_attached(recording->session, why_not);
	if (!session_stream(recording->session, STREAM_ALLOC)->attached)
		log_warning("%s: no allocation samples and no collections will be recorded, unless "
			    "it starts a program that has them",
			    why_not);
}

static void warn_streams(const struct recording *recording)
{
	for (int stream = 0; stream < STREAM_END; stream++) {
		const struct stream_state *state =
			session_stream(recording->session, (enum stream)stream);

		/* What was not asked for is no surprise, missing probes were told of already. */
		if (!facts_stream_name((enum stream)stream) || state->attached ||
		    stream == STREAM_ALLOC || stream == STREAM_GC ||
		    strncmp(state->why_not, "not asked for", 13) == 0)
			continue;
		log_warning("stream %s is not recorded: %s", facts_stream_name((enum stream)stream),
			    state->why_not);
	}
}

/* Without mappings nobody knows which rows to use. */
static void start_unwinder(struct recording *recording)
{
	struct unwind_fds fds = session_unwind_fds(recording->session);
	int err;

	if (recording->options.stack_mode != STACK_MODE_ROWS || !recording->maps)
		return;
	err = unwinder_create(&fds, &recording->unwinder);
	if (err)
		log_warning("stacks are walked by frame pointers only: %s", strerror(-err));
}

static int open_session(struct recording *recording)
{
	struct problem problem = {""};
	int err = session_open(&recording->options, &recording->session, &problem);

	step_done(recording, "BPF programs loaded");
	if (!err)
		err = session_follow(recording->session, target_pidfd(recording->target), &problem);
	if (!err)
		err = session_attach(recording->session, &recording->options, &problem);
	if (err)
		return fail(&problem);
	step_done(recording, "tracepoints and timers attached");
	if (perf_maps_open(target_pid(recording->target), &recording->maps, &problem))
		log_warning("%s: native functions cannot be named", problem.text);
	start_unwinder(recording);
	attach_probes(recording);
	warn_streams(recording);
	step_done(recording, "probes attached");
	return 0;
}

static int open_profile(struct recording *recording, char **words)
{
	struct profile_writer *writer = recording->writer;
	struct drain_parts parts;
	int err = store_create(writer, &recording->store);

	if (!err)
		err = ledger_create(writer, recording->store, recording->session,
				    &recording->ledger);
	if (err)
		goto out;
	parts = (struct drain_parts){
		.session = recording->session,
		.maps = recording->maps,
		.writer = writer,
		.store = recording->store,
		.ledger = recording->ledger,
		.unwinder = recording->unwinder,
	};
	err = drain_create(&parts, &recording->drain);
	err = err ? err : facts_put_machine(writer);
	err = err ? err : facts_put_arguments(writer, words);
	err = err ? err : facts_put_loss_kinds(writer);
	err = err ? err : facts_put_streams(writer, recording->session);
out:
	return err ? fail_errno(recording->options.output, err) : 0;
}

static int open_watch(struct recording *recording)
{
	struct watch_parts parts = {
		.session = recording->session,
		.maps = recording->maps,
		.target = recording->target,
	};
	int err = watch_open(&parts, &recording->watch);

	return err ? fail_errno("cannot wait for events", err) : 0;
}

/* Lets the program run. Its exit code if it cannot be executed, 0 if it runs. */
static int release(struct recording *recording)
{
	struct record_options told = recording->options;
	struct problem problem = {""};
	int err;

	recording->start = clock_now();
	told.ceiling = ceiling_wanted(&recording->options);
	if (told.ceiling == CEILING_DEFAULT)
		told.ceiling = CEILING_DEFAULT_RATE;
	err = facts_put_recording(recording->writer, &told, recording->start, recording->user.uid);
	if (!err)
		err = store_add_process(recording->store, FIRST_PROCESS,
					(uint32_t)target_pid(recording->target), recording->start);
	/* What comes before the program must be in the file before it runs: it may be all there is.
	 */
	if (!err)
		err = ledger_put(recording->ledger);
	if (!err)
		err = profile_writer_flush(recording->writer);
	if (err)
		return fail_errno(recording->options.output, err);
	err = target_release(recording->target, &problem);
	if (err) {
		log_error("%s: %s", recording->command, problem.text);
		return err == -ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
	}
	step_done(recording, "the program runs");
	err = watch_start(recording->watch, recording->options.duration);
	if (err)
		log_warning("--duration does not work: %s", strerror(-err));
	return 0;
}

/* --- while it runs --------------------------------------------------------------- */

/* After a SIGINT: the program, if it got it too, may end with it. */
static void wait_for_signalled(struct recording *recording)
{
	uint64_t end = clock_now() + SIGNAL_GRACE_MS * UINT64_C(1000000);

	while (clock_now() < end && !recording->ended)
		recording->ended = watch_wait(recording->watch, 10) == WATCH_EXITED;
}

static void run(struct recording *recording)
{
	enum watch_event event = WATCH_WORK;
	const char *trouble;
	int err = 0;

	if (session_stream(recording->session, STREAM_CPU)->attached)
		store_prepare_symbols(recording->store);
	while (event == WATCH_WORK && !err) {
		event = watch_wait(recording->watch, ROUND_MS);
		err = drain_round(recording->drain);
		while ((trouble = drain_trouble(recording->drain)))
			log_warning("%s", trouble);
	}
	recording->ended = event == WATCH_EXITED;
	recording->reason = event == WATCH_EXITED     ? END_EXITED
			    : event == WATCH_DURATION ? END_DURATION
						      : END_INTERRUPTED;
	if (event == WATCH_SIGNAL && watch_signal(recording->watch) == SIGINT)
		wait_for_signalled(recording);
	if (err) {
		recording->reason = END_ERROR;
		recording->failed = true;
		log_error("%s: %s; recording stopped, the program goes on",
			  recording->options.output, strerror(-err));
	}
	if (recording->ended && target_wait(recording->target, true, &recording->status) == 0 &&
	    recording->reason == END_INTERRUPTED)
		recording->reason = END_EXITED;
	step_done(recording, recording->ended ? "the program ended" : "recording ends");
}

/* --- afterwards -------------------------------------------------------------------- */

static int put_end(struct recording *recording, uint64_t now)
{
	struct record record = {
		.kind = RECORD_end,
		.end =
			{
				.time = now,
				.reason = recording->reason,
				.status = recording->reason == END_EXITED
						  ? (uint64_t)recording->status
						  : 0,
			},
	};

	return profile_writer_put(recording->writer, &record);
}

/* Completes the file. Only what was recorded counts: the kernel side is silent by now. */
static void finish_profile(struct recording *recording, uint64_t end)
{
	int closed, err = drain_finish(recording->drain);

	step_done(recording, "the last events are written");
	err = err ? err : store_symbolize(recording->store);
	step_done(recording, "functions are named");
	err = err ? err : put_end(recording, end);
	err = err ? err : profile_writer_flush(recording->writer);
	recording->bytes = profile_writer_size(recording->writer);
	closed = profile_writer_close(recording->writer);
	recording->writer = NULL;
	err = err ? err : closed;
	if (err && !recording->failed)
		fail_errno(recording->options.output, err);
	recording->failed |= err != 0;
}

/* Losses that the user should know of; returns how many events are missing. */
static uint64_t tell_losses(const struct recording *recording)
{
	static const struct {
		enum loss loss;
		enum { LOST, CUT, HELD } severity;
		const char *text;
	} kinds[] = {
#define LOSS(code, name, stream, severity, doc) {LOSS_##name, severity, doc},
#include "../bpf/loss.def"
#undef LOSS
	};
	uint64_t lost = 0;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		uint64_t count = ledger_loss(recording->ledger, kinds[i].loss);

		if (!count)
			continue;
		log_print(kinds[i].severity == LOST ? LOG_WARNING : LOG_VERBOSE, "%" PRIu64 " %s",
			  count, kinds[i].text);
		if (kinds[i].severity == LOST)
			lost += count;
	}
	return lost;
}

static void describe_size(uint64_t bytes, char *out, size_t size)
{
	if (bytes < 1024)
		snprintf(out, size, "%" PRIu64 " bytes", bytes);
	else if (bytes < 1024 * 1024)
		snprintf(out, size, "%.1f KiB", (double)bytes / 1024);
	else
		snprintf(out, size, "%.1f MiB", (double)bytes / 1024 / 1024);
}

static void describe_streams(const struct recording *recording, char *out, size_t size)
{
	size_t used = 0;

	out[0] = '\0';
	for (int stream = 0; stream < STREAM_END; stream++) {
		const char *name = facts_stream_name((enum stream)stream);
		int n;

		if (!name || stream == STREAM_SCHED)
			continue;
		if (!session_stream(recording->session, (enum stream)stream)->attached)
			n = snprintf(out + used, size - used, ", no %s", name);
		else if (stream == STREAM_SYSCALL)
			n = snprintf(out + used, size - used, ", %" PRIu64 " of %" PRIu64 " %s",
				     store_count(recording->store, (enum stream)stream),
				     ledger_syscalls(recording->ledger), name);
		else
			n = snprintf(out + used, size - used, ", %" PRIu64 " %s",
				     store_count(recording->store, (enum stream)stream), name);
		if (n < 0 || (size_t)n >= size - used)
			return;
		used += (size_t)n;
	}
}

static void print_summary(const struct recording *recording, uint64_t end)
{
	const char *output = recording->options.output;
	bool usual = strcmp(output, OUTPUT_DEFAULT) == 0;
	uint64_t lost = tell_losses(recording);
	char streams[256], size[32], losses[64] = "nothing lost";

	describe_streams(recording, streams, sizeof(streams));
	describe_size(recording->bytes, size, sizeof(size));
	if (lost)
		snprintf(losses, sizeof(losses), "%" PRIu64 " lost", lost);
	log_info("recorded %.2f s%s; %s; %s in %s", (double)(end - recording->start) / 1e9, streams,
		 losses, size, output);
	log_info("see it with: gcprof report%s%s", usual ? "" : " ", usual ? "" : output);
}

static int exit_code(const struct recording *recording)
{
	if (recording->failed)
		return EXIT_FAILURE;
	if (!recording->ended)
		return 0;
	if (WIFSIGNALED(recording->status))
		return EXIT_BY_SIGNAL + WTERMSIG(recording->status);
	return WEXITSTATUS(recording->status);
}

/* The profile is lost, the program is not: it goes on without us until it ends. */
static void wait_unprofiled(struct recording *recording)
{
	enum watch_event event = WATCH_WORK;

	unwinder_free(recording->unwinder);
	recording->unwinder = NULL;
	session_free(recording->session);
	recording->session = NULL;
	while (event == WATCH_WORK || event == WATCH_DURATION)
		event = watch_wait(recording->watch, -1);
}

static int finish(struct recording *recording)
{
	uint64_t end = clock_now();

	session_stop(recording->session);
	finish_profile(recording, end);
	step_done(recording, "the profile is complete");
	print_summary(recording, end);
	if (recording->failed && !recording->ended)
		wait_unprofiled(recording);
	return exit_code(recording);
}

static void recording_free(struct recording *recording)
{
	watch_free(recording->watch);
	drain_free(recording->drain);
	ledger_free(recording->ledger);
	store_free(recording->store);
	perf_maps_free(recording->maps);
	unwinder_free(recording->unwinder);
	session_free(recording->session);
	target_free(recording->target);
	profile_writer_close(recording->writer);
	free(recording->command);
}

static int record(struct recording *recording, char **words)
{
	int code = prepare(recording, words[0]);

	if (!code)
		code = start_child(recording, words);
	if (!code)
		code = open_session(recording);
	if (!code)
		code = open_profile(recording, words);
	if (!code)
		code = open_watch(recording);
	if (!code)
		code = release(recording);
	if (code)
		return code;
	run(recording);
	return finish(recording);
}

static int record_run(int argc, char **argv)
{
	struct recording recording = {
		.options =
			{
				.output = OUTPUT_DEFAULT,
				.frequency = 999,
				.ceiling = CEILING_DEFAULT,
				.syscall_rate = 5000,
				.stack = "rows",
			},
		.began = clock_now(),
	};
	int first = options_parse(&cmd_record, &recording.options, argc, argv);
	int code;

	if (first < 0)
		return EXIT_USAGE;
	if (stack_mode_parse(recording.options.stack, &recording.options.stack_mode)) {
		log_error("--stack %s: the modes are rows, fp and off", recording.options.stack);
		return EXIT_USAGE;
	}
	if (first >= argc) {
		log_error("no command to record\nTry 'gcprof record -- COMMAND [ARGUMENTS]'.");
		return EXIT_USAGE;
	}
	if (recording.options.verbose)
		log_set_level(recording.options.verbose > 1 ? LOG_DEBUG : LOG_VERBOSE);
	log_capture_libbpf();
	code = record(&recording, argv + first);
	recording_free(&recording);
	step_done(&recording, "everything is detached");
	return code;
}

const struct command cmd_record = {
	.name = "record",
	.usage = "[OPTIONS] -- COMMAND [ARGUMENTS]",
	.summary = "Run a program and record it into a profile",
	.options = rows,
	.run = record_run,
};
