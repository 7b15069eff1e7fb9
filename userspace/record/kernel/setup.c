/* SPDX-License-Identifier: BSD-2-Clause */
/* setup.c: sets up the BPF object, and loads its programs on two CPUs at once. */
#include "setup.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "attach.h"
#include "gcprof.skel.h"
#include "kernel_btf.h"
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
enum { CPUS_A_RING = 8, RING_TIMES_MAX = 8, PROCESSES_WHOLE = 1 << 18, TOTALS_WHOLE = 1 << 20 };

struct bpf_map *setup_ring_map(const struct gcprof_bpf *skeleton, enum session_ring ring)
{
	return *(struct bpf_map *const *)(const void *)((const char *)skeleton + rings[ring].map);
}

static void set_config(struct gcprof_bpf *skeleton, const struct record_options *options)
{
	const struct stack_ways *ways = stack_mode_ways(options->stack_mode);
	struct bpf_config *config = (struct bpf_config *)&skeleton->rodata->config;

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
	config->long_rate = options->rare_rate ? options->rare_rate : SYSCALL_LONG_RATE;
	config->rare_rate = options->rare_rate ? options->rare_rate : RARE_RATE;
	config->fault_rate = (uint32_t)options->fault_rate;
	config->follow_children = options->follow_children;
	config->whole = options->system || options->cgroup_id;
	config->cgroup = options->cgroup_id;
	config->recorder = (uint32_t)getpid();
	config->viewer = viewer_find();
	config->shut_out = config->viewer && viewer_is_shut_out();
}

/* --- preemption: see bpf/preempt.h ----------------------------------------------- */

struct preempt_functions {
	int disable, enable; /* BTF ids of the kernel's functions; not positive: missing */
	bool tracepoints;    /* programs of tracepoints need them */
};

/* The functions exist since Linux 6.10, but programs may call global functions between them only
 * since 6.15. Before 7.0 the kernel itself disables preemption for tracepoints. */
static struct preempt_functions find_preempt_functions(void)
{
	static struct preempt_functions functions; /* each object needs them */
	struct utsname name;
	unsigned major = 0, minor = 0;

	if (functions.disable || uname(&name) ||
	    sscanf(name.release, "%u.%u", &major, &minor) != 2 || major < 6 ||
	    (major == 6 && minor < 15))
		return functions;
	functions.tracepoints = major > 6;
	kernel_btf_functions(
		(const char *const[]){"bpf_preempt_disable", "bpf_preempt_enable", NULL},
		(int *const[]){&functions.disable, &functions.enable});
	return functions;
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

