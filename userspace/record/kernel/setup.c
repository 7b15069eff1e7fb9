/* SPDX-License-Identifier: BSD-2-Clause */
/* setup.c: sets up the BPF object, and loads its programs on several CPUs at once. */
#include "setup.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attach.h"
#include "../machine/capabilities.h"
#include "../machine/subuids.h"
#include "../../../bpf/shares.h"
#include "gcprof.skel.h"
#include "needs.h"
#include "../machine/viewer.h"
#include "../../util/log.h"

/* Sizes are powers of two: enough for what arrives between two rounds of the recorder. */
static const struct {
	enum stream stream;
	uint32_t bytes;
	size_t map;     /* offset of its pointer in the skeleton */
	bool has_dumps; /* records may carry stack dumps */
} rings[RINGS] = {
#define RING(name) offsetof(struct gcprof_bpf, maps.ring_##name)
	[RING_ALLOC] = {STREAM_ALLOC, 8u << 20, RING(alloc), true},
	[RING_GC] = {STREAM_GC, 1u << 20, RING(gc), false},
	[RING_CPU] = {STREAM_CPU, 8u << 20, RING(cpu), true},
	[RING_SYSCALL] = {STREAM_SYSCALL, 8u << 20, RING(syscall), true},
	[RING_SCHED] = {STREAM_SCHED, 8u << 20, RING(sched), true},
	[RING_PROCESS] = {STREAM_PROCESS, 2u << 20, RING(process), false},
	[RING_FAULT] = {STREAM_FAULT, 8u << 20, RING(fault), true},
#undef RING
};

/* For a ring with stack dumps: a tenth of a second of 2000 samples takes 3 MiB. */
#define DUMPS_BYTES    (32u << 20)
#define RING_BYTES_MIN 4096 /* an unused ring takes a page */
#define COPY_ROOMS     4    /* per CPU, as many as scratches */

/* For whole machines and cgroups: CPUs served by a ring of the size above, and limits. */
enum { CPUS_A_RING = 8, RING_TIMES_MAX = 8 };

struct bpf_map *setup_ring_map(const struct gcprof_bpf *skeleton, enum session_ring ring)
{
	return *(struct bpf_map *const *)(const void *)((const char *)skeleton + rings[ring].map);
}

static uint32_t processes_max(bool whole)
{
	const char *fewer = getenv("GCPROF_TEST_PROCESSES");

	return fewer   ? (uint32_t)strtoul(fewer, NULL, 10)
	       : whole ? PROCESSES_WHOLE
		       : PROCESSES_CHOSEN;
}

static void set_users(struct gcprof_bpf *skeleton)
{
	size_t n;
	const struct user_range *ranges = subuids(&n);

	memcpy((void *)(uintptr_t)skeleton->rodata->user_ranges, ranges, n * sizeof(*ranges));
	skeleton->rodata->n_user_ranges = (uint32_t)n;
}

static void set_config(struct gcprof_bpf *skeleton, const struct record_options *options)
{
	const struct stack_ways *ways = stack_mode_ways(options->stack_mode);
	struct bpf_config *config = (struct bpf_config *)&skeleton->rodata->config;

	set_users(skeleton);
	config->user_stacks = ways->walk;
	config->rows = ways->rows;
	/* Rows need dumps while they are being built. These are few, of programs that are starting,
	 * whose loaders have large buffers on the stack. */
	config->copy_bytes = ways->copy   ? (uint32_t)options->stack_bytes & ~7u
			     : ways->rows ? COPY_BYTES_MAX
					  : 0;
	config->copy_always = ways->copy;
	config->syscall_rate = (uint32_t)options->syscall_rate;
	skeleton->data->short_rate = config->syscall_rate;
	config->syscalls = options->syscall_mode;
	config->syscall_args = !options->no_args;
	config->syscall_slow_ns = options->syscall_slow;
	config->syscall_stack_ns = options->syscall_stacks ? 0 : SYSCALL_STACK_NS;
	config->waits = options->off_cpu != 0;
	config->kernel_stacks = options->kernel_stacks != 0;
	config->wait_min_ns = options->off_cpu_min;
	config->wait_rate = OFF_CPU_RATE;
	config->measured = options->overhead_max > 0;
	config->timers = options->frequency != 0;
	config->signals_all = capabilities_kill();
	config->long_rate = options->rare_rate ? options->rare_rate : SYSCALL_LONG_RATE;
	config->rare_rate = options->rare_rate ? options->rare_rate : RARE_RATE;
	config->fault_rate = (uint32_t)options->fault_rate;
	config->follow_children = options->follow_children;
	config->whole = options->system || options->cgroup_id;
	config->processes = processes_max(config->whole);
	config->cgroup = options->cgroup_id;
	config->recorder = (uint32_t)getpid();
	config->viewer = viewer_find();
	config->shut_out = config->viewer && viewer_is_shut_out();
}

