/* SPDX-License-Identifier: BSD-2-Clause */
/* session.c: the BPF object: load, attach, stop. */
#include "session.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../../util/log.h"
#include "../machine/clock.h"
#include "session_parts.h"

#define SEARCHES_MAX 8 /* programs that fork without end would otherwise keep it busy */
#define SECOND_NS    UINT64_C(1000000000)

static void stream_refuse(struct session *session, enum stream stream, enum stream_why why,
			  const char *format, ...) __attribute__((format(printf, 4, 5)));

static void stream_refuse(struct session *session, enum stream stream, enum stream_why why,
			  const char *format, ...)
{
	struct stream_state *state = &session->streams[stream];
	va_list arguments;

	va_start(arguments, format);
	state->attached = false;
	state->why = why;
	vsnprintf(state->why_not, sizeof(state->why_not), format, arguments);
	va_end(arguments);
}

static void stream_unasked(struct session *session, enum stream stream)
{
	session->streams[stream] = (struct stream_state){.why = WHY_UNASKED};
}

/* Runs an iterator once over all threads of this pid namespace. */
int iterate_once(const struct bpf_link *iterator)
{
	char nothing[64];
	ssize_t n;
	int fd = bpf_iter_create(bpf_link__fd(iterator));

	if (fd < 0)
		return fd;
	/* The program prints nothing; reading runs it. */
	do
		n = read(fd, nothing, sizeof(nothing));
	while (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)));
	n = n < 0 ? -errno : 0;
	close(fd);
	return (int)n;
}

/* --- loading ----------------------------------------------------------------- */

static int find_own_code(struct session *session)
{
	int err = own_code_create(&session->own_code);
	struct bpf_program *program;

	bpf_object__for_each_program(program, session->skeleton->obj)
		err = err ? err : own_code_add_program(session->own_code, program);
	return err;
}

int session_open(const struct record_options *options, struct session **out,
		 struct problem *problem)
{
	struct session *session = calloc(1, sizeof(*session));
	int err = -ENOMEM, n_cpus = libbpf_num_possible_cpus();

	if (!session)
		goto out;
	n_cpus = n_cpus < 1 ? 1 : n_cpus;
	session->multi = attach_multi_supported();
	session->cpu_events = cpu_events_create(n_cpus);
	if (!session->cpu_events)
		goto out;
	/* The process starts while the programs are loaded. */
	err = attach_create(session->multi, &session->probes);
	if (!err)
		err = setup_load(options, session->multi, n_cpus, &session->skeleton);
	if (!err)
		err = find_own_code(session);
	if (!err)
		err = attach_begin(session->probes, session->skeleton->progs.probe_fired,
				   bpf_map__fd(session->skeleton->maps.probe_places),
				   session->skeleton->bss->links_of,
				   session->skeleton->progs.locked_iterate);
out:
	if (err) {
		const char *advice = problem_advice(err);

		session_free(session);
		return problem_set(problem, err, "the kernel does not load the BPF programs: %s%s",
				   strerror(-err), *advice ? advice : " (-vv shows why)");
	}
	*out = session;
	return 0;
}

/* --- the target set ---------------------------------------------------- */

int session_find_threads(struct session *session)
{
	uint32_t before;
	int err = 0, turns = 0;

	session->moved = session->skeleton->bss->processes_moved;
	do {
		before = session->skeleton->bss->threads_met;
		err = iterate_once(session->threads);
	} while (!err && session->skeleton->bss->threads_met != before && ++turns < SEARCHES_MAX);
	return err;
}

int session_find_moved(struct session *session)
{
	if (session->skeleton->bss->processes_moved == session->moved)
		return 0;
	return session_find_threads(session);
}

int session_add_targets(struct session *session, const pid_t *pids, size_t count, bool armed)
{
	const struct target_entry entry = {.flags = armed ? TASK_ARMED : TASK_ACTIVE};
	int fd = bpf_map__fd(session->skeleton->maps.targets), err = 0;

	for (size_t i = 0; !err && i < count; i++) {
		uint32_t key = (uint32_t)pids[i];

		err = bpf_map_update_elem(fd, &key, &entry, BPF_ANY);
	}
	return err ? err : session_find_threads(session);
}

