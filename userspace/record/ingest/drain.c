/* SPDX-License-Identifier: BSD-2-Clause */
/* drain.c: the rounds: drain rings, store events that are old enough, write figures each second. */
#include "drain.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../kernel/session.h"
#include "../machine/clock.h"
#include "../store/facts.h"
#include "../world/ahead.h"
#include "../world/files.h"
#include "../world/joins.h"
#include "arrival.h"
#include "../target/control.h"
#include "../target/heap_profiles.h"
#include "../target/name_tables.h"
#include "../target/switches.h"
#include "../../reader/worker.h"
#include "../../util/proc_file.h"
#include "flow.h"

#define SECOND_NS UINT64_C(1000000000)
#define FILES_NS  (2 * SECOND_NS)    /* wait for probes of mapped files */
#define WALKS_NS  UINT64_C(10000000) /* wait of a round for stack dumps */
#define WAIT_MS   10
#define SPLIT_NS  (2 * SECOND_NS)    /* wait of a split for names */
#define STORED_NS (SECOND_NS / 2)    /* wait of a second's figures for the events before them */
#define NAMES_NS  UINT64_C(50000000) /* for the first names; doubles, up to a second */

struct drain {
	struct drain_parts parts;
	struct rings *rings;
	struct world *world;
	struct snapshots *snapshots;
	struct flow *flow;
	bool left;               /* the last round did not empty all rings */
	uint64_t reached;        /* all events up to then were read; a ring may never be empty */
	uint64_t mappings_lost;  /* so far */
	uint64_t mappings_since; /* those since then may be lost if some are, ns */
	uint64_t next_second;
	uint64_t second; /* threads' CPU time was reported: its chunk ends here; 0: it has ended */
	uint64_t split;  /* a split: all events until then are to be written; 0: none */
	bool named;      /* names were requested since */
	uint64_t next_names, names_gap; /* 0: names are requested with each second's figures */
	struct heap_profiles *heaps;
	struct name_tables *tables;
	struct arrival arrival; /* of files and programs */
};

/* --- what the world needs ----------------------------------------------------------------- */

static uint64_t program_since(void *context, uint32_t process)
{
	const struct drain *drain = context;
	struct process_state state;

	return table_lookup(drain->parts.session, TABLE_PROCESSES, &process, &state)
		       ? 0
		       : state.program;
}

static uint64_t code_since(void *context, uint32_t process)
{
	const struct drain *drain = context;
	struct process_state state;

	return table_lookup(drain->parts.session, TABLE_PROCESSES, &process, &state) ? 0
										     : state.mapped;
}

/* The kernel side forgets a process when its last thread ends. If it failed to keep some states,
 * only the pids can be checked. */
static bool is_there(void *context, const struct process *process)
{
	const struct drain *drain = context;
	uint32_t index = (uint32_t)process->id;
	uint32_t pid = process->announced ? process->proc_pid : process->pid;
	struct process_state state;
	int held;

	if (table_lookup(drain->parts.session, TABLE_PROCESSES, &index, &state) != -ENOENT)
		return true;
	if (!counters_loss(drain->parts.counters, LOSS_PROCESS_STATE))
		return false;
	held = pid ? proc_hold(pid, clock_now() - process->begin) : -EPERM;
	if (held >= 0)
		close(held);
	return held != -ESRCH;
}

static uint32_t user_of(void *context, uint32_t proc_pid)
{
	const struct drain *drain = context;
	const struct process *process = processes_at(drain->parts.processes, proc_pid, clock_now());

	return process ? process->user : USER_UNKNOWN;
}

/* Are pids here those of the kernel side? The initial pid namespace has a fixed, well-known
 * inode. */
static bool pids_are_initial(void)
{
	const ino_t initial = 0xEFFFFFFC;
	struct stat st;

	return !stat("/proc/self/ns/pid", &st) && st.st_ino == initial;
}

/* --- subscribers -------------------------------------------------------------------------- */

