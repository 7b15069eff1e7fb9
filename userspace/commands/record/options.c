/* SPDX-License-Identifier: BSD-2-Clause */
/* options.c: the options of gcprof record: table, defaults, checks. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../push/push.h"
#include "record.h"
#include "../../profile/intern.h"
#include "../../record/kernel/setup.h"
#include "../../util/buffer.h"
#include "../../util/log.h"

/* No valid value: the option has its default, which recording may lower to limit its cost. */
#define NOT_GIVEN UINT64_MAX

enum { FREQUENCY_DEFAULT = 999, SYSCALL_RATE_DEFAULT = 5000 };

static const char runtime_help[] = "runtimes to record: auto (all known), none"
#define RUNTIME(number, NAME, name) ", " #name
#include "../../runtimes/list.def"
#undef RUNTIME
				   " (default: auto)";

const struct option_row record_rows[] = {
	{"output", 'o', OPTION_TEXT, offsetof(struct record_options, output), 0, 0, "FILE",
	 "where to write the profile; -: standard output (default: " OUTPUT_DEFAULT ")"},
	{"rotate", 0, OPTION_TEXT, offsetof(struct record_options, rotate), 0, 0, "TIME|SIZE",
	 "write a series of profiles, each of this time (10m) or size (100M): FILE-0001 "
	 "and so on"},
	{"rotate-limit", 0, OPTION_SIZE, offsetof(struct record_options, rotate_limit), 4096, 0,
	 "SIZE", "with --rotate: remove the oldest files when their total exceeds SIZE"},
	{"keep", 0, OPTION_TEXT, offsetof(struct record_options, keep), 0, 0, "TIME|SIZE",
	 "keep only the last part of this time (60s) or size (100M); write it on SIGUSR2, on "
	 "gcprof snapshot, and at the end: FILE-0001 and so on"},
	{"keep-limit", 0, OPTION_SIZE, offsetof(struct record_options, keep_limit), 1 << 20, 0,
	 "SIZE", "with --keep TIME: keep less if that would exceed SIZE"},
	{"when", 0, OPTION_LIST, offsetof(struct record_options, when), 0, 0, "CONDITION",
	 "with --keep: take a snapshot when pause>TIME, syscall:NAME>TIME, rss>SIZE, "
	 "alloc>SIZE/s, exit!=STATUS or oom; may be given several times"},
	{"after", 0, OPTION_TIME, offsetof(struct record_options, after), 0, 1000000000ull * 3600,
	 "TIME", "with --keep: delay before a snapshot is taken (default: 0)"},
	{"push", 0, OPTION_TEXT, offsetof(struct record_options, push.url), 0, 0, "URL",
	 "push each profile to this ClickHouse server when it is complete"},
	{"push-wait", 0, OPTION_NUMBER, offsetof(struct record_options, push.seconds), 1, 86400,
	 "SECONDS", "with --push: wait so long at the end for each profile (default: 300)"},
	{"spool", 0, OPTION_TEXT, offsetof(struct record_options, spool), 0, 0, "DIR",
	 "with --push: keep profiles here while the server is unreachable"},
	{"label", 'l', OPTION_LIST, offsetof(struct record_options, labels), 0, 0, "NAME=VALUE",
	 "with --push: service, version or another label; may be repeated"},
	SERVER_OPTIONS(struct record_options, push, "push-"),
	{"frequency", 'F', OPTION_NUMBER, offsetof(struct record_options, frequency), 0, 10000,
	 "HZ", "timer samples per second and CPU; 0: none (default: 999)"},
	{"period", 'R', OPTION_SIZE, offsetof(struct record_options, period), 64, 1ull << 36,
	 "BYTES", "mean bytes between allocation samples (default: the program's, 512K)"},
	{"ceiling", 0, OPTION_NUMBER, offsetof(struct record_options, ceiling), 0, 1000000000, "N",
	 "allocation samples per second above which the period rises; 0: none (default: 2000; 0 "
	 "with -R)"},
	{"start-paused", 0, OPTION_FLAG, offsetof(struct record_options, start_paused), 0, 0, NULL,
	 "record nothing until gcprof resume"},
	{"duration", 0, OPTION_TIME, offsetof(struct record_options, duration), 1000000,
	 1000000000ull * 86400 * 365, "TIME", "stop recording after this time (default: never)"},
	{"syscalls", 0, OPTION_TEXT, offsetof(struct record_options, syscalls), 0, 0, "WHICH",
	 "system calls that get a record each: all, slow=TIME, count (none, but all are counted), "
	 "off (not counted either) (default: all)"},
	{"syscall-stacks", 0, OPTION_FLAG, offsetof(struct record_options, syscall_stacks), 0, 0,
	 NULL, "record a stack with each system call, not only with those of 10us or longer"},
	{"no-args", 0, OPTION_FLAG, offsetof(struct record_options, no_args), 0, 0, NULL,
	 "leave out the arguments of system calls, including paths"},
	{"syscall-rate", 0, OPTION_NUMBER, offsetof(struct record_options, syscall_rate), 0,
	 10000000, "N", "records of short system calls per second and CPU (default: 5000)"},
	{"off-cpu", 0, OPTION_FLAG, offsetof(struct record_options, off_cpu), 0, 0, NULL,
	 "record when threads are off the CPU, and why, all the time; by default as far as "
	 "--max-overhead allows"},
	{"no-off-cpu", 0, OPTION_FLAG, offsetof(struct record_options, no_off_cpu), 0, 0, NULL,
	 "do not; also the default with --syscalls off"},
	{"off-cpu-min", 0, OPTION_TIME, offsetof(struct record_options, off_cpu_min), 0,
	 1000000000ull * 3600, "TIME",
	 "shortest wait that gets its own record; all are counted (default: 100us)"},
	{"faults", 0, OPTION_FLAG, offsetof(struct record_options, faults), 0, 0, NULL,
	 "record the functions that take page faults"},
	{"fault-rate", 0, OPTION_NUMBER, offsetof(struct record_options, fault_rate), 1, 10000000,
	 "N", "records of page faults per second and CPU; sums stay exact (default: 2000)"},
	{"kernel-stacks", 0, OPTION_FLAG, offsetof(struct record_options, kernel_stacks), 0, 0,
	 NULL,
	 "add the kernel's frames to waits and to system calls that waited; turns --off-cpu on"},
	{"max-overhead", 0, OPTION_TEXT, offsetof(struct record_options, overhead), 0, 0, "PERCENT",
	 "share of all CPUs' time that recording may take; beyond it fewer single events are "
	 "recorded, and totals of system calls may become estimates; off: no limit (default: 1)"},
	{"stack", 0, OPTION_TEXT, offsetof(struct record_options, stack), 0, 0, "MODE",
	 "how native stacks are unwound: rows, fp (frame pointers), copy, off (default: "
	 "rows)"},
	{"stack-bytes", 0, OPTION_SIZE, offsetof(struct record_options, stack_bytes), 1024, 32768,
	 "BYTES", "maximum part of a stack to copy with --stack copy (default: 16K)"},
	{"pid", 'p', OPTION_LIST, offsetof(struct record_options, pid_lists), 0, 0, "PID[,PID]",
	 "record running programs, until the last of them ends; commas, blanks and several -p "
	 "separate them"},
	{"system", 0, OPTION_FLAG, offsetof(struct record_options, system), 0, 0, NULL,
	 "record every process on the machine"},
	{"cgroup", 0, OPTION_TEXT, offsetof(struct record_options, cgroup), 0, 0, "PATH",
	 "record every process in this cgroup (version 2) and in those below it"},
	{"follow", 0, OPTION_TEXT, offsetof(struct record_options, follow), 0, 0, "WHOM",
	 "whether to record what recorded processes start: children, none (default: children)"},
	{"runtime", 0, OPTION_TEXT, offsetof(struct record_options, runtimes), 0, 0, "NAME[,NAME]",
	 runtime_help},
	{"agent", 0, OPTION_TEXT, offsetof(struct record_options, agent), 0, 0, "NAME",
	 "sample what COMMAND allocates and frees, by what it loads: malloc (the C library's), "
	 "python (Python objects and buffers), node (JavaScript objects); java: outcome of Java's "
	 "samples"},
	{"malloc", 0, OPTION_FLAG, offsetof(struct record_options, malloc), 0, 0, NULL,
	 "the same as --agent malloc"},
	{"no-writes", 0, OPTION_FLAG, offsetof(struct record_options, no_writes), 0, 0, NULL,
	 "do not write to programs' memory, so samplers stay off"},
	{"writes", 0, OPTION_FLAG, offsetof(struct record_options, writes), 0, 0, NULL,
	 "also write to programs' memory with --system and --cgroup"},
	{"verbose", 'v', OPTION_COUNT, offsetof(struct record_options, verbose), 0, 0, NULL,
	 "print each step with its time; twice: also the kernel's messages"},
	{0},
};

