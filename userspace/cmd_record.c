/* SPDX-License-Identifier: BSD-2-Clause */
/* cmd_record.c: `gcprof record`: records a program, or what runs already, into a profile. */
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

#include "cmd_record.h"
#include "commands.h"
#include "profile/kept.h"
#include "record/kernel/kernel_btf.h"
#include "record/kernel/setup.h"
#include "record/machine/capabilities.h"
#include "record/machine/cgroup.h"
#include "record/machine/clock.h"
#include "record/ingest/drain.h"
#include "record/world/files.h"
#include "record/throttle/throttle.h"
#include "record/target/libraries.h"
#include "record/ingest/watch.h"
#include "util/log.h"

enum {
	ROUND_MS = 200,        /* between two looks at the rings, if nothing wakes us */
	SIGNAL_GRACE_MS = 200, /* for a program that got the same SIGINT as we */
	LARGE_BYTES = 1 << 20, /* memory that goes back to the system as soon as it is free */
	DESCRIPTORS = 4096,    /* that there is room for from the start */
};

#define ROUND_MIN_NS UINT64_C(1000000) /* from the begin of one to that of the next */
#define TYPED_NOTICE_NS \
	UINT64_C(1000000000) /* after Ctrl-C, until a message says what is awaited */

#define NOT_GIVEN                                                                               \
	UINT64_MAX /* a number that nobody can ask for: the default, unless recording takes too \
		      much */

enum { FREQUENCY_DEFAULT = 999, SYSCALL_RATE_DEFAULT = 5000 };

static const char runtime_help[] = "runtimes to be recorded: auto (all that are known), none"
#define RUNTIME(number, NAME, name) ", " #name
#include "runtimes/list.def"
#undef RUNTIME
				   " (default: auto)";