/* A mapping is passed to the unwinder once its file is known: arrival_mapped(). */
static void map_file(void *context, const struct event_mmap *event, const char *path)
{
	struct drain *drain = context;
	struct process *process = processes_find(drain->parts.processes, event->header.process);
	const size_t prefix = strlen(COPY_PREFIX);
	struct mapping mapping = {
		.start = event->address,
		.end = event->address + event->length,
		.offset = event->offset,
		.time = event->header.time,
	};

	const uint32_t user = process ? process->user : USER_UNKNOWN;

	store_meet_mapping(drain->parts.store, event, path, user);
	if (event->inode)
		mapping.file = files_map(drain->parts.files, event, path, user);
	else if (!strcmp(path, "[vdso]"))
		mapping.file = FILE_VDSO;
	if (!process)
		return;
	if (!event->inode && !strncmp(path, COPY_PREFIX, prefix))
		arrival_copied(&drain->arrival, process, path + prefix);
	if (ahead_map(drain->parts.processes, process, &mapping) == -ENOMEM)
		counters_add_loss(drain->parts.counters, LOSS_MEMORY, 1);
	if (!mapping.file || mapping.file == FILE_VDSO)
		unwinder_remap(drain->parts.unwinder, process);
}

static void forget_process(void *context, const struct process *process)
{
	struct drain *drain = context;
	const uint32_t index = (uint32_t)process->id;

	arrival_left(&drain->arrival, process);
	store_meet_end(drain->parts.store, process->id);
	if (drain->parts.control)
		control_forget(drain->parts.control, process->id, UINT64_MAX);
	if (process->runtimes)
		table_forget(drain->parts.session, TABLE_FIBERS, &index);
	if (process->runtimes)
		heap_profiles_forget(drain->heaps, index);
}

static void drop_process(void *context, const struct process *process)
{
	const struct drain *drain = context;

	store_forget(drain->parts.store, process->id);
}

static void fork_process(void *context, struct process *child, uint32_t parent_pid)
{
	struct drain *drain = context;

	(void)parent_pid;
	arrival_forked(&drain->arrival, child);
	store_meet_fork(drain->parts.store, child);
	if (drain->parts.control && control_forked(drain->parts.control, child))
		counters_add_loss(drain->parts.counters, LOSS_MEMORY, 1);
}

static void execute_program(void *context, struct process *process, uint64_t time)
{
	const struct drain *drain = context;

	attach_exec(session_probes(drain->parts.session), (uint32_t)process->id, time);
	texts_exec(drain->parts.session, (uint32_t)process->id, time);
	if (drain->parts.control)
		control_forget(drain->parts.control, process->id, time);
}

static void end_thread(void *context, const struct process *process, uint32_t tid)
{
	struct drain *drain = context;

	arrival_thread_ended(&drain->arrival, process, tid);
}

static void replace_code(void *context, const struct process *process,
			 const struct event_replaced *event)
{
	struct drain *drain = context;

	(void)process;
	arrival_replaced(&drain->arrival, event);
}

static void subscribe(struct drain *drain)
{
	const struct world_subscriber subscriber = {
		.context = drain,
		.forks = fork_process,
		.execs = execute_program,
		.maps = map_file,
		.ends = forget_process,
		.thread_ends = end_thread,
		.replaces = replace_code,
		.drops = drop_process,
	};

	const struct world_subscriber arrival = {
		.context = &drain->arrival,
		.renames = arrival_renamed,
	};

	unwinder_subscribe(drain->parts.unwinder, drain->world);
	world_subscribe(drain->world, &subscriber);
	world_subscribe(drain->world, &arrival);
}

/* --- creation ------------------------------------------------------------------------------- */