const struct record_options record_defaults = {
	.output = OUTPUT_DEFAULT,
	.frequency = NOT_GIVEN,
	.ceiling = CEILING_DEFAULT,
	.push = {.seconds = 300},
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
};

static bool complete_number(uint64_t *number, uint64_t usual)
{
	bool given = *number != NOT_GIVEN;

	*number = given ? *number : usual;
	return given;
}

/* Parses --runtime. An unknown name is reported; a negative errno. */
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
		if (!runtime || !runtime->n_places) {
			log_error("--runtime %s: unknown; %s", name, runtime_help);
			return -EINVAL;
		}
		*mask |= UINT32_C(1) << runtime->id;
	}
	return 0;
}

/* With the path, since the file would not be found by its name alone. */
static void advise_preload(const struct record_options *options)
{
	const char *variable, *path = agent_file(options->agent_kind);
	struct agent agent = {.fd = -1};
	struct invoker user;
	struct added_variable added;
	struct problem problem;

	if (!invoker_find(&user, &variable) &&
	    !agent_open(options->agent_kind, &user, &agent, &problem))
		path = agent.path;
	agent_variable(options->agent_kind, path, &added);
	log_error("--agent %s: only for a COMMAND that gcprof starts; it is too late for a running "
		  "program. To record one later, start it with %s=%s%s%s",
		  options->agent, added.name, strchr(added.text, ' ') ? "'" : "", added.text,
		  strchr(added.text, ' ') ? "'" : "");
	agent_close(&agent);
}