	config->preempt_off = functions.disable > 0 && functions.enable > 0;
	bpf_object__for_each_program(program, skeleton->obj)
	{
		const bool tracepoint = bpf_program__expected_attach_type(program) ==
					BPF_TRACE_RAW_TP;

		set_preempt_calls(program, &functions,
				  config->preempt_off && (functions.tracepoints || !tracepoint));
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
	int err = 0;

	if (!config->rows) {
		bpf_map__set_max_entries(skeleton->maps.unwind_pages, 1);
		bpf_map__set_max_entries(skeleton->maps.unwind_rules, 1);
		bpf_map__set_max_entries(skeleton->maps.walk_rules, 1);
		bpf_map__set_max_entries(skeleton->maps.bytecode_rooms, 1);
	}
	if (config->copy_bytes)
		bpf_map__set_max_entries(skeleton->maps.copy_rooms, (uint32_t)n_cpus * COPY_ROOMS);
	if (config->whole) {
		err = bpf_map__set_max_entries(skeleton->maps.processes, PROCESSES_WHOLE);
		err = err ? err
			  : bpf_map__set_max_entries(skeleton->maps.call_cpus, PROCESSES_WHOLE);
		err = err ? err
			  : bpf_map__set_max_entries(skeleton->maps.syscall_totals, TOTALS_WHOLE);
	}
	return err;
}

/* Not thread-safe. */
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
 * parallel, but libbpf loads those of an object one after the other. So the object is opened three
 * times: once for the maps, and for each part of the programs, which uses these maps.
 */

enum { PROGRAMS = sizeof(((struct gcprof_bpf *)0)->progs) / sizeof(struct bpf_program *) };

struct part {
	struct gcprof_bpf *skeleton;
	int err;
};

static struct bpf_program **programs_of(struct gcprof_bpf *skeleton)
{
	return (struct bpf_program **)&skeleton->progs;
}

/* The part of a program: both take the verifier about the same time. */
static int part_of(const struct gcprof_bpf *skeleton, const struct bpf_program *program)
{
	return program == skeleton->progs.probe_fired || program == skeleton->progs.process_exec ||
	       program == skeleton->progs.process_exit;
}

/* Without programs the kernel's BTF is not needed, which takes libbpf long to read: it gets an
 * empty one. */
static int load_maps(const struct record_options *options, bool multi, int n_cpus,
		     struct gcprof_bpf **out)
{
	struct btf *btf = btf__new_empty();
	int fd = memfd_create("btf", MFD_CLOEXEC), err = -ENOMEM;
	char path[32];
	LIBBPF_OPTS(bpf_object_open_opts, open, .btf_custom_path = path);
	const void *data;
	uint32_t size;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	data = btf ? btf__raw_data(btf, &size) : NULL;
	if (data && fd >= 0 && write(fd, data, size) == (ssize_t)size)
		*out = gcprof_bpf__open_opts(&open);
	if (*out)
		err = set_up(*out, options, multi, n_cpus);
	for (int i = 0; !err && i < PROGRAMS; i++)
		bpf_program__set_autoload(programs_of(*out)[i], false);
	err = err ? err : gcprof_bpf__load(*out);
	if (fd >= 0)
		close(fd);
	btf__free(btf);
	return err;
}

static int share_maps(const struct gcprof_bpf *from, struct gcprof_bpf *to)
{
	struct bpf_map *map = NULL, *shared = NULL;
	int err = 0;

	while (!err && (map = bpf_object__next_map(to->obj, map)) &&
	       (shared = bpf_object__next_map(from->obj, shared)))
		err = bpf_map__reuse_fd(map, bpf_map__fd(shared));
	return err;
}

static void *load_part(void *context)
{
	struct part *part = context;

	part->err = gcprof_bpf__load(part->skeleton);
	return NULL;
}

int setup_load(const struct record_options *options, bool multi, int n_cpus, struct loaded *out)
{
	struct part parts[SETUP_PARTS] = {{0}};
	int err = load_maps(options, multi, n_cpus, &out->skeleton);
	pthread_t other;

	for (int i = 0; !err && i < SETUP_PARTS; i++) {
		struct gcprof_bpf *skeleton = gcprof_bpf__open();

		if (!skeleton)
			return -ENOMEM;
		out->parts[i] = parts[i].skeleton = skeleton;
		err = set_up(skeleton, options, multi, n_cpus);
		for (int j = 0; j < PROGRAMS; j++)
			if (part_of(skeleton, programs_of(skeleton)[j]) != i)
				bpf_program__set_autoload(programs_of(skeleton)[j], false);
		err = err ? err : share_maps(out->skeleton, skeleton);
	}
	err = err ? err : -pthread_create(&other, NULL, load_part, &parts[1]);
	if (err)
		return err;
	load_part(&parts[0]);
	pthread_join(other, NULL);
	for (int i = 0; i < PROGRAMS; i++)
		for (int j = 0; j < SETUP_PARTS; j++)
			if (bpf_program__autoload(programs_of(out->parts[j])[i]))
				programs_of(out->skeleton)[i] = programs_of(out->parts[j])[i];
	return parts[0].err ? parts[0].err : parts[1].err;
}

void setup_free(struct loaded *loaded)
{
	for (int i = 0; i < SETUP_PARTS; i++)
		gcprof_bpf__destroy(loaded->parts[i]);
	gcprof_bpf__destroy(loaded->skeleton);
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
