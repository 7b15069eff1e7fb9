/* SPDX-License-Identifier: BSD-2-Clause */
/* open.c: gcprof record before the program runs: checks, loads, attaches, releases. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record.h"
#include "../../record/machine/clock.h"
#include "../../record/ingest/drain.h"
#include "../../record/kernel/session.h"
#include "../../record/store/facts.h"
#include "../../record/world/files.h"
#include "../../record/ingest/watch.h"
#include "../../util/log.h"
#include "../../util/output_file.h"
#include "../../util/path_base.h"
#include "../../util/plural.h"
#include "../../util/priority.h"
#include "../../util/recorders.h"

#define ROWS_NS  UINT64_C(200000000) /* limit for making unwind rows on busy CPUs */
#define CHECK_NS UINT64_C(100000000) /* between two checks that the profile still exists */

void recording_check_output(struct recording *recording)
{
	const char *path = recording->path;
	uint64_t now = clock_now();
	struct stat status;

	if (recording->piped || recording->keeping.kept || recording->removed ||
	    now < recording->next_check)
		return;
	recording->next_check = now + CHECK_NS;
	/* Checks the open file, not its name: root must not follow the user's path. */
	if (fstat(recording->file.fd, &status) || status.st_nlink)
		return;
	recording->removed = true;
	log_error("%s was removed or replaced while gcprof writes it: the profile is lost unless "
		  "you copy /proc/%d/fd/* before the recording ends",
		  path, (int)getpid());
}

/* Right after start-up: does the command exist, may we record, can the profile be written? */
int recording_open_output(struct recording *recording)
{
	const char *path = recording->options.output;
	struct sink *sink = NULL;
	int err;

	recording->piped = output_file_is_stdout(path);
	if (recording->piped && isatty(STDOUT_FILENO)) {
		log_error(
			"-o -: standard output is a terminal; redirect it to a file or a program");
		return EXIT_FAILURE;
	}
	if (recording->options.keep) {
		err = recording_keep_open(recording);
	} else if (recording->piped) {
		err = sink_fd_create(STDOUT_FILENO, &sink);
	} else {
		err = recording_open_file(recording, &sink);
		if (err)
			return EXIT_FAILURE;
	}
	if (!err && !recording->writer)
		err = profile_writer_create(sink, &recording->writer);
	if (!err && !recording->keeping.kept)
		err = profile_writer_segments(recording->writer, recording->began);
	if (!err && recording->keeping.when)
		profile_writer_watch(recording->writer, when_record, recording->keeping.when);
	if (!err)
		err = processes_create(recording->writer, &recording->processes);
	if (!err)
		err = store_create(recording->writer, recording->files, recording->processes,
				   &recording->store);
	if (!err && recording->options.frequency)
		store_prepare_symbols(recording->store);
	if (err)
		return recording_fail_errno(path, err);
	recording_start_unwinder(recording);
	return 0;
}

void recording_outlive_writes(void)
{
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
}

/*
 * The reason why samplers must not be switched on; NULL: none. Programs that the user did
 * not name are changed only on request.
 */
static const char *writes_forbidden(const struct record_options *options)
{
	if (options->no_writes)
		return "--no-writes";
	if (options->writes || (!options->system && !options->cgroup))
		return NULL;
	return options->system ? "--system without --writes" : "--cgroup without --writes";
}

uint64_t recording_ceiling(const struct record_options *options)
{
	if (options->ceiling == CEILING_DEFAULT && options->period)
		return 0;
	return options->ceiling;
}

/* The requests to programs, in their control blocks. */
static struct control_options control_wanted(const struct record_options *options)
{
	uint64_t ceiling = recording_ceiling(options);

	return (struct control_options){
		.forbidden = options->no_writes,
		.period = options->period,
		.ceiling = ceiling == CEILING_DEFAULT ? 0
			   : ceiling                  ? ceiling
						      : UINT64_MAX,
		.flags = recording_each_collection(options) ? GCPROF_EACH_COLLECTION : 0,
	};
}