static int create_parts(struct drain *drain)
{
	const struct drain_parts *parts = &drain->parts;
	int err = snapshots_create(parts->opener, &drain->snapshots);
	const struct world_sources sources = {
		.context = drain,
		.program_since = program_since,
		.mappings = snapshots_begin,
		.snapshots = drain->snapshots,
		.code_since = code_since,
		.task = pids_are_initial() ? snapshot_task : NULL,
	};
	struct flow_parts flow = {
		.processes = parts->processes,
		.store = parts->store,
		.counters = parts->counters,
		.began = parts->began,
	};

	if (!err)
		err = world_create(parts->processes, &sources, &drain->world);
	flow.world = drain->world;
	if (!err)
		err = flow_create(&flow, &drain->flow);
	drain->arrival.flow = drain->flow;
	if (!err)
		err = heap_profiles_create(parts->opener, flow_event, drain->flow, &drain->heaps);
	drain->arrival.heaps = drain->heaps;
	if (!err)
		err = name_tables_create(parts->opener, flow_event, drain->flow, &drain->tables);
	drain->arrival.names = drain->tables;
	if (!err)
		subscribe(drain);
	return err ? err : rings_open(parts->session, flow_event, drain->flow, &drain->rings);
}

int drain_create(const struct drain_parts *parts, struct drain **out)
{
	struct drain *drain = calloc(1, sizeof(*drain));
	int err;

	if (!drain)
		return -ENOMEM;
	drain->parts = *parts;
	drain->arrival = (struct arrival){
		.session = parts->session,
		.files = parts->files,
		.switches = parts->switches,
		.control = parts->control,
		.counters = parts->counters,
		.processes = parts->processes,
		.unwinder = parts->unwinder,
		.asker = {.files = parts->files,
			  .processes = parts->processes,
			  .session = parts->session},
	};
	files_set_visitor(parts->files, arrival_mapped, &drain->arrival);
	if (parts->control)
		control_set_visitor(parts->control, arrival_joined, &drain->arrival);
	err = create_parts(drain);
	if (err) {
		drain_free(drain);
		return err;
	}
	opener_know_users(parts->opener, user_of, drain);
	drain->next_second = clock_now() + SECOND_NS;
	drain->names_gap = NAMES_NS;
	drain->next_names = clock_now() + NAMES_NS;
	*out = drain;
	return 0;
}

/* --- rounds --------------------------------------------------------------------------------- */

static void take_mapping(void *context, struct event_mmap *event, const char *path)
{
	world_mapping(context, event, path);
}

/* Drains the perf rings of mappings; false if some are left. */
static bool drain_mappings(struct drain *drain)
{
	struct counters *counters = drain->parts.counters;
	struct perf_maps *maps = drain->parts.maps;
	const struct perf_maps_visitor visitor = {.context = drain->world, .mapping = take_mapping};

	uint64_t now = clock_now();
	bool emptied;

	if (!maps)
		return true;
	emptied = perf_maps_drain(maps, &visitor);
	if (perf_maps_lost(maps) != drain->mappings_lost)
		world_mappings_lost(drain->world, drain->mappings_since);
	drain->mappings_lost = perf_maps_lost(maps);
	/* The kernel reports a loss with the first record that has room again. */
	if (emptied)
		drain->mappings_since = now;
	counters_set_loss(counters, LOSS_PERF_RING, perf_maps_lost(maps));
	counters_add_loss(counters, LOSS_BAD_EVENT, perf_maps_bad(maps));
	return emptied;
}

/* Drains everything: 1 if the rings are empty, 0 if not yet. */
static int drain_rings(struct drain *drain, uint64_t now)
{
	struct files *files = drain->parts.files;
	bool mapped;
	int emptied;

	/* Mappings first: what is mapped should be attached before it runs far. */
	mapped = drain_mappings(drain);
	world_children(drain->world, arrival_latest(&drain->arrival),
		       files_pending(files) == UINT64_MAX &&
			       arrival_pending(&drain->arrival) == UINT64_MAX);
	emptied = rings_drain(drain->rings, &now);
	if (emptied > 0 && !mapped)
		emptied = 0;
	if (mapped && now > drain->reached)
		drain->reached = now;
	drain->left = emptied == 0;
	flow_settle(drain->flow, mapped ? now : 0);
	/* First, so that a file that was opened goes to the reader now, not in the next round. */
	opener_turn(drain->parts.opener);
	drain->left |= !snapshots_turn(drain->snapshots);
	files_turn(files);
	arrival_turn(&drain->arrival, false);
	switches_turn(drain->parts.switches, drain->parts.processes);
	heap_profiles_turn(drain->heaps);
	name_tables_turn(drain->tables);
	unwinder_flush(drain->parts.unwinder);
	drain->left |= opener_is_idle(drain->parts.opener);
	return emptied;
}

