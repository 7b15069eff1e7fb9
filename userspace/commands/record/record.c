/* SPDX-License-Identifier: BSD-2-Clause */
/* record.c: gcprof record: records a program, or running programs, into a profile. */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "record.h"
#include "../commands.h"
#include "../../profile/kept.h"
#include "../../record/kernel/needs.h"
#include "../../record/kernel/setup.h"
#include "../../record/machine/capabilities.h"
#include "../../record/machine/cgroup.h"
#include "../../record/machine/clock.h"
#include "../../record/store/facts.h"
#include "../../record/ingest/drain.h"
#include "../push/push.h"
#include "../../record/world/files.h"
#include "../../record/throttle/throttle.h"
#include "../../record/ingest/watch.h"
#include "../../util/log.h"

enum {
	ROUND_MS = 200,        /* between two rounds, if nothing wakes the recorder */
	SIGNAL_GRACE_MS = 200, /* for a program that got the same SIGINT */
	LARGE_BYTES = 1 << 20, /* allocations that are returned to the system when freed */
	DESCRIPTORS = 4096,    /* size that the descriptor table has from the start */
};

#define ROUND_MIN_NS UINT64_C(1000000) /* from the start of a round to the start of the next */
#define TYPED_NOTICE_NS \
	UINT64_C(1000000000) /* after Ctrl-C, until a message says what the recorder waits for */

int recording_fail(const struct problem *problem)
{
	log_problem(LOG_ERROR, problem);
	return EXIT_FAILURE;
}

int recording_fail_errno(const char *what, int err)
{
	log_error("%s: %s%s", what, strerror(-err), problem_advice(err));
	return EXIT_FAILURE;
}

void recording_step(const struct recording *recording, const char *what)
{
	log_verbose("%8.1f ms  %s", (double)(clock_now() - recording->began) / 1e6, what);
}

void recording_start_unwinder(struct recording *recording)
{
	int err;

	if (!stack_mode_ways(recording->options.stack_mode)->rows)
		return;
	err = unwinder_create(recording->files, recording->processes, &recording->unwinder);
	if (err)
		log_warning("stacks are walked by frame pointers only: %s", strerror(-err));
}

void recording_connect_unwinder(struct recording *recording)
{
	struct unwind_fds fds = session_unwind_fds(recording->session);
	int err = recording->maps ? 0 : -ENOENT;

	if (!recording->unwinder)
		return;
	err = err ? err : unwinder_connect(recording->unwinder, &fds);
	if (!err)
		return;
	unwinder_free(recording->unwinder);
	recording->unwinder = NULL;
	if (recording->maps)
		log_warning("stacks are walked by frame pointers only: %s", strerror(-err));
}

/* After a SIGINT that the program may have received, too: it gets a moment to end. */
static void wait_for_signalled(struct recording *recording)
{
	uint64_t end = clock_now() + SIGNAL_GRACE_MS * UINT64_C(1000000);

	while (clock_now() < end && !recording->ended)
		recording->ended = watch_wait(recording->watch, 10) == WATCH_EXITED;
}

/* A removed cgroup gets no new processes. Processes that left it earlier are still recorded. */
static bool cgroup_ended(const struct recording *recording)
{
	if (!recording->options.cgroup || !cgroup_is_gone(recording->cgroup) ||
	    session_has_targets(recording->session))
		return false;
	log_warning("--cgroup %s: was removed, and all of its processes have ended",
		    recording->options.cgroup);
	return true;
}

/*
 * A starting program maps a dozen files at once, and each mapping wakes the recorder. The
 * first wakeup gets a round immediately, the others share the next one.
 */
static void space_rounds(uint64_t *round)
{
	uint64_t now = clock_now(), due = *round + ROUND_MIN_NS;
	struct timespec left = {.tv_nsec = due > now ? (long)(due - now) : 0};

	if (left.tv_nsec)
		nanosleep(&left, NULL);
	*round = now + (uint64_t)left.tv_nsec;
}