/* The ceiling as a number. */
static uint64_t ceiling_rate(const struct record_options *options)
{
	uint64_t ceiling = recording_ceiling(options);

	return ceiling == CEILING_DEFAULT ? CEILING_DEFAULT_RATE : ceiling;
}

static void *load(void *context)
{
	struct recording *recording = context;
	struct loading *loading = &recording->loading;

	loading->err = session_open(&recording->options, &recording->session, &loading->problem);
	recording_step(recording, "BPF programs loaded");
	return NULL;
}

void recording_await_session(struct recording *recording)
{
	if (recording->loading.runs)
		pthread_join(recording->loading.thread, NULL);
	recording->loading.runs = false;
}

int recording_may(struct recording *recording)
{
	const struct switches_options switches = {
		.forbidden = writes_forbidden(&recording->options),
		.period = recording->options.period,
		.ceiling = ceiling_rate(&recording->options),
	};
	const struct control_options control = control_wanted(&recording->options);
	struct problem problem = {""};
	int err;

	if (rights_check(&problem))
		return recording_fail(&problem);
	/* The caller waits for the start-up, which is short. */
	err = priority_raise();
	if (err)
		log_verbose("cannot raise the recorder's priority: %s", strerror(-err));
	err = -pthread_create(&recording->loading.thread, NULL, load, recording);
	recording->loading.runs = !err;
	err = err ? err : opener_create(true, &recording->opener);
	if (!err)
		err = switches_create(recording->opener, &switches, &recording->switches);
	if (!err)
		err = control_create(recording->opener, &control, &recording->control);
	if (!err)
		err = files_create(recording->opener, &recording->files);
	if (err)
		return recording_fail_errno("the recorder cannot start", err);
	files_choose_runtimes(recording->files, recording->options.runtime_mask);
	files_prepare(recording->files);
	opener_prepare(recording->opener);
	return 0;
}

static int prepare(struct recording *recording, const char *word)
{
	struct problem problem = {""};
	int err = target_resolve(&recording->user, word, &recording->command, &problem);

	if (err) {
		recording_fail(&problem);
		return err == -ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
	}
	err = recording_may(recording);
	return err ? err : recording_open_output(recording);
}

bool recording_each_collection(const struct record_options *options)
{
	return options->faults || options->overhead_max <= 0;
}

static int start_child(struct recording *recording, char **words)
{
	struct added_variable added = {.name = NULL};
	struct target_setup setup = {
		.path = recording->command,
		.arguments = words,
		.user = &recording->user,
		.output_taken = recording->piped,
		.added = recording->agent.fd > 0 ? &added : NULL,
		.period = recording->options.period,
		.ceiling = recording_ceiling(&recording->options),
		.each_collection = recording_each_collection(&recording->options),
	};
	struct problem problem;

	if (setup.added)
		agent_variable(recording->options.agent_kind, recording->agent.path, &added);
	if (target_start(&setup, &recording->target, &problem))
		return recording_fail(&problem);
	recording_outlive_writes();
	return 0;
}

enum { PROGRAMS_TEXT = 128 };

struct probe_search {
	struct recording *recording;
	unsigned failed;
	bool everywhere;             /* attach to all processes that map the file */
	bool copies, copied;         /* as library_search; and a file has such a runtime */
	bool probed;                 /* a file has gcprof's own probes */
	char none[RUNTIME_TEXT_MAX]; /* of the first runtime found; "": no runtime */
	char unread[PROGRAMS_TEXT];  /* a file that may have one; "": none */
};