int session_target(struct session *session, pid_t pid, struct target_entry *out)
{
	int fd = bpf_map__fd(session->skeleton->maps.targets);
	uint32_t key = (uint32_t)pid;
	int err = bpf_map_lookup_elem(fd, &key, out);

	if (err || out->process)
		return err;
	/* The next process with this pid is another one. */
	bpf_map_delete_elem(fd, &key);
	return -ESRCH;
}

bool session_has_targets(const struct session *session)
{
	uint32_t first;

	return bpf_map_get_next_key(bpf_map__fd(session->skeleton->maps.processes), NULL, &first) ==
	       0;
}

/* --- attaching --------------------------------------------------------------- */

static int attach_program(struct session *session, struct bpf_program *program)
{
	struct bpf_link *link = bpf_program__attach(program);

	if (!link)
		return -errno;
	session->links[session->n_links++] = link;
	return 0;
}

/* Attaches the tracking of processes, and creates the iterators. */
static int attach_process(struct session *session, struct problem *problem)
{
	const struct {
		struct bpf_program *program;
		struct bpf_link **link; /* to run it, or NULL */
	} programs[] = {
		{session->skeleton->progs.process_fork, NULL},
		{session->skeleton->progs.process_exec, NULL},
		{session->skeleton->progs.process_exit, NULL},
		{session->skeleton->progs.process_rename, NULL},
		{session->skeleton->progs.oom_victim, NULL},
		{session->skeleton->progs.text_replaced, &session->stops},
		{session->skeleton->progs.cgroup_moved, NULL},
		{session->skeleton->progs.cgroup_born, NULL},
		{session->skeleton->progs.cgroup_iterate, &session->threads},
		{session->skeleton->progs.target_iterate, &session->threads},
		{session->skeleton->progs.usage_iterate, &session->usage},
		{session->skeleton->progs.rest_iterate, &session->rest},
		{session->skeleton->progs.pause_iterate, &session->pause},
	};

	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		struct bpf_program *program = programs[i].program;
		int err;

		if (!bpf_program__autoload(program))
			continue;
		if ((err = attach_program(session, program)))
			return problem_set(problem, err, "processes cannot be followed: %s: %s%s",
					   bpf_program__name(program), strerror(-err),
					   problem_advice(err));
		if (programs[i].link)
			*programs[i].link = session->links[session->n_links - 1];
	}
	session->streams[STREAM_PROCESS].attached = true;
	return 0;
}

/* Also where a tracing window begins or ends. */
uint64_t session_traced_cpu(const struct session *session)
{
	const struct timespec least = {.tv_nsec = 1};

	if (!session->cpu)
		return 0;
	/* After a sleep, the run queue's clock is up to date (bpf/call_cpu.bpf.c). */
	nanosleep(&least, NULL);
	iterate_once(session->cpu);
	return session->skeleton->bss->traced_ns;
}

void session_detach_calls(struct session *session)
{
	struct gcprof_bpf *skeleton = session->skeleton;

	bpf_link__destroy(skeleton->links.syscall_exit);
	bpf_link__destroy(skeleton->links.syscall_enter);
	skeleton->links.syscall_exit = skeleton->links.syscall_enter = NULL;
}

uint64_t session_begin_calls(struct session *session)
{
	uint64_t now = clock_now();

	session->calls.begun = session->skeleton->bss->calls_opened = now;
	return now;
}

int session_trace_calls(struct session *session)
{
	struct gcprof_bpf *skeleton = session->skeleton;
	struct call_tracing *calls = &session->calls;
	int err;

	skeleton->links.syscall_exit = bpf_program__attach(skeleton->progs.syscall_exit);
	if (skeleton->links.syscall_exit && calls->counted)
		skeleton->links.syscall_enter = bpf_program__attach(skeleton->progs.syscall_enter);
	if (!skeleton->links.syscall_exit || (calls->counted && !skeleton->links.syscall_enter)) {
		err = -errno;
		session_detach_calls(session);
		return err;
	}
	if (calls->ended)
		session_traced_cpu(session);
	session_begin_calls(session);
	calls->on = true;
	if (!calls->ended)
		return 0;
	__atomic_fetch_add(&skeleton->bss->calls_epoch, 1, __ATOMIC_RELEASE);
	return 0;
}