/* --- preemption: see bpf/preempt.h ----------------------------------------------- */

struct preempt_functions {
	int disable, enable;      /* BTF ids of the kernel's functions; not positive: missing */
	bool probes, tracepoints; /* whose programs call them */
};

static struct preempt_functions find_preempt_functions(void)
{
	struct preempt_functions found = {0};
	int tracepoint = 0;

	kernel_btf_find((const char *const[]){"bpf_preempt_disable", "bpf_preempt_enable",
					      "btf_trace_sys_enter", NULL},
			(int *const[]){&found.disable, &found.enable, &tracepoint});
	found.probes = found.disable > 0 && found.enable > 0 &&
		       needs_calls_allowed(found.disable, found.enable);
	found.tracepoints = found.probes && tracepoint > 0 && needs_sleep_allowed(tracepoint);
	return found;
}

/* Replaces the placeholder calls with calls of the kernel's functions, or with nothing. */
static void set_preempt_calls(struct bpf_program *program,
			      const struct preempt_functions *functions, bool guarded)
{
	/* libbpf has no other way to change them before relocation. */
	struct bpf_insn *instructions = (struct bpf_insn *)(uintptr_t)bpf_program__insns(program);

	for (size_t i = 0; i < bpf_program__insn_cnt(program); i++) {
		struct bpf_insn *call = &instructions[i];

		if (call->code != (BPF_JMP | BPF_CALL) || call->src_reg ||
		    (call->imm != PREEMPT_DISABLE_CALL && call->imm != PREEMPT_ENABLE_CALL))
			continue;
		if (guarded)
			*call = (struct bpf_insn){
				.code = BPF_JMP | BPF_CALL,
				.src_reg = BPF_PSEUDO_KFUNC_CALL,
				.imm = call->imm == PREEMPT_DISABLE_CALL ? functions->disable
									 : functions->enable,
			};
		else
			*call = (struct bpf_insn){.code = BPF_JMP | BPF_JA};
	}
}

static void set_preemption(struct gcprof_bpf *skeleton)
{
	struct bpf_config *config = (struct bpf_config *)&skeleton->rodata->config;
	const struct preempt_functions functions = find_preempt_functions();
	struct bpf_program *program;

	config->preempt_off = functions.probes;
	bpf_object__for_each_program(program, skeleton->obj)
	{
		const bool tracepoint = bpf_program__expected_attach_type(program) ==
					BPF_TRACE_RAW_TP;

		set_preempt_calls(program, &functions,
				  tracepoint ? functions.tracepoints : functions.probes);
	}
}

/* --- programs and maps ----------------------------------------------------------- */

/* Programs that are not needed are not loaded, to save the kernel's time. */
static void choose_programs(struct gcprof_bpf *skeleton, const struct record_options *options)
{
	const bool calls = options->syscall_mode != SYSCALLS_OFF, waits = options->off_cpu;
	const bool cgroup = options->cgroup_id != 0;
	const struct {
		struct bpf_program *program;
		bool wanted;
	} programs[] = {
		{skeleton->progs.target_iterate, !cgroup},
		{skeleton->progs.cgroup_iterate, cgroup},
		{skeleton->progs.cgroup_moved, cgroup},
		{skeleton->progs.cgroup_born, cgroup},
		{skeleton->progs.sched_switch, waits},
		{skeleton->progs.sched_waking, waits},
		{skeleton->progs.syscall_enter, calls},
		{skeleton->progs.syscall_exit, calls || waits},
		{skeleton->progs.cpu_tick, options->frequency != 0},
		{skeleton->progs.ran_iterate, options->frequency != 0},
		{skeleton->progs.thread_leaves, options->frequency != 0},
		{skeleton->progs.fault_taken, options->faults},
		{skeleton->progs.oom_victim, options->when_oom},
		{skeleton->progs.usage_iterate, options->rotate || options->keep},
		{skeleton->progs.call_cpu_iterate, calls && options->overhead_max > 0},
	};

	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
		bpf_program__set_autoload(programs[i].program, programs[i].wanted);
}