static void search_file(void *context, const char *path, int fd)
{
	struct probe_search *search = context;
	struct recording *recording = search->recording;
	const struct probe_target first = {recording->first.process,
					   (uint32_t)target_pid(recording->target),
					   recording->user.uid, UINT64_MAX};
	const struct probe_target every = {0};
	const struct probe_target *target = search->everywhere ? &every : &first;
	struct file *file = files_read(recording->files, fd, geteuid());
	struct problem problem = {""};
	const struct runtime *runtime;
	bool copied;
	int sites = 0;

	runtime = file ? runtime_get(file->facts.runtime.runtime) : NULL;
	copied = search->copies && runtime && runtime->copies;
	search->copied |= copied;
	if (file && file->state == FILE_KNOWN && !copied)
		sites = attach_file_now(session_probes(recording->session), file, target, &problem);
	if (!file || file->state != FILE_KNOWN)
		snprintf(search->unread, sizeof(search->unread), "%s", path_base(path));
	if (file && !search->none[0])
		runtime_reports_none(&file->facts.runtime, search->none);
	search->probed |= sites > 0 && !runtime;
	recording->stops_at_exec |= sites > 0 && switches_at_start(file);
	if (file)
		unwinder_expect(recording->unwinder, file->id);
	unwinder_flush(recording->unwinder);
	if (sites > 0)
		log_verbose("%s: %d %s attached", path, sites,
			    plural((uint64_t)sites, "probe[|s]").text);
	if (sites > 0)
		texts_expect(recording->session, recording->first.process);
	if (sites >= 0)
		return;
	if (problem.text[0])
		log_warning("%s%s", problem.text, problem_advice(sites));
	search->failed++;
}

const char *recording_no_runtime(const struct recording *recording)
{
	return strcmp(recording->options.runtimes, "auto") ? "no runtime that --runtime permits"
							   : "no runtime that gcprof knows";
}

/* `names`: of `count` programs. */
static void describe_none(const struct recording *recording, const char *names, size_t count,
			  char *out, size_t size)
{
	snprintf(out, size, "%s in %s or %s libraries%s", recording_no_runtime(recording), names,
		 count == 1 ? "its" : "in their",
		 recording->options.agent_kind ? "" : "; --malloc samples malloc()");
}

/*
 * Attaches to the probes of the program and its libraries. Here
 * and in libraries.c and unwinder.c, root opens these files: the user may have the right to
 * execute them but not to read them, and the kernel attaches probes by path.
 */
static void attach_probes(struct recording *recording, struct library_search *libraries)
{
	struct probe_search search = {.recording = recording, .copies = libraries->copies};
	enum stream_why why = WHY_TEXT;
	char why_not[256];

	recording_leave_libraries(libraries, search_file, &search);
	/* Only programs that somebody records load an agent, so its probes can be there before all
	 * children start. An emulator would execute a translation of them. */
	search.everywhere = true;
	if (recording->agent.fd > 0 && agent_is_mapped(recording->options.agent_kind) &&
	    !libraries->emulated)
		search_file(&search, recording->agent.path, recording->agent.fd);
	if (search.failed) {
		why = WHY_REFUSED;
		snprintf(why_not, sizeof(why_not),
			 "the probes of %s or its libraries could not be attached",
			 path_base(recording->command));
	} else if (search.copied) {
		snprintf(why_not, sizeof(why_not),
			 "%s is recorded without probes: it copies its code, and the copy would "
			 "contain breakpoints",
			 path_base(recording->command));
	} else if (search.none[0]) {
		snprintf(why_not, sizeof(why_not), "%s", search.none);
	} else if (search.probed) {
		snprintf(why_not, sizeof(why_not), "%s has gcprof's probes, but none for this",
			 path_base(recording->command));
	} else if (search.unread[0]) {
		snprintf(why_not, sizeof(why_not), "%s was not read, so its probes are not known",
			 search.unread);
	} else {
		why = WHY_NO_RUNTIME;
		describe_none(recording, path_base(recording->command), 1, why_not,
			      sizeof(why_not));
	}
	session_probes_attached(recording->session, why, why_not);
}

int recording_put_none(struct recording *recording)
{
	const struct stream_state *alloc = session_stream(recording->session, STREAM_ALLOC);
	const struct stream_state *gc = session_stream(recording->session, STREAM_GC);
	char names[PROGRAMS_TEXT], why_not[256];
	size_t count = store_programs(recording->store, names, sizeof(names));

	if (alloc->attached || gc->attached)
		return 0;
	if (recording->target && count && alloc->why == WHY_NO_RUNTIME) {
		describe_none(recording, names, count, why_not, sizeof(why_not));
		if (session_probes_attached(recording->session, WHY_NO_RUNTIME, why_not))
			return facts_put_streams(recording->writer, recording->session);
	}
	return 0;
}