static const struct option_row rows[] = {
	{"output", 'o', OPTION_TEXT, offsetof(struct record_options, output), 0, 0, "FILE",
	 "where to write the profile; -: standard output (default: " OUTPUT_DEFAULT ")"},
	{"rotate", 0, OPTION_TEXT, offsetof(struct record_options, rotate), 0, 0, "TIME|SIZE",
	 "write one profile after the other, each of this time (10m) or size (100M): FILE-0001 and "
	 "so on"},
	{"rotate-limit", 0, OPTION_SIZE, offsetof(struct record_options, rotate_limit), 4096, 0,
	 "SIZE", "with --rotate: remove the oldest files when all together have more than SIZE"},
	{"keep", 0, OPTION_TEXT, offsetof(struct record_options, keep), 0, 0, "TIME|SIZE",
	 "keep the last of this time (60s) or size (100M), and write that on SIGUSR2, by gcprof "
	 "snapshot, and at the end: FILE-0001 and so on"},
	{"keep-limit", 0, OPTION_SIZE, offsetof(struct record_options, keep_limit), 1 << 20, 0,
	 "SIZE", "with --keep TIME: keep less where that would be more than SIZE"},
	{"when", 0, OPTION_LIST, offsetof(struct record_options, when), 0, 0, "CONDITION",
	 "with --keep: take a snapshot when pause>TIME, syscall:NAME>TIME, rss>SIZE, "
	 "alloc>SIZE/s, exit!=STATUS or oom; may be given several times"},
	{"after", 0, OPTION_TIME, offsetof(struct record_options, after), 0, 1000000000ull * 3600,
	 "TIME", "with --keep: go on for so long before a snapshot is taken (default: 0)"},
	{"frequency", 'F', OPTION_NUMBER, offsetof(struct record_options, frequency), 0, 10000,
	 "HZ", "timer samples per second and CPU; 0: none (default: 999)"},
	{"period", 'R', OPTION_SIZE, offsetof(struct record_options, period), 64, 1ull << 36,
	 "BYTES", "mean bytes between allocation samples (default: the program's, 512K)"},
	{"ceiling", 0, OPTION_NUMBER, offsetof(struct record_options, ceiling), 0, 1000000000, "N",
	 "allocation samples per second above which the period rises; 0: none (default: 2000; 0 "
	 "with -R)"},
	{"duration", 0, OPTION_TIME, offsetof(struct record_options, duration), 1000000,
	 1000000000ull * 86400 * 365, "TIME", "stop recording after this time (default: never)"},
	{"syscalls", 0, OPTION_TEXT, offsetof(struct record_options, syscalls), 0, 0, "WHICH",
	 "system calls that get a record each: all, slow=TIME, count (none, but all are counted), "
	 "off (not counted either) (default: all)"},
	{"syscall-stacks", 0, OPTION_FLAG, offsetof(struct record_options, syscall_stacks), 0, 0,
	 NULL, "record a stack with each system call, not only with those of 10us or longer"},
	{"no-args", 0, OPTION_FLAG, offsetof(struct record_options, no_args), 0, 0, NULL,
	 "leave out the arguments of system calls, paths included"},
	{"syscall-rate", 0, OPTION_NUMBER, offsetof(struct record_options, syscall_rate), 0,
	 10000000, "N", "records of short system calls per second and CPU (default: 5000)"},
	{"off-cpu", 0, OPTION_FLAG, offsetof(struct record_options, off_cpu), 0, 0, NULL,
	 "record when threads are off the CPU, and why"},
	{"off-cpu-min", 0, OPTION_TIME, offsetof(struct record_options, off_cpu_min), 0,
	 1000000000ull * 3600, "TIME",
	 "shortest wait that gets its own record; all are counted (default: 100us)"},
	{"faults", 0, OPTION_FLAG, offsetof(struct record_options, faults), 0, 0, NULL,
	 "record where page faults are taken"},
	{"fault-rate", 0, OPTION_NUMBER, offsetof(struct record_options, fault_rate), 1, 10000000,
	 "N", "records of page faults per second and CPU; sums stay exact (default: 2000)"},
	{"kernel-stacks", 0, OPTION_FLAG, offsetof(struct record_options, kernel_stacks), 0, 0,
	 NULL,
	 "add the kernel's frames to waits and to system calls that waited; turns --off-cpu on"},
	{"max-overhead", 0, OPTION_TEXT, offsetof(struct record_options, overhead), 0, 0, "PERCENT",
	 "CPU time of all CPUs that recording may take; beyond it less is recorded one by one, "
	 "and totals of system calls may become estimates; off: no limit (default: 1)"},
	{"stack", 0, OPTION_TEXT, offsetof(struct record_options, stack), 0, 0, "MODE",
	 "how native stacks are walked: rows, fp (frame pointers), copy, both, off (default: "
	 "rows)"},
	{"stack-bytes", 0, OPTION_SIZE, offsetof(struct record_options, stack_bytes), 1024, 32768,
	 "BYTES", "how much of a stack --stack copy and both copy (default: 16K)"},
	{"pid", 'p', OPTION_TEXT, offsetof(struct record_options, pids), 0, 0, "PID[,PID]",
	 "record running programs, until the last of them ends"},
	{"system", 0, OPTION_FLAG, offsetof(struct record_options, system), 0, 0, NULL,
	 "record every process on the machine"},
	{"cgroup", 0, OPTION_TEXT, offsetof(struct record_options, cgroup), 0, 0, "PATH",
	 "record every process in this cgroup (version 2) and those below it"},
	{"follow", 0, OPTION_TEXT, offsetof(struct record_options, follow), 0, 0, "WHOM",
	 "whether to record what recorded processes start: children, none (default: children)"},
	{"runtime", 0, OPTION_TEXT, offsetof(struct record_options, runtimes), 0, 0, "NAME[,NAME]",
	 runtime_help},
	{"agent", 0, OPTION_TEXT, offsetof(struct record_options, agent), 0, 0, "NAME",
	 "sample what COMMAND allocates and frees, by a library in LD_PRELOAD: malloc (the C "
	 "library's), python (objects and buffers of Python); java: what becomes of Java's "
	 "samples"},
	{"malloc", 0, OPTION_FLAG, offsetof(struct record_options, malloc), 0, 0, NULL,
	 "--agent malloc"},
	{"no-writes", 0, OPTION_FLAG, offsetof(struct record_options, no_writes), 0, 0, NULL,
	 "do not write to programs' memory: samplers are not switched on"},
	{"writes", 0, OPTION_FLAG, offsetof(struct record_options, writes), 0, 0, NULL,
	 "write to these with --system and --cgroup, too"},
	{"verbose", 'v', OPTION_FLAG, offsetof(struct record_options, verbose), 0, 0, NULL,
	 "say what is done at each step, and when; twice: the kernel's messages too"},
	{0},
};