/* Rings of a whole machine grow with its CPUs. */
static int size_rings(const struct gcprof_bpf *skeleton, const struct record_options *options,
		      int n_cpus)
{
	const bool copy = stack_mode_ways(options->stack_mode)->copy;
	const bool whole = options->system || options->cgroup_id;
	uint32_t times = 1;
	int err = 0;

	while (whole && times < RING_TIMES_MAX && times * CPUS_A_RING < (uint32_t)n_cpus)
		times *= 2;
	for (int ring = 0; !err && ring < RINGS; ring++) {
		uint32_t bytes = copy && rings[ring].has_dumps ? DUMPS_BYTES : rings[ring].bytes;

		if ((ring == RING_SCHED && !options->off_cpu) ||
		    (ring == RING_FAULT && !options->faults))
			bytes = RING_BYTES_MIN;
		bytes = rings[ring].stream == options->ring_stream ? options->ring_bytes
								   : bytes * times;
		err = bpf_map__set_max_entries(setup_ring_map(skeleton, (enum session_ring)ring),
					       bytes);
	}
	return err;
}

/* Arrays allocate at once, so unused ones are made small; hashes allocate on demand. */
static int size_tables(const struct gcprof_bpf *skeleton, int n_cpus)
{
	const volatile struct bpf_config *config = &skeleton->rodata->config;
	struct bpf_map *const by_process[] = {
		skeleton->maps.processes,     skeleton->maps.fiber_paths,
		skeleton->maps.call_cpus,     skeleton->maps.unwind_of,
		skeleton->maps.interpreters,  skeleton->maps.probed_text,
		skeleton->maps.stopped_texts,
	};
	int err = 0;

	if (!config->rows) {
		bpf_map__set_max_entries(skeleton->maps.unwind_pages, 1);
		bpf_map__set_max_entries(skeleton->maps.unwind_rules, 1);
		bpf_map__set_max_entries(skeleton->maps.walk_rules, 1);
		bpf_map__set_max_entries(skeleton->maps.bytecode_rooms, 1);
	}
	if (config->copy_bytes)
		bpf_map__set_max_entries(skeleton->maps.copy_rooms, (uint32_t)n_cpus * COPY_ROOMS);
	for (size_t i = 0; !err && i < sizeof(by_process) / sizeof(*by_process); i++)
		err = bpf_map__set_max_entries(by_process[i], config->processes);
	if (!err && config->whole)
		err = bpf_map__set_max_entries(skeleton->maps.syscall_totals, TOTALS_WHOLE);
	return err;
}

static int set_up(struct gcprof_bpf *skeleton, const struct record_options *options, bool multi,
		  int n_cpus)
{
	int err;

	set_config(skeleton, options);
	set_preemption(skeleton);
	choose_programs(skeleton, options);
	attach_prepare(skeleton->progs.probe_fired, multi);
	err = size_rings(skeleton, options, n_cpus);
	return err ? err : size_tables(skeleton, n_cpus);
}

/* --- loading --------------------------------------------------------------------- */

/*
 * The kernel's verifier takes most of the time until a program can start. It checks programs in
 * parallel, but libbpf loads them one after the other. Those of these sections take longest. When
 * libbpf is about to load one, a thread does that instead, and libbpf loads a program that does
 * nothing, whose descriptor later becomes that of the real one.
 */
static const struct {
	const char *name;
	enum bpf_prog_type type;
} heavy_sections[] = {
	{"uprobe", BPF_PROG_TYPE_KPROBE},
	{"perf_event", BPF_PROG_TYPE_PERF_EVENT},
};

enum { HEAVY_MAX = 4 }; /* programs of these sections */