void recording_warn_streams(const struct recording *recording)
{
	for (int stream = 0; stream < STREAM_END; stream++) {
		const struct stream_state *state =
			session_stream(recording->session, (enum stream)stream);

		/* Those not asked for are no surprise; missing probes were reported already. */
		if (!stream_name(stream) || state->attached || stream == STREAM_ALLOC ||
		    stream == STREAM_GC || state->why == WHY_UNASKED)
			continue;
		log_warning("stream %s is not recorded: %s", stream_name(stream), state->why_not);
	}
}

int recording_open_session(struct recording *recording, pid_t maps_of)
{
	struct problem problem = {""};

	recording_await_session(recording);
	if (recording->loading.err)
		return recording_fail(&recording->loading.problem);
	log_verbose("probes: %s", attach_multi_supported()
					  ? "all places of a file have one link"
					  : "each place is a perf event (before Linux 6.10)");
	if (session_attach(recording->session, &recording->options, &problem))
		return recording_fail(&problem);
	texts_begin(recording->session);
	recording_step(recording, "tracepoints and timers attached");
	if (perf_maps_open(maps_of, &recording->maps, &problem))
		log_warning("%s: native functions cannot be named", problem.text);
	recording_connect_unwinder(recording);
	return 0;
}

/* The child waits. Its activity is recorded from its exec on. */
static int follow_child(struct recording *recording, struct library_search *libraries)
{
	pid_t pid = target_pid(recording->target);
	int code = recording_open_session(recording, pid);
	int err = code ? code : session_add_targets(recording->session, &pid, 1, true);

	if (!err)
		err = session_target(recording->session, pid, &recording->first);
	if (code)
		return code;
	if (err)
		return recording_fail_errno("cannot trace the program", err);
	attach_probes(recording, libraries);
	recording_warn_streams(recording);
	recording_step(recording, "probes attached");
	if (libraries->generates)
		unwinder_settle(recording->unwinder, ROWS_NS);
	return 0;
}

static int open_throttle(struct recording *recording)
{
	const struct record_options *options = &recording->options;

	recording->throttle = (struct throttle){
		.session = recording->session,
		.counters = recording->counters,
		.store = recording->store,
		.switches = recording->switches,
		.control = recording->control,
		.samples = !options->period && options->ceiling == CEILING_DEFAULT,
		.short_calls = options->syscall_rate_given || options->syscall_mode != SYSCALLS_ALL
				       ? 0
				       : options->syscall_rate,
		.trace_waits = options->off_cpu && !options->off_cpu_given,
		.timer = options->frequency_given ? 0 : options->frequency,
		.percent = options->overhead_max,
	};

	return throttle_begin(&recording->throttle);
}

int recording_open_profile(struct recording *recording, char *const *words)
{
	struct profile_writer *writer = recording->writer;
	struct drain_parts parts;
	int err =
		counters_create(writer, recording->store, recording->session, &recording->counters);

	if (err)
		goto out;
	err = open_throttle(recording);
	if (err)
		goto out;
	store_know_kernel(recording->store, recording->session);
	store_know_own_code(recording->store, session_own_code(recording->session));
	parts = (struct drain_parts){
		.session = recording->session,
		.maps = recording->maps,
		.writer = writer,
		.processes = recording->processes,
		.store = recording->store,
		.counters = recording->counters,
		.files = recording->files,
		.opener = recording->opener,
		.switches = recording->switches,
		.control = recording->control,
		.unwinder = recording->unwinder,
		.began = recording->began,
	};
	err = drain_create(&parts, &recording->drain);
	err = err ? err : facts_put_machine(writer);
	err = err ? err : facts_put_arguments(writer, words);
	err = err ? err : facts_put_loss_kinds(writer);
	err = err ? err : facts_put_streams(writer, recording->session);
out:
	if (err == -EMFILE ||
	    err == -ENOMEM) /* nothing was written yet: the file is not the cause */
		return recording_fail_errno("the recorder cannot start", err);
	return err ? recording_fail_errno(recording_output(recording), err) : 0;
}