/* The current time minus the time that this thread has waited for a CPU, in ns. */
static uint64_t turn_clock(const struct recording *recording)
{
	unsigned long long waited = 0;
	char text[128];
	ssize_t n = pread(recording->schedule, text, sizeof(text) - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	if (sscanf(text, "%*u %llu", &waited) != 1)
		waited = 0;
	return clock_now() - waited;
}

/* With -v: records the longest turn, not counting time without a CPU. */
static void note_turn(struct recording *recording, uint64_t began)
{
	uint64_t end;

	if (!recording->options.verbose)
		return;
	end = turn_clock(recording);
	/*
	 * Waiting time is counted when the thread gets its CPU, so the clock may go back a
	 * little.
	 */
	if (end > began && end - began > recording->longest_turn)
		recording->longest_turn = end - began;
}

/* Reports files and programs that could not be attached or reached. */
static void warn_troubles(const struct recording *recording)
{
	const char *trouble;

	while ((recording->drain && (trouble = drain_trouble(recording->drain))) ||
	       (recording->opener && (trouble = opener_trouble(recording->opener))))
		log_warning("%s", trouble);
}

/*
 * If the program is in our process group, it gets Ctrl-C, too. It may end because of it,
 * end in its own way, or continue. The recorder records that and exits with the program's
 * status. A second Ctrl-C stops the recorder.
 */
static bool leaves_to_program(struct recording *recording)
{
	const struct watch *watch = recording->watch;

	if (!recording->target || recording->typed || watch_signal(watch) != SIGINT ||
	    !watch_signal_is_typed(watch) || getpgid(target_pid(recording->target)) != getpgrp())
		return false;
	recording->typed = clock_now();
	return true;
}

/* Tells a user at a terminal, once, what the recorder is waiting for. */
static void explain_waiting(const struct recording *recording, bool *said)
{
	if (*said || !recording->typed || clock_now() - recording->typed < TYPED_NOTICE_NS)
		return;
	*said = true;
	log_info(
		"the program also got the Ctrl-C, and is recorded until it ends; press it again to "
		"end the recording");
}

int recording_put_user(struct recording *recording)
{
	uint32_t user = session_user(recording->session);

	if (user == recording->owner)
		return 0;
	recording->owner = user;
	return facts_put_user(recording->writer, user);
}

static void run(struct recording *recording)
{
	enum watch_event event = WATCH_WORK;
	uint64_t round = 0, turn; /* start of the last round */
	bool said = false;
	int err = 0, timeout;

	while (event == WATCH_WORK && !err) {
		timeout = drain_timeout(recording->drain, ROUND_MS);
		if (!recording->paused)
			timeout = throttle_timeout(&recording->throttle, timeout);
		event = watch_wait(recording->watch, timeout);
		space_rounds(&round);
		turn = recording->options.verbose ? turn_clock(recording) : 0;
		/* Until a split is written, the tracing state must not change. */
		err = recording->rotation.split ? 0 : recording_pause(recording);
		if (!err && !recording->rotation.split && !recording->paused)
			err = throttle_step(&recording->throttle);
		err = err ? err : drain_round(recording->drain);
		err = err ? err : recording_put_user(recording);
		err = err ? err : recording_rotate(recording);
		if (!err)
			recording_keep(recording);
		warn_troubles(recording);
		recording_check_output(recording);
		if (event == WATCH_WORK && !err && cgroup_ended(recording))
			event = WATCH_EXITED;
		if (event == WATCH_SIGNAL && !err && leaves_to_program(recording))
			event = WATCH_WORK;
		explain_waiting(recording, &said);
		note_turn(recording, turn);
	}
	recording->ended = event == WATCH_EXITED;
	recording->reason = event == WATCH_EXITED     ? recording->target ? END_EXITED : END_GONE
			    : event == WATCH_DURATION ? END_DURATION
						      : END_INTERRUPTED;
	if (event == WATCH_SIGNAL && recording->target && watch_signal(recording->watch) == SIGINT)
		wait_for_signalled(recording);
	if (err) {
		recording->reason = END_ERROR;
		recording->failed = true;
		log_error("%s: %s; recording stopped, the program continues",
			  recording_output(recording), strerror(-err));
	}
	if (recording->ended && recording->target &&
	    target_wait(recording->target, true, &recording->status) == 0 &&
	    recording->reason == END_INTERRUPTED)
		recording->reason = END_EXITED;
	recording_step(recording, recording->ended ? "the program ended" : "recording ends");
}

static int exit_code(const struct recording *recording)
{
	if (recording->failed)
		return EXIT_FAILURE;
	/* After a second Ctrl-C: the program's status is not known. */
	if (!recording->ended && recording->typed && watch_signal(recording->watch) == SIGINT)
		return EXIT_BY_SIGNAL + SIGINT;
	if (!recording->ended || !recording->target)
		return 0;
	if (WIFSIGNALED(recording->status))
		return EXIT_BY_SIGNAL + WTERMSIG(recording->status);
	return WEXITSTATUS(recording->status);
}

/* If the profile cannot be written, the program must not suffer: it continues until it ends. */
void recording_wait_unprofiled(struct recording *recording)
{
	enum watch_event event = WATCH_WORK;

	unwinder_free(recording->unwinder);
	recording->unwinder = NULL;
	session_free(recording->session);
	recording->session = NULL;
	while (event == WATCH_WORK || event == WATCH_DURATION)
		event = watch_wait(recording->watch, -1);
}

static void recording_free(struct recording *recording)
{
	recording_await_session(recording);
	watch_free(recording->watch);
	drain_free(recording->drain);
	recording->drain = NULL;
	switches_free(recording->switches);
	counters_free(recording->counters);
	store_free(recording->store);
	unwinder_free(recording->unwinder);
	processes_free(recording->processes);
	perf_maps_free(recording->maps);
	control_free(recording->control);
	session_free(recording->session);
	files_free(recording->files);
	target_free(recording->target);
	agent_close(&recording->agent);
	warn_troubles(recording);
	opener_free(recording->opener);
	running_close(&recording->running);
	if (recording->cgroup > 0)
		close(recording->cgroup);
	output_file_close_as(&recording->user, &recording->file);
	profile_writer_close(recording->writer);
	free(recording->command);
	free(recording->path);
	kept_free(recording->keeping.kept);
	when_free(recording->keeping.when);
}

/* Everything is attached: from now on the recorder reads data from programs, with few rights. */
static void drop_capabilities(struct recording *recording)
{
	int err;

	/*
	 * Before Linux 6.10 probes are perf events, and 6.1 refuses new ones without these
	 * rights.
	 */
	if (!attach_multi_supported()) {
		recording_step(recording, "capabilities are kept: this kernel needs them for "
					  "probes of files mapped later");
		return;
	}
	err = capabilities_drop(recording_rotates(recording) && recording->user.uid == 0);
	if (err)
		log_warning("capabilities could not be dropped: %s", strerror(-err));
	else
		recording_step(recording, "capabilities that are not needed any more are dropped");
}

static int record(struct recording *recording, char **words)
{
	int code = *words ? recording_open(recording, words) : recording_attach(recording);

	if (code)
		return code;
	drop_capabilities(recording);
	recording->started_ns = recorder_cpu_ns();
	log_limit();
	run(recording);
	log_end_limit();
	recording_complete(recording);
	if (recording->failed && recording->target && !recording->ended)
		recording_wait_unprofiled(recording);
	return exit_code(recording);
}

/*
 * Grows the descriptor table while there is one thread. Later, the kernel would wait for
 * all CPUs (synchronize_rcu()) at each growth, which takes tens of milliseconds on a busy
 * machine.
 */
static void make_room_for_descriptors(void)
{
	int fd = -1;

	/* As many as are allowed. */
	for (int room = DESCRIPTORS; room > 1 && fd < 0; room /= 2)
		fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, room - 1);
	if (fd >= 0)
		close(fd);
}