void session_close_window(struct session *session)
{
	session->skeleton->bss->calls_closing = 1;
	session_traced_cpu(session);
	session->skeleton->bss->calls_closing = 0;
	__atomic_fetch_add(&session->skeleton->bss->calls_epoch, 1, __ATOMIC_RELEASE);
	session->calls.on = false;
}

void session_leave_calls(struct session *session)
{
	session_close_window(session);
	session->calls.ended = clock_now();
	session_detach_calls(session);
}

struct call_tracing *session_calls(struct session *session)
{
	return &session->calls;
}

/* Waits need the end of calls too: a wait in a call is reported when the call ends. */
static void attach_calls(struct session *session, const struct record_options *options)
{
	int err = 0;

	if (bpf_program__autoload(session->skeleton->progs.call_cpu_iterate))
		session->cpu =
			bpf_program__attach_iter(session->skeleton->progs.call_cpu_iterate, NULL);
	session->calls.counted = options->syscall_mode != SYSCALLS_OFF;
	session->calls.path_ns = -clock_call_ns();
	if (session->calls.counted || options->off_cpu)
		err = session_trace_calls(session);
	session->calls.path_ns += clock_call_ns();
	if (!err && options->off_cpu)
		err = session_trace_waits(session);
	session->streams[STREAM_SYSCALL].attached = !err;
	session->streams[STREAM_SCHED].attached = !err;
	for (int i = 0; err && i < 2; i++)
		stream_refuse(session, i ? STREAM_SCHED : STREAM_SYSCALL, WHY_REFUSED,
			      "the tracepoints cannot be attached: %s", strerror(-err));
	if (options->syscall_mode == SYSCALLS_OFF)
		stream_unasked(session, STREAM_SYSCALL);
	if (!options->off_cpu)
		stream_unasked(session, STREAM_SCHED);
}

/* Starts the timers, and the reporting of CPU time that they divide. */
static int start_timers(struct session *session, uint64_t frequency)
{
	const struct gcprof_bpf *skeleton = session->skeleton;
	int err = attach_program(session, skeleton->progs.thread_leaves);

	if (err)
		return err;
	session->tick_ns = cpu_events_tick_ns();
	log_verbose("a timer interrupt takes %.1f us", session->tick_ns / 1e3);
	session->ran = bpf_program__attach_iter(skeleton->progs.ran_iterate, NULL);
	if (!session->ran)
		return -errno;
	return cpu_events_time(session->cpu_events, skeleton->progs.cpu_tick,
			       SECOND_NS / frequency);
}

static void attach_timers(struct session *session, uint64_t frequency)
{
	int err;

	if (!frequency) {
		stream_unasked(session, STREAM_CPU);
		return;
	}
	err = start_timers(session, frequency);
	session->streams[STREAM_CPU].attached = !err;
	session->frequency = err ? 0 : frequency;
	if (err)
		stream_refuse(session, STREAM_CPU, WHY_REFUSED,
			      "timers cannot be started on every CPU: %s", strerror(-err));
}

/* Faults are counted once handled, separately with and without I/O. */
static void attach_faults(struct session *session, bool wanted)
{
	static const uint64_t kinds[] = {PERF_COUNT_SW_PAGE_FAULTS_MIN,
					 PERF_COUNT_SW_PAGE_FAULTS_MAJ};
	int err = 0;

	if (!wanted) {
		stream_unasked(session, STREAM_FAULT);
		return;
	}
	for (size_t i = 0; !err && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		const struct perf_event_attr each = {
			.type = PERF_TYPE_SOFTWARE,
			.size = sizeof(each),
			.config = kinds[i],
			.sample_period = 1,
		};
		err = cpu_events_attach(session->cpu_events, session->skeleton->progs.fault_taken,
					&each);
	}
	session->streams[STREAM_FAULT].attached = !err;
	if (err)
		stream_refuse(session, STREAM_FAULT, WHY_REFUSED,
			      "page faults cannot be watched on every CPU: %s", strerror(-err));
}

