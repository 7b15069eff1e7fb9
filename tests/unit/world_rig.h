/* SPDX-License-Identifier: BSD-2-Clause */
/* world_rig.h: rings, a clock and a machine made up, from which events go to a store. */
#ifndef GCPROF_WORLD_RIG_H
#define GCPROF_WORLD_RIG_H

#include "store_rig.h"

#include "record/ingest/flow.h"

#define SECOND UINT64_C(1000000000)

/* What the machine answers, and what subscribers were notified of. */
static struct machine {
	uint64_t program_since; /* of every process */
	uint32_t execs;         /* it executes another program so many times while it is read */
	uint32_t present;       /* process that exists though it was not announced; 0: none */
	unsigned asked, read;
	uint64_t read_at;  /* time */
	uint32_t alive_to; /* processes up to this index exist */
	char notified[4096];
} machine;

static struct world *world;
static struct flow *flow;
static struct counters *counters;

RIG uint64_t program_since(void *context, uint32_t process)
{
	(void)context;
	(void)process;
	if (!machine.execs)
		return machine.program_since;
	machine.execs--;
	return ++machine.program_since;
}

/* Whatever process is read has one file mapped, where its number says. */
RIG int read_mappings(void *snapshots, uint32_t proc_pid, uint64_t time,
		      const struct snapshot_reader *reader, void *context)
{
	struct {
		struct event_mmap event;
		char path[16];
	} mapping = {
		.event = {.header = {.size = sizeof(mapping),
				     .code = EVENT_mmap,
				     .time = time,
				     .pid = proc_pid,
				     .tid = proc_pid},
			  .address = proc_pid * UINT64_C(0x10000),
			  .length = 0x1000,
			  .inode = 1,
			  .protection = PROT_READ | PROT_EXEC,
			  .name_size = 8},
		.path = "/nowhere",
	};

	(void)snapshots;
	machine.read++;
	machine.read_at = time;
	if (reader->is_current(context))
		reader->visit(context, &mapping.event, mapping.path);
	reader->done(context);
	return 0;
}

RIG int find_task(uint32_t process, uint32_t pid, uint64_t time, struct event_task *out)
{
	machine.asked++;
	if (process != machine.present)
		return -ESRCH;
	*out = (struct event_task){
		.header = {.size = sizeof(*out),
			   .code = EVENT_task,
			   .time = time,
			   .pid = pid,
			   .tid = pid,
			   .process = process},
		.ns_pid = 7,
		.ns_tid = 7,
		.proc_pid = pid,
		.name = "found",
	};
	return 0;
}

RIG void note(const char *what, uint64_t process, uint64_t more)
{
	size_t at = strlen(machine.notified);

	snprintf(machine.notified + at, sizeof(machine.notified) - at,
		 "%s %" PRIu64 "/%" PRIu64 " ", what, process, more);
}

RIG void note_fork(void *context, struct process *child, uint32_t parent_pid)
{
	(void)context;
	note("fork", child->id, parent_pid);
}

RIG void note_exec(void *context, struct process *process, uint64_t time)
{
	(void)context;
	(void)time;
	note("exec", process->id, process->pid);
}

RIG void note_end(void *context, const struct process *process)
{
	(void)context;
	note("end", process->id, process->pid);
}

RIG void note_mapping(void *context, const struct event_mmap *event, const char *path)
{
	(void)context;
	CHECK_STR(path, "/nowhere");
	note("map", event->header.process, event->header.pid);
}

/* Process 1 runs, with the number 100, since 1000 ns. */
RIG void open_world(void)
{
	const struct world_sources sources = {
		.program_since = program_since, .mappings = read_mappings, .task = find_task};
	const struct world_subscriber subscriber = {
		.forks = note_fork,
		.execs = note_exec,
		.ends = note_end,
		.maps = note_mapping,
	};
	struct flow_parts parts;

	begin();
	machine = (struct machine){.alive_to = UINT32_MAX};
	CHECK_EQ(counters_create(rig.writer, rig.store, NULL, &counters), 0);
	CHECK_EQ(world_create(rig.processes, &sources, &world), 0);
	parts = (struct flow_parts){.processes = rig.processes,
				    .world = world,
				    .store = rig.store,
				    .counters = counters};
	CHECK_EQ(flow_create(&parts, &flow), 0);
	world_subscribe(world, &subscriber);
}