static int check_agent(struct record_options *options, bool attaches)
{
	if (options->malloc && options->agent) {
		log_error("--malloc and --agent: use only one agent");
		return -EINVAL;
	}
	if (options->malloc)
		options->agent = "malloc";
	options->agent_kind = options->agent ? agent_find(options->agent) : NULL;
	if (options->agent && !options->agent_kind) {
		log_error("--agent %s: malloc, python, java or node", options->agent);
		return -EINVAL;
	}
	if (attaches && options->agent_kind && agent_attaches(options->agent_kind) &&
	    !options->pids) {
		log_error("--agent %s: only with -p or a COMMAND", options->agent);
		return -EINVAL;
	}
	if (attaches && options->agent_kind && !agent_attaches(options->agent_kind)) {
		advise_preload(options);
		return -EINVAL;
	}
	return 0;
}

/*
 * All processes of -p as one list. Numbers behind it belong to it: -p $(pidof java). *words: the
 * rest, which is the command.
 */
static int join_pids(struct record_options *options, char **words)
{
	const struct option_list *lists = &options->pid_lists;
	struct buffer joined = {0};
	size_t n_words = 0;
	uint64_t pid;
	int err = 0;

	while (words[n_words] && !parse_number(words[n_words], &pid))
		n_words++;
	if (!lists->count || words[n_words])
		n_words = 0;
	for (size_t i = 0; !err && i < lists->count + n_words; i++) {
		const char *text = i < lists->count ? lists->items[i] : words[i - lists->count];

		err = i ? buffer_append(&joined, ",", 1) : 0;
		err = err ? err : buffer_append(&joined, text, strlen(text));
	}
	if (n_words)
		words[0] = NULL;
	err = err || !lists->count ? err : buffer_append(&joined, "", 1);
	options->pids = (char *)joined.data;
	return err;
}

/* Waits need the ends of system calls, so not to trace these means not to trace waits. */
static int complete_off_cpu(struct record_options *options)
{
	options->off_cpu |= options->kernel_stacks;
	options->off_cpu_given = options->off_cpu;
	if (options->off_cpu && options->no_off_cpu) {
		log_error("use only one of --no-off-cpu, --off-cpu and --kernel-stacks");
		return -EINVAL;
	}
	if (options->syscall_mode != SYSCALLS_OFF && !options->no_off_cpu)
		options->off_cpu = 1;
	return 0;
}

int record_check_options(struct record_options *options, char **words)
{
	const char *ring = getenv("GCPROF_TEST_RING"), *rare = getenv("GCPROF_TEST_CEILING");
	const char *names = getenv("GCPROF_TEST_NAMES");
	int err = join_pids(options, words);
	int attach = (options->pids != NULL) + (options->system != 0) + (options->cgroup != NULL);

	if (err)
		return err;
	if (stack_mode_parse(options->stack, &options->stack_mode)) {
		log_error("--stack %s: the modes are rows, fp, copy and off", options->stack);
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
	if (names)
		intern_budget = strtoul(names, NULL, 10);
	options->frequency_given = complete_number(&options->frequency, FREQUENCY_DEFAULT);
	options->syscall_rate_given = complete_number(&options->syscall_rate, SYSCALL_RATE_DEFAULT);
	options->follow_children = strcmp(options->follow, "children") == 0;
	if (!options->follow_children && strcmp(options->follow, "none") != 0) {
		log_error("--follow %s: either children or none", options->follow);
		return -EINVAL;
	}
	if (runtimes_parse(options->runtimes, &options->runtime_mask))
		return -EINVAL;
	if (complete_off_cpu(options))
		return -EINVAL;
	if (attach > 1 || (attach && *words)) {
		log_error("use only one of a command, -p, --system and --cgroup");
		return -EINVAL;
	}
	if (check_agent(options, attach > 0))
		return -EINVAL;
	if (!attach && !*words) {
		log_error("no command to record\nTry 'gcprof record -- COMMAND [ARGUMENTS]', or -p "
			  "PID for a running one.");
		return -EINVAL;
	}
	return 0;
}