/* An attached file may have made a stream available. */
static int drain_streams(struct drain *drain)
{
	const char *none = drain->arrival.none;

	if (!drain->arrival.attached)
		return 0;
	drain->arrival.attached = false;
	if (!session_probes_attached(drain->parts.session, WHY_TEXT,
				     none[0] ? none : "it has gcprof's probes, but none for this"))
		return 0;
	return facts_put_streams(drain->parts.writer, drain->parts.session);
}

/* `put` is one of counters.h, such as counters_finish() at the end. */
static int drain_figures(struct drain *drain, int (*put)(struct counters *))
{
	int err;

	counters_set_loss(drain->parts.counters, LOSS_LATE, flow_late(drain->flow));
	counters_set_loss(drain->parts.counters, LOSS_UNPROBED,
			  (drain->arrival.unprobed_ns + 999999) / 1000000);
	counters_set_loss(drain->parts.counters, LOSS_UNWIND_ROWS,
			  unwinder_refused(drain->parts.unwinder));
	counters_set_loss(drain->parts.counters, LOSS_NAMES_TABLE,
			  name_tables_unread(drain->tables));
	err = put(drain->parts.counters);
	/* From time to time, so that a truncated profile has most of its names. */
	err = err ? err : store_symbolize(drain->parts.store);
	return err ? err : profile_writer_flush(drain->parts.writer);
}

/* Names of a program's first frames: most of all that there will be. */
static int drain_first_names(struct drain *drain, uint64_t now)
{
	if (!drain->names_gap || now < drain->next_names)
		return 0;
	drain->names_gap = drain->names_gap < SECOND_NS / 2 ? drain->names_gap * 2 : 0;
	drain->next_names = now + drain->names_gap;
	return store_symbolize(drain->parts.store);
}

bool drain_attached(const struct drain *drain, uint32_t proc_pid)
{
	const struct process *process = processes_at(drain->parts.processes, proc_pid, clock_now());

	return process && (joins_any(process) || process->runtimes);
}

/* A chunk ends where the CPU time of all threads was reported: its samples divide that time. */
static int drain_second(struct drain *drain, uint64_t now)
{
	int err;

	/* During a split the figures stay those of its begin. */
	if (now < drain->next_second || drain->split)
		return 0;
	if (!drain->second) {
		err = session_report_ran(drain->parts.session, false);
		drain->second = clock_now();
		flow_hold(drain->flow, drain->second);
		return err;
	}
	if (!flow_is_held(drain->flow) && !flow_is_full(drain->flow) &&
	    (flow_is_behind(drain->flow) || now < drain->second + STORED_NS))
		return 0;
	err = drain_figures(drain, counters_put_second);
	if (!err && profile_writer_is_long(drain->parts.writer, drain->second))
		err = profile_writer_segment(drain->parts.writer, drain->second);
	drain->next_second = drain->second + SECOND_NS;
	drain->second = 0;
	flow_hold(drain->flow, UINT64_MAX);
	/* After the figures, which may be the last ones of ended processes. */
	world_sweep(drain->world, now, is_there, drain);
	return err;
}

/* All events before the split are written: now requests the names of their frames. */
static int drain_split_names(struct drain *drain)
{
	int err;

	if (!drain->split || drain->named || !flow_is_held(drain->flow))
		return 0;
	drain->named = true;
	/* For processes whose first events were not stored when the figures were read. */
	err = counters_put_fresh(drain->parts.counters, drain->split);
	return err ? err : store_symbolize(drain->parts.store);
}

int drain_split(struct drain *drain, uint64_t *time)
{
	int err = session_report_ran(drain->parts.session, true);

	*time = drain->split = clock_now();
	drain->second = 0;
	drain->named = false;
	flow_hold(drain->flow, drain->split);
	return err ? err : drain_figures(drain, counters_put);
}

bool drain_is_split(const struct drain *drain)
{
	return drain->named && (store_is_symbolized(drain->parts.store) ||
				flow_is_full(drain->flow) || clock_now() > drain->split + SPLIT_NS);
}