int recording_fail(const struct problem *problem)
{
	log_escaped(LOG_ERROR, problem->text);
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

/* After a SIGINT: the program, if it got it too, may end with it. */
static void wait_for_signalled(struct recording *recording)
{
	uint64_t end = clock_now() + SIGNAL_GRACE_MS * UINT64_C(1000000);

	while (clock_now() < end && !recording->ended)
		recording->ended = watch_wait(recording->watch, 10) == WATCH_EXITED;
}

/* Nobody can join a cgroup that was removed; who left it before is still recorded. */
static bool cgroup_ended(const struct recording *recording)
{
	if (!recording->options.cgroup || !cgroup_is_gone(recording->cgroup) ||
	    session_has_targets(recording->session))
		return false;
	log_warning("--cgroup %s: was removed, and everybody who was in it has ended",
		    recording->options.cgroup);
	return true;
}

/* A program that starts maps a dozen files at once, each of which wakes us: the first gets a round
 * at once, the others one together. */
static void space_rounds(uint64_t *round)
{
	uint64_t now = clock_now(), due = *round + ROUND_MIN_NS;
	struct timespec left = {.tv_nsec = due > now ? (long)(due - now) : 0};

	if (left.tv_nsec)
		nanosleep(&left, NULL);
	*round = now + (uint64_t)left.tv_nsec;
}

/* The time now, less what this thread has waited for a CPU: ns. */
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

/* With -v: a turn that took long although it had a CPU was kept waiting by something. */
static void note_turn(struct recording *recording, uint64_t began)
{
	uint64_t end;

	if (!recording->options.verbose)
		return;
	end = turn_clock(recording);
	/* What it has waited is counted when it gets the CPU: the clock may go back a little. */
	if (end > began && end - began > recording->longest_turn)
		recording->longest_turn = end - began;
}

/* Files and programs that could not be attached or reached. */
static void warn_troubles(const struct recording *recording)
{
	const char *trouble;

	while ((recording->drain && (trouble = drain_trouble(recording->drain))) ||
	       (recording->opener && (trouble = opener_trouble(recording->opener))))
		log_warning("%s", trouble);
}

/*
 * A Ctrl-C is for the program, too, if that is in our process group: it may end by it, end in its
 * own way, or go on. What it does is recorded, and its status is ours; a second one is for us.
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

/* Once, to who types: why nothing happens. */
static void tell_waiting(const struct recording *recording, bool *said)
{
	if (*said || !recording->typed || clock_now() - recording->typed < TYPED_NOTICE_NS)
		return;
	*said = true;
	log_info("the program got the Ctrl-C, too, and is recorded until it ends; another one "
		 "ends the recording");
}

static void run(struct recording *recording)
{
	enum watch_event event = WATCH_WORK;
	uint64_t round = 0, turn; /* when the last one began */
	bool said = false;
	int err = 0, timeout;

	while (event == WATCH_WORK && !err) {
		timeout = drain_timeout(recording->drain, ROUND_MS);
		event = watch_wait(recording->watch,
				   throttle_timeout(&recording->throttle, timeout));
		space_rounds(&round);
		turn = recording->options.verbose ? turn_clock(recording) : 0;
		/* Until a split is written, tracing stays as it was then. */
		err = recording->rotation.split ? 0 : throttle_step(&recording->throttle);
		err = err ? err : drain_round(recording->drain);
		err = err ? err : recording_rotate(recording);
		err = err ? err : recording_keep(recording);
		warn_troubles(recording);
		recording_check_output(recording);
		if (event == WATCH_WORK && !err && cgroup_ended(recording))
			event = WATCH_EXITED;
		if (event == WATCH_SIGNAL && !err && leaves_to_program(recording))
			event = WATCH_WORK;
		tell_waiting(recording, &said);
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
		log_error("%s: %s; recording stopped, the program goes on",
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
	/* By the second Ctrl-C: what the program will end with is not known. */
	if (!recording->ended && recording->typed && watch_signal(recording->watch) == SIGINT)
		return EXIT_BY_SIGNAL + SIGINT;
	if (!recording->ended || !recording->target)
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
	files_free(recording->files);
	perf_maps_free(recording->maps);
	control_free(recording->control);
	session_free(recording->session);
	target_free(recording->target);
	libraries_free(recording->libraries);
	agent_close(&recording->agent);
	warn_troubles(recording);
	opener_free(recording->opener);
	running_close(&recording->running);
	if (recording->cgroup > 0)
		close(recording->cgroup);
	if (recording->file > 0)
		close(recording->file);
	profile_writer_close(recording->writer);
	free(recording->command);
	free(recording->path);
	kept_free(recording->keeping.kept);
	when_free(recording->keeping.when);
}

/* Everything is attached: what comes from programs from now on is read with few rights. */
static void drop_capabilities(struct recording *recording)
{
	int err;

	/* Before Linux 6.6 probes are perf events, and 6.1 refuses later ones without them. */
	if (!attach_multi_supported()) {
		recording_step(recording, "capabilities are kept: this kernel wants them for "
					  "probes of what is mapped later");
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
	run(recording);
	recording_complete(recording);
	if (recording->failed && recording->target && !recording->ended)
		wait_unprofiled(recording);
	return exit_code(recording);
}

static bool complete_number(uint64_t *number, uint64_t usual)
{
	bool given = *number != NOT_GIVEN;

	*number = given ? *number : usual;
	return given;
}

/* What options must not say, alone or together. */
/* The runtimes of --runtime. A negative errno, reported, if there is no such name. */
static int runtimes_parse(const char *text, uint32_t *mask)
{
	char name[32];
	size_t length;

	*mask = strcmp(text, "auto") == 0 ? UINT32_MAX : 0;
	if (*mask || strcmp(text, "none") == 0)
		return 0;
	for (; *text; text += length + (text[length] == ',')) {
		const struct runtime *runtime;

		length = strcspn(text, ",");
		snprintf(name, sizeof(name), "%.*s", (int)length, text);
		runtime = runtime_find(name);
		if (!runtime) {
			log_error("--runtime %s: unknown; %s", name, runtime_help);
			return -EINVAL;
		}
		*mask |= UINT32_C(1) << runtime->id;
	}
	return 0;
}

static int check_agent(struct record_options *options, bool attaches)
{
	if (options->malloc && options->agent) {
		log_error("--malloc and --agent: only one agent at a time");
		return -EINVAL;
	}
	if (options->malloc)
		options->agent = "malloc";
	options->agent_kind = options->agent ? agent_find(options->agent) : NULL;
	if (options->agent && !options->agent_kind) {
		log_error("--agent %s: malloc, python or java", options->agent);
		return -EINVAL;
	}
	if (attaches && options->agent_kind && agent_attaches(options->agent_kind) &&
	    !options->pids) {
		log_error("--agent %s: only with -p or a COMMAND", options->agent);
		return -EINVAL;
	}
	if (attaches && options->agent_kind && !agent_attaches(options->agent_kind)) {
		log_error(
			"--agent %s: only for a COMMAND that gcprof starts. A program that runs "
			"already has its allocator for good: to record one later, start it with %s "
			"in LD_PRELOAD",
			options->agent, agent_file(options->agent_kind));
		return -EINVAL;
	}
	return 0;
}

static int check_options(struct record_options *options, char **words)
{
	const char *ring = getenv("GCPROF_TEST_RING"), *rare = getenv("GCPROF_TEST_CEILING");
	int attach = (options->pids != NULL) + (options->system != 0) + (options->cgroup != NULL);

	if (stack_mode_parse(options->stack, &options->stack_mode)) {
		log_error("--stack %s: the modes are rows, fp, copy, both and off", options->stack);
		return -EINVAL;
	}
	if (syscall_mode_parse(options->syscalls, &options->syscall_mode, &options->syscall_slow)) {
		log_error("--syscalls %s: either all, slow=TIME, count or off", options->syscalls);
		return -EINVAL;
	}
	if (overhead_parse(options->overhead, &options->overhead_max)) {
		log_error("--max-overhead %s: a percentage from 0.01 to 100, or off",
			  options->overhead);
		return -EINVAL;
	}
	if (recording_check_spans(options))
		return -EINVAL;
	if (ring && ring_size_parse(ring, &options->ring_stream, &options->ring_bytes)) {
		log_error("GCPROF_TEST_RING=%s: STREAM=BYTES, a power of two from 4096 on", ring);
		return -EINVAL;
	}
	if (rare && rare_rate_parse(rare, &options->rare_rate)) {
		log_error("GCPROF_TEST_CEILING=%s: events a second and CPU, from 1 on", rare);
		return -EINVAL;
	}
	options->frequency_given = complete_number(&options->frequency, FREQUENCY_DEFAULT);
	options->syscall_rate_given = complete_number(&options->syscall_rate, SYSCALL_RATE_DEFAULT);
	options->follow_children = strcmp(options->follow, "children") == 0;
	if (!options->follow_children && strcmp(options->follow, "none") != 0) {
		log_error("--follow %s: either children or none", options->follow);
		return -EINVAL;
	}
	if (runtimes_parse(options->runtimes, &options->runtime_mask))
		return -EINVAL;
	if (options->kernel_stacks)
		options->off_cpu = 1;
	if (attach > 1 || (attach && *words)) {
		log_error("a command, -p, --system and --cgroup: only one of them at a time");
		return -EINVAL;
	}
	if (check_agent(options, attach > 0))
		return -EINVAL;
	if (!attach && !*words) {
		log_error("no command to record\nTry 'gcprof record -- COMMAND [ARGUMENTS]', or -p "
			  "PID for one that runs already.");
		return -EINVAL;
	}
	return 0;
}

/* While there is one thread: later the kernel would wait for all CPUs (synchronize_rcu()) each time
 * that the table of descriptors gets larger, on a busy machine for tens of milliseconds. */
static void make_room_for_descriptors(void)
{
	int fd = -1;

	/* Or as many as are allowed. */
	for (int room = DESCRIPTORS; room > 1 && fd < 0; room /= 2)
		fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, room - 1);
	if (fd >= 0)
		close(fd);
}

static int record_run(int argc, char **argv)
{
	struct recording recording = {
		.options =
			{
				.output = OUTPUT_DEFAULT,
				.frequency = NOT_GIVEN,
				.ceiling = CEILING_DEFAULT,
				.syscalls = "all",
				.syscall_slow = SYSCALL_SLOW_NS,
				.syscall_rate = NOT_GIVEN,
				.off_cpu_min = OFF_CPU_MIN_NS,
				.fault_rate = FAULT_RATE,
				.overhead = "1",
				.follow = "children",
				.runtimes = "auto",
				.stack = "rows",
				.stack_bytes = 16384,
			},
		.began = clock_now(),
	};
	int first = options_parse(&cmd_record, &recording.options, argc, argv);
	const char *variable;
	int code, err;

	if (first < 0 || check_options(&recording.options, argv + first) ||
	    (recording.options.when.count &&
	     when_parse(&recording.options, &recording.keeping.when)))
		return EXIT_USAGE;
	if (recording.options.when_oom && !kernel_btf_has_task("mark_victim")) {
		log_error("--when oom: this kernel does not say which process it ends; Linux 6.9 "
			  "and newer do");
		return EXIT_FAILURE;
	}
	err = invoker_find(&recording.user, &variable);
	if (err)
		return recording_fail_errno(variable, err);
	recording.schedule = recording.options.verbose
				     ? open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC)
				     : -1;
	if (recording.options.verbose)
		log_set_level(recording.options.verbose > 1 ? LOG_DEBUG : LOG_VERBOSE);
	setup_messages();
	make_room_for_descriptors();
	/* Else the size grows with each large table, and a long recording keeps what it had once.
	 */
	mallopt(M_MMAP_THRESHOLD, LARGE_BYTES);
	mallopt(M_TRIM_THRESHOLD, LARGE_BYTES);
	code = record(&recording, argv + first);
	recording_free(&recording);
	recording_step(&recording, "everything is detached");
	return code;
}

const struct command cmd_record = {
	.name = "record",
	.usage = "[OPTIONS] -- COMMAND [ARGUMENTS] | -p PID[,PID] | --system | --cgroup PATH",
	.summary = "record a program, started or running already, into a profile",
	.options = rows,
	.needs_root = true,
	.run = record_run,
};