int session_attach(struct session *session, const struct record_options *options,
		   struct problem *problem)
{
	int err = attach_process(session, problem);

	if (err)
		return err;
	attach_calls(session, options);
	attach_timers(session, options->frequency);
	attach_faults(session, options->faults);
	return 0;
}

struct attach *session_probes(struct session *session)
{
	return session->probes;
}

static bool stream_update(struct session *session, enum stream stream, bool attached,
			  enum stream_why why, const char *why_not)
{
	struct stream_state before = session->streams[stream];

	if (attached)
		session->streams[stream] = (struct stream_state){.attached = true};
	else
		stream_refuse(session, stream, why, "%s", why_not);
	return before.attached != attached ||
	       strcmp(before.why_not, session->streams[stream].why_not) != 0;
}

bool session_probes_attached(struct session *session, enum stream_why why, const char *why_not)
{
	const struct attach *probes = session->probes;
	bool changed;

	changed = stream_update(session, STREAM_ALLOC, attach_sites(probes, PROBE_sample) > 0, why,
				why_not);
	changed |= stream_update(session, STREAM_GC,
				 attach_sites(probes, PROBE_gc_begin) > 0 &&
					 attach_sites(probes, PROBE_gc_end) > 0,
				 why, why_not);
	return changed;
}

/* --- reading ----------------------------------------------------------------- */

const struct stream_state *session_stream(const struct session *session, enum stream stream)
{
	return &session->streams[stream];
}

uint32_t session_user(const struct session *session)
{
	const volatile struct gcprof_bpf__bss *bss = session->skeleton->bss;

	return bss->users_differ ? USER_NONE : session->skeleton->data->user_met;
}

struct own_code *session_own_code(const struct session *session)
{
	return session->own_code;
}

int session_ring_fd(const struct session *session, enum session_ring ring)
{
	return bpf_map__fd(setup_ring_map(session->skeleton, ring));
}

int session_table_fd(const struct session *session, enum session_table table)
{
	const struct gcprof_bpf *skeleton = session->skeleton;
	const struct bpf_map *const maps[] = {
		[TABLE_PROCESSES] = skeleton->maps.processes,
		[TABLE_SYSCALLS] = skeleton->maps.syscall_totals,
		[TABLE_CALL_CPUS] = skeleton->maps.call_cpus,
		[TABLE_LOSSES] = skeleton->maps.losses,
		[TABLE_COSTS] = skeleton->maps.costs,
		[TABLE_FIBERS] = skeleton->maps.fiber_paths,
		[TABLE_TEXTS] = skeleton->maps.probed_text,
		[TABLE_FATES] = skeleton->maps.fate_tables,
	};

	return bpf_map__fd(maps[table]);
}

struct unwind_fds session_unwind_fds(const struct session *session)
{
	const struct gcprof_bpf *skeleton = session->skeleton;

	return (struct unwind_fds){
		.of = bpf_map__fd(skeleton->maps.unwind_of),
		.tables = bpf_map__fd(skeleton->maps.unwind_tables),
		.pages = bpf_map__fd(skeleton->maps.unwind_pages),
		.rules = bpf_map__fd(skeleton->maps.unwind_rules),
		.chunks = bpf_map__fd(skeleton->maps.unwind_chunks),
		.hotspot_files = bpf_map__fd(skeleton->maps.hotspot_files),
		.interpreters = bpf_map__fd(skeleton->maps.interpreters),
		.processes = bpf_map__fd(skeleton->maps.processes),
		.first_chunk = bpf_map__fd(skeleton->maps.unwind_first_chunk),
	};
}