/* A program that a thread loads. */
struct heavy {
	pthread_t thread;
	struct bpf_program *program;
	struct bpf_prog_load_opts how;
	struct bpf_insn *instructions; /* followed by what `how` says of functions */
	size_t count;
	int fd; /* or a negative errno */
};

static struct {
	struct heavy programs[HEAVY_MAX];
	size_t n;
} heavy;

static void *load_heavy(void *context)
{
	struct heavy *item = context;

	item->fd = bpf_prog_load(bpf_program__type(item->program), bpf_program__name(item->program),
				 "Dual BSD/GPL", item->instructions, item->count, &item->how);
	return NULL;
}

/* libbpf has relocated the instructions. Unless a thread can be had, it loads the program. */
static int begin_heavy(struct bpf_program *program, struct bpf_prog_load_opts *how, long cookie)
{
	struct bpf_insn nothing[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K},
		{.code = BPF_JMP | BPF_EXIT},
	};
	struct heavy *item = &heavy.programs[heavy.n];
	size_t bytes = bpf_program__insn_cnt(program) * sizeof(*item->instructions);
	size_t more = how->func_info_cnt * how->func_info_rec_size;

	(void)cookie;
	/* Only libbpf shows why the verifier refuses a program. */
	if (heavy.n == HEAVY_MAX || log_shows(LOG_DEBUG))
		return 0;
	*item = (struct heavy){
		.program = program, .how = *how, .instructions = malloc(bytes + more)};
	if (!item->instructions)
		return -ENOMEM;
	item->count = bpf_program__insn_cnt(program);
	memcpy(item->instructions, bpf_program__insns(program), bytes);
	item->how.func_info = memcpy(item->instructions + item->count, how->func_info, more);
	item->how.line_info_cnt = 0; /* the verifier would keep them right in each of its steps */
	if (pthread_create(&item->thread, NULL, load_heavy, item)) {
		free(item->instructions);
		return 0;
	}
	heavy.n++;
	how->func_info_cnt = how->line_info_cnt = 0;
	return bpf_program__set_insns(program, nothing, sizeof(nothing) / sizeof(nothing[0]));
}

static int end_heavy(int err)
{
	for (size_t i = 0; i < heavy.n; i++) {
		struct heavy *item = &heavy.programs[i];

		pthread_join(item->thread, NULL);
		free(item->instructions);
		if (item->fd < 0)
			err = err ? err : item->fd;
		else if (!err && dup3(item->fd, bpf_program__fd(item->program), O_CLOEXEC) < 0)
			err = -errno;
		if (item->fd >= 0)
			close(item->fd);
	}
	heavy.n = 0;
	return err;
}

/* For the whole process, and before the object is opened. */
static int watch_heavy(void)
{
	LIBBPF_OPTS(libbpf_prog_handler_opts, handler, .prog_prepare_load_fn = begin_heavy);
	static bool watched;

	for (size_t i = 0; !watched && i < sizeof(heavy_sections) / sizeof(heavy_sections[0]);
	     i++) {
		int id = libbpf_register_prog_handler(heavy_sections[i].name,
						      heavy_sections[i].type, 0, &handler);

		if (id < 0)
			return id;
	}
	watched = true;
	return 0;
}

int setup_load(const struct record_options *options, bool multi, int n_cpus,
	       struct gcprof_bpf **out)
{
	int err = watch_heavy();

	if (!err && !(*out = gcprof_bpf__open()))
		err = -errno;
	err = err ? err : set_up(*out, options, multi, n_cpus);
	return err ? err : end_heavy(gcprof_bpf__load(*out));
}

/* --- messages ----------------------------------------------------------------------------- */

static int print(enum libbpf_print_level level, const char *format, va_list arguments)
{
	enum log_level ours = level == LIBBPF_WARN ? LOG_VERBOSE : LOG_DEBUG;
	char *text = NULL, *line, *rest;

	if (!log_shows(ours))
		return 0;
	/* The reason for refusing a program arrives in many lines at once. */
	if (vasprintf(&text, format, arguments) >= 0) {
		for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
			log_print(ours, "%s", line);
	}
	free(text);
	return 0;
}

void setup_messages(void)
{
	libbpf_set_print(print);
}