void drain_resume(struct drain *drain)
{
	flow_resume(drain->flow);
}

void drain_go_on(struct drain *drain)
{
	drain->split = 0;
	flow_hold(drain->flow, UINT64_MAX);
}

/* Begin of the oldest wait. A forked child needs the names that its parent has by then. */
static uint64_t pending(const struct drain *drain)
{
	const uint64_t times[] = {files_pending(drain->parts.files),
				  arrival_pending(&drain->arrival),
				  name_tables_pending(drain->tables), world_pending(drain->world)};
	uint64_t first = UINT64_MAX;

	for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++)
		first = times[i] < first ? times[i] : first;
	return first;
}

int drain_round(struct drain *drain)
{
	uint64_t now = clock_now();
	int emptied = drain_rings(drain, now), err;

	if (emptied < 0)
		return emptied;
	session_draw_timer(drain->parts.session);
	err = session_find_moved(drain->parts.session);
	err = err ? err : drain_streams(drain);
	if (!err && drain->reached)
		err = flow_advance(drain->flow, drain->reached, pending(drain));
	err = err ? err : flow_turn(drain->flow, WALKS_NS);
	err = err ? err : drain_first_names(drain, now);
	err = err ? err : drain_split_names(drain);
	err = err ? err : store_symbolize_turn(drain->parts.store);
	return err ? err : drain_second(drain, now);
}

int drain_timeout(const struct drain *drain, int ms)
{
	return drain->left || flow_is_behind(drain->flow)
		       ? 0
		       : switches_timeout(drain->parts.switches, ms);
}

/* Waits until the mappings of processes that ran before are known. */
static int await_mappings(struct drain *drain, uint64_t ns)
{
	uint64_t end = clock_now() + ns;
	int emptied = 0;

	while (emptied >= 0 && world_pending(drain->world) != UINT64_MAX && clock_now() < end) {
		worker_wait_any(WAIT_MS);
		emptied = drain_rings(drain, clock_now());
	}
	return emptied < 0 ? emptied : 0;
}

int drain_finish(struct drain *drain, const struct patience *patience)
{
	int emptied, err;

	do
		emptied = drain_rings(drain, clock_now());
	while (emptied == 0);
	err = await_mappings(drain, patience->files_ns);
	files_settle(drain->parts.files, patience->files_ns);
	arrival_turn(&drain->arrival, true);
	name_tables_settle(drain->tables, patience->files_ns);
	heap_profiles_finish(drain->heaps, patience->files_ns);
	store_walk_until(drain->parts.store, clock_now() + patience->walks_ns);
	err = emptied < 0 ? emptied : err;
	err = err ? err : drain_streams(drain);
	err = err ? err : flow_finish(drain->flow, clock_now());
	err = err ? err : flow_turn(drain->flow, UINT64_MAX);
	return err ? err : drain_figures(drain, counters_finish);
}

int drain_settle(struct drain *drain)
{
	int err = await_mappings(drain, FILES_NS);

	files_settle(drain->parts.files, FILES_NS);
	arrival_settle(&drain->arrival, FILES_NS);
	name_tables_turn(drain->tables);
	return err ? err : drain_streams(drain);
}

const char *drain_trouble(struct drain *drain)
{
	if (!drain->arrival.trouble)
		return NULL;
	drain->arrival.trouble = false;
	return drain->arrival.problem.text;
}

void drain_free(struct drain *drain)
{
	if (!drain)
		return;
	files_set_visitor(drain->parts.files, NULL, NULL);
	if (drain->parts.control)
		control_set_visitor(drain->parts.control, NULL, NULL);
	heap_profiles_free(drain->heaps);
	name_tables_free(drain->tables);
	rings_free(drain->rings);
	text_copies_leave(&drain->arrival.asker);
	opener_know_users(drain->parts.opener, NULL, NULL);
	buffer_free(&drain->arrival.waiting);
	quota_free(&drain->arrival.waiters);
	quota_free(&drain->arrival.following);
	flow_free(drain->flow);
	snapshots_free(drain->snapshots);
	world_free(drain->world);
	free(drain);
}