static int run_checked(struct recording *recording, char **words)
{
	const struct record_options *options = &recording->options;
	const char *variable;
	int code, err;

	if (options->when_oom && !kernel_btf_has_task("mark_victim")) {
		log_error("--when oom: this kernel does not say which process it ends; Linux 6.9 "
			  "and newer do");
		return EXIT_FAILURE;
	}
	err = invoker_find(&recording->user, &variable);
	if (err)
		return recording_fail_errno(variable, err);
	recording->schedule =
		options->verbose ? open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC) : -1;
	if (options->verbose)
		log_set_level(options->verbose > 1 ? LOG_DEBUG : LOG_VERBOSE);
	setup_messages();
	code = recording_push_open(recording);
	if (code)
		return code;
	make_room_for_descriptors();
	/*
	 * Otherwise the threshold grows with each large table that is freed, and a long
	 * recording keeps the memory of its largest tables.
	 */
	mallopt(M_MMAP_THRESHOLD, LARGE_BYTES);
	mallopt(M_TRIM_THRESHOLD, LARGE_BYTES);
	code = record(recording, words);
	recording_free(recording);
	recording_step(recording, "everything is detached");
	err = recording_push_close(recording);
	return code ? code : err;
}

static int record_run(int argc, char **argv)
{
	struct recording recording = {
		.options = record_defaults,
		.owner = USER_NONE,
		.began = clock_now(),
	};
	int first = options_parse(&cmd_record, &recording.options, argc, argv), code = EXIT_USAGE;

	if (first >= 0 && !record_check_options(&recording.options, argv + first) &&
	    (!recording.options.when.count ||
	     !when_parse(&recording.options, &recording.keeping.when)))
		code = run_checked(&recording, argv + first);
	free(recording.options.pids);
	return code;
}

const struct command cmd_record = {
	.name = "record",
	.usage = "[OPTIONS] -- COMMAND [ARGUMENTS] | -p PID[,PID] | --system | --cgroup PATH",
	.summary = "record a new or running program into a profile",
	.options = record_rows,
	.needs_root = true,
	.run = record_run,
};