const char *session_kernel_name(struct session *session, uint64_t address)
{
	struct kernel_name *name = &session->skeleton->bss->kernel_name;
	LIBBPF_OPTS(bpf_test_run_opts, none);

	name->address = address;
	if (bpf_prog_test_run_opts(bpf_program__fd(session->skeleton->progs.name_kernel), &none))
		return NULL;
	name->text[strcspn(name->text, " ")] = 0;
	return strncmp(name->text, "0x", 2) ? name->text : NULL;
}

/* Runs of a program that the kernel skipped, because another was in progress on the CPU. */
static uint64_t count_skipped(const struct bpf_program *program)
{
	struct bpf_prog_info info = {0};
	uint32_t size = sizeof(info);
	int fd = bpf_program__fd(program);

	return fd >= 0 && !bpf_obj_get_info_by_fd(fd, &info, &size) ? info.recursion_misses : 0;
}

void session_add_skipped(const struct session *session, uint64_t counts[LOSS_KERNEL_MAX])
{
	const struct gcprof_bpf *skeleton = session->skeleton;
	const struct {
		const struct bpf_program *program;
		enum loss loss;
	} programs[] = {
		{skeleton->progs.syscall_enter, LOSS_SYSCALL_SKIPPED},
		{skeleton->progs.syscall_exit, LOSS_SYSCALL_SKIPPED},
		{skeleton->progs.process_fork, LOSS_PROCESS_SKIPPED},
		{skeleton->progs.process_exec, LOSS_PROCESS_SKIPPED},
		{skeleton->progs.process_exit, LOSS_PROCESS_SKIPPED},
		{skeleton->progs.process_rename, LOSS_PROCESS_SKIPPED},
		{skeleton->progs.cgroup_moved, LOSS_PROCESS_SKIPPED},
		{skeleton->progs.cgroup_born, LOSS_PROCESS_SKIPPED},
	};

	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
		counts[programs[i].loss] += count_skipped(programs[i].program);
}

void session_slow_timer(struct session *session, uint32_t stands)
{
	if (!session->frequency)
		return;
	/* This restarts each timer: its next tick stands for the time from now on. */
	cpu_events_period(session->cpu_events, session->skeleton->progs.cpu_tick,
			  SECOND_NS / session->frequency * stands);
	session->skeleton->data->tick_stands = stands;
}

void session_draw_timer(struct session *session)
{
	const uint32_t stands = session->skeleton->data->tick_stands;

	if (session->frequency)
		cpu_events_draw(session->cpu_events, session->skeleton->progs.cpu_tick,
				SECOND_NS / session->frequency * stands);
}

int session_report_ran(struct session *session, bool usage)
{
	int err = session->ran ? iterate_once(session->ran) : 0;

	if (usage)
		session_traced_cpu(session);
	return err || !usage ? err : iterate_once(session->usage);
}

double session_tick_ns(const struct session *session)
{
	return session->tick_ns;
}

void session_short_calls(struct session *session, uint32_t rate, uint64_t below_ns)
{
	session->skeleton->data->short_rate = rate;
	session->skeleton->bss->short_ns = below_ns;
}

void session_know_fibers(struct session *session)
{
	session->skeleton->bss->fibers_known = 1;
}

void session_know_locks(struct session *session)
{
	session->skeleton->bss->locks_known = 1;
}

/* --- the end ----------------------------------------------------------------- */

void session_stop(struct session *session)
{
	session->skeleton->data->recording = 0;
	session_traced_cpu(session);
	if (session->rest)
		iterate_once(session->rest);
}

void session_free(struct session *session)
{
	if (!session)
		return;
	for (size_t i = 0; i < session->n_links; i++)
		bpf_link__destroy(session->links[i]);
	session_leave_waits(session);
	cpu_events_free(session->cpu_events);
	bpf_link__destroy(session->ran);
	bpf_link__destroy(session->cpu);
	attach_free(session->probes);
	gcprof_bpf__destroy(session->skeleton);
	own_code_free(session->own_code);
	free(session);
}