/* Where the profile is of no interest. */
RIG void free_world(void)
{
	flow_free(flow);
	world_free(world);
	counters_free(counters);
}

RIG void close_world(void)
{
	CHECK_EQ(flow_finish(flow, UINT64_MAX), 0);
	free_world();
	finish();
}

/* Puts the event that is in the rig's room into a ring, at this time. */
RIG void put(uint64_t time)
{
	struct event_header *header = (void *)rig.room;
	size_t size = header->size;
	void *copy = malloc(size);

	header->time = time;
	memcpy(copy, header, size);
	flow_event(flow, copy, size);
	free(copy);
}

RIG void put_sample(uint64_t time, uint32_t process, uint32_t tid, uint64_t ip)
{
	struct event_cpu *cpu =
		event(EVENT_cpu, sizeof(*cpu) + sizeof(struct event_native), process, tid);

	cpu->stack.n_user = 1;
	cpu->mode = CPU_MODE_USER;
	*(struct event_native *)(cpu + 1) = (struct event_native){.ip = ip};
	put(time);
}

RIG void put_fork(uint64_t time, uint32_t child, uint32_t pid, uint32_t proc_pid)
{
	struct event_fork *fork = event(EVENT_fork, sizeof(*fork), 1, 100);

	fork->child_pid = fork->child_tid = pid;
	fork->child_proc_pid = proc_pid;
	fork->child_process = child;
	fork->kind = FORK_PROCESS;
	put(time);
}

RIG void put_thread(uint64_t time, uint32_t process, uint32_t pid, uint32_t tid)
{
	struct event_fork *fork = event(EVENT_fork, sizeof(*fork), process, pid);

	fork->child_pid = pid;
	fork->child_tid = tid;
	fork->child_process = process;
	fork->kind = FORK_THREAD;
	put(time);
}

RIG void put_task(uint64_t time, uint32_t process, uint32_t pid)
{
	struct event_task *task = event(EVENT_task, sizeof(*task), process, pid);

	task->proc_pid = pid;
	put(time);
}

RIG void put_exec(uint64_t time, uint32_t process, uint32_t pid, uint32_t old_tid)
{
	struct event_exec *exec = event(EVENT_exec, sizeof(*exec), process, pid);

	exec->old_tid = old_tid;
	put(time);
}

RIG void put_exit(uint64_t time, uint32_t process, uint32_t pid)
{
	struct event_exit *exit = event(EVENT_exit, sizeof(*exit), process, pid);

	exit->last = 1;
	put(time);
}

/* A mapping in the perf ring: of a file with one page, by a process as /proc calls it. */
RIG void put_mapping(uint64_t time, uint32_t proc_pid, uint64_t address)
{
	struct event_mmap *map = event(EVENT_mmap, sizeof(*map) + 8, 0, proc_pid);

	map->header.time = time;
	map->address = address;
	map->length = 0x1000;
	map->inode = 1;
	map->protection = PROT_READ | PROT_EXEC;
	map->name_size = 8;
	memcpy(map + 1, "/nowhere", 9);
	world_mapping(world, map, "/nowhere");
}

RIG bool is_there(void *context, const struct process *process)
{
	(void)context;
	return process->id <= machine.alive_to;
}

/* The same every second. */
RIG void sweep(uint64_t *now, unsigned seconds)
{
	for (unsigned i = 0; i < seconds; i++, *now += SECOND) {
		flow_settle(flow, *now);
		CHECK_EQ(flow_advance(flow, *now, UINT64_MAX), 0);
		world_sweep(world, *now, is_there, NULL);
	}
}

#endif