int recording_open_watch(struct recording *recording, const int *pidfds, size_t count)
{
	struct watch_parts parts = {
		.session = recording->session,
		.maps = recording->maps,
		.pidfds = pidfds,
		.n_pidfds = count,
		.snapshots = recording->options.keep != NULL,
		.paused = recording->options.start_paused,
	};
	int err = watch_open(&parts, &recording->watch);

	if (err)
		return recording_fail_errno("cannot wait for events", err);
	/* Its signals would have ended it before. */
	err = recorder_announce(recording->user.uid, parts.snapshots);
	/* In /tmp another user can be first to make the file. */
	if (err)
		log_print(err == -EPERM || err == -EACCES ? LOG_WARNING : LOG_VERBOSE,
			  "gcprof pause, resume and snapshot will not find this recorder: %s",
			  strerror(-err));
	return 0;
}

int recording_put_start(struct recording *recording)
{
	struct record_options given = recording->options;

	recording->start = session_begin_calls(recording->session);
	given.ceiling = ceiling_rate(&recording->options);
	return facts_put_recording(recording->writer, &given, recording->start,
				   recording->user.uid);
}

/* The program was executed but has not run yet. */
static void stopped(void *context)
{
	struct recording *recording = context;

	switches_start(recording->switches, recording->files,
		       (uint32_t)target_pid(recording->target));
}

/* Lets the program run. Returns its exit code if it cannot be executed, 0 if it runs. */
static int release(struct recording *recording)
{
	const struct target_entry *first = &recording->first;
	uint32_t pid = (uint32_t)target_pid(recording->target);
	struct problem problem = {""};
	int err = recording_put_start(recording);

	counters_follow_limits(recording->counters, pid);

	/* A child is in our pid namespace, so its pid is the same for both. */
	if (!err)
		err = store_add_process(recording->store, first->process, first->pid, pid,
					recording->start);
	/*
	 * Everything that precedes the program must be in the file before it runs: if the
	 * recorder is killed, nothing else is.
	 */
	err = err ? err : counters_put(recording->counters);
	err = err ? err : recording_pause(recording);
	err = err ? err : profile_writer_flush(recording->writer);
	if (err)
		return recording_fail_errno(recording_output(recording), err);
	unwinder_calm(recording->unwinder);
	priority_restore();
	err = target_release(recording->target, recording->stops_at_exec ? stopped : NULL,
			     recording, &problem);
	if (err) {
		log_error("%s: %s", recording->command, problem.text);
		return err == -ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
	}
	recording_step(recording, "the program runs");
	/* Not before: a command that cannot be executed must not replace a profile. */
	if (recording_begin(recording)) {
		recording_wait_unprofiled(recording);
		return EXIT_FAILURE;
	}
	err = watch_start(recording->watch, recording->options.duration);
	if (err)
		log_warning("--duration does not work: %s", strerror(-err));
	return 0;
}

int recording_open(struct recording *recording, char **words)
{
	struct library_search libraries = {.files = NULL};
	int code = prepare(recording, words[0]), pidfd;

	if (!code)
		code = recording_open_agent(recording);
	if (!code) {
		recording_find_libraries(recording, words, &libraries);
		recording_choose_agent(recording, words, &libraries.verdict);
	}
	if (!code)
		code = start_child(recording, words);
	if (!code)
		code = follow_child(recording, &libraries);
	recording_leave_libraries(&libraries, NULL, NULL);
	if (!code)
		code = recording_open_profile(recording, words);
	if (!code)
		recording_expect_agent(recording, &libraries.verdict);
	if (!code) {
		pidfd = target_pidfd(recording->target);
		code = recording_open_watch(recording, &pidfd, 1);
	}
	return code ? code : release(recording);
}
