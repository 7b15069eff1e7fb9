/* SPDX-License-Identifier: BSD-2-Clause */
/* world.c: applies events to the process table at once, and notifies subscribers. */
#include "world.h"

#include <errno.h>
#include <stdlib.h>

#include "../machine/clock.h"
#include "../../util/buffer.h"

#define AGAIN_NS    UINT64_C(100000000) /* between two readings of a process */
#define MAPS_A_TURN 256                 /* of a process */

/* A process that has executed a program and may not have mapped anything yet. */
struct executed {
	uint32_t process, readings; /* index; how often its mappings were read */
};

struct world {
	struct processes *processes;
	struct world_sources sources;
	struct newcomers *newcomers;
	struct buffer
		unannounced; /* uint32_t[]: indices of processes whose start may have been lost */
	struct buffer executed; /* struct executed[] */
	struct world_subscriber subscribers[WORLD_SUBSCRIBERS];
	size_t n_subscribers;
	uint64_t lost;
	uint64_t lost_since; /* mappings since then */
	uint64_t turn;       /* how often it was settled */
	bool unread;         /* those of some process are to be read again */
	size_t sharing;      /* processes that share their memory with another one */
};

/* Calls one callback of each subscriber that has it. */
#define NOTIFY(world, function, ...)                                                    \
	do {                                                                            \
		for (size_t i_ = 0; i_ < (world)->n_subscribers; i_++)                  \
			if ((world)->subscribers[i_].function)                          \
				(world)->subscribers[i_].function(                      \
					(world)->subscribers[i_].context, __VA_ARGS__); \
	} while (0)

/* False if its process is not known (yet). */
static bool map(void *context, struct event_mmap *event, const char *path)
{
	struct world *world = context;
	struct process *process =
		processes_at(world->processes, event->header.tid, event->header.time);

	if (!process)
		return false;
	if (process->mapped < event->header.time)
		process->mapped = event->header.time;
	event->header.process = (uint32_t)process->id;
	event->header.pid = process->pid;
	NOTIFY(world, maps, event, path);
	return true;
}

int world_create(struct processes *processes, const struct world_sources *sources,
		 struct world **out)
{
	struct world *world = calloc(1, sizeof(*world));
	int err = world ? newcomers_create(sources, map, world, &world->newcomers) : -ENOMEM;

	if (err) {
		free(world);
		return err;
	}
	world->processes = processes;
	world->sources = *sources;
	*out = world;
	return 0;
}

void world_free(struct world *world)
{
	if (!world)
		return;
	newcomers_free(world->newcomers);
	buffer_free(&world->unannounced);
	buffer_free(&world->executed);
	free(world);
}

void world_subscribe(struct world *world, const struct world_subscriber *subscriber)
{
	if (world->n_subscribers < WORLD_SUBSCRIBERS)
		world->subscribers[world->n_subscribers++] = *subscriber;
}

uint64_t world_lost(struct world *world)
{
	uint64_t lost = world->lost;

	world->lost = 0;
	return lost;
}

/* --- changes -------------------------------------------------------------------------- */

static void share_memory(struct world *world, struct process *parent, struct process *child)
{
	if (!parent->memory) {
		parent->memory = parent->id;
		world->sharing++;
	}
	child->memory = parent->memory;
	world->sharing++;
}

static void leave_memory(struct world *world, struct process *process)
{
	world->sharing -= process->memory != 0;
	process->memory = 0;
}

static void forks(struct world *world, const struct event_header *header)
{
	const struct event_fork *event = (const void *)header;
	const struct process_ids ids = {event->child_pid, event->child_ns_pid,
					event->child_proc_pid};
	struct process *parent = processes_find(world->processes, header->process), *child;

	if (event->kind == FORK_THREAD || !event->child_process)
		return;
	if (processes_begin(world->processes, event->child_process, &ids, header->time) < 0) {
		world->lost++;
		return;
	}
	child = processes_find(world->processes, event->child_process);
	child->parent = header->process;
	child->user = event->user;
	if (parent && child->program < parent->program)
		child->program = parent->program;
	world->lost += newcomers_add_child(world->newcomers, child) != 0;
	if (parent && event->kind == FORK_SHARING)
		share_memory(world, parent, child);
	NOTIFY(world, forks, child, header->pid);
}

/* An existing thread, whose process may be known from another one. */
static void is_found(struct world *world, const struct event_header *header)
{
	const struct event_task *event = (const void *)header;
	const struct process_ids ids = {header->pid, event->ns_pid, event->proc_pid};
	int added = header->process
			    ? processes_begin(world->processes, header->process, &ids, header->time)
			    : 0;
	struct process *process = processes_find(world->processes, header->process);

	if (process)
		process->user = event->user;
	if (added < 0 || (added && !event->kernel && newcomers_add(world->newcomers, process)))
		world->lost++;
}

static void execs(struct world *world, const struct event_header *header)
{
	struct process *process = processes_find(world->processes, header->process);
	const struct executed executed = {header->process, 0};

	if (!process)
		return;
	leave_memory(world, process);
	process->program = header->time;
	process->user = ((const struct event_exec *)(const void *)header)->user;
	if (process->mapped < header->time &&
	    buffer_append(&world->executed, &executed, sizeof(executed)))
		world->lost++;
	NOTIFY(world, execs, process, header->time);
}

static void exits(struct world *world, const struct event_header *header)
{
	struct process *process = processes_find(world->processes, header->process);

	if (!process)
		return;
	if (!((const struct event_exit *)(const void *)header)->last) {
		NOTIFY(world, thread_ends, process, header->tid);
		return;
	}
	leave_memory(world, process);
	processes_end(process, header->time);
	NOTIFY(world, ends, process);
}

static void renames(struct world *world, const struct event_header *header)
{
	struct process *process = processes_find(world->processes, header->process);

	if (process)
		NOTIFY(world, renames, process, (const struct event_comm *)(const void *)header);
}

/* A daemon that root started and that became another user pays as that one. Of what becomes root,
 * the user who executed it still pays. */
static void has_title(struct world *world, const struct event_header *header)
{
	const struct event_title *event = (const void *)header;
	struct process *process = processes_find(world->processes, header->process);

	if (process && event->user && header->time >= process->program)
		process->user = event->user;
}

static void replaces(struct world *world, const struct event_header *header)
{
	const struct event_replaced *event = (const void *)header;
	const struct process *process = processes_find(world->processes, header->process);

	if (process)
		NOTIFY(world, replaces, process, event);
}

static const struct {
	void (*take)(struct world *world, const struct event_header *header);
	size_t size;
} changes[] = {
	[EVENT_fork] = {forks, sizeof(struct event_fork)},
	[EVENT_task] = {is_found, sizeof(struct event_task)},
	[EVENT_exec] = {execs, sizeof(struct event_exec)},
	[EVENT_exit] = {exits, sizeof(struct event_exit)},
	[EVENT_comm] = {renames, sizeof(struct event_comm)},
	[EVENT_title] = {has_title, sizeof(struct event_title)},
	[EVENT_replaced] = {replaces, sizeof(struct event_replaced)},
};

/* Adds the process of an event; if it is new, its start may have been lost. */
static void add_process(struct world *world, const struct event_header *event)
{
	struct process *process = processes_find(world->processes, event->process);

	if (process && process->announced)
		return;
	if (!process && buffer_append(&world->unannounced, &event->process, sizeof(event->process)))
		world->lost++;
	else if (!processes_meet(world->processes, event->process, event->pid, event->time))
		world->lost++;
}

void world_event(struct world *world, const struct event_header *event, size_t size)
{
	if (event->process)
		add_process(world, event);
	if (event->code < sizeof(changes) / sizeof(changes[0]) && changes[event->code].take &&
	    size >= changes[event->code].size)
		changes[event->code].take(world, event);
}

static void miss(struct world *world, struct process *process, uint64_t since)
{
	if (process->unread && process->unread <= since)
		return;
	process->unread = since;
	world->unread = true;
}

/* Has a process mapped so much that its mappings are read from /proc instead, all at once? */
static bool maps_too_much(struct world *world, const struct event_mmap *event)
{
	struct process *process =
		processes_at(world->processes, event->header.tid, event->header.time);

	if (!process)
		return false;
	if (process->turn != world->turn)
		process->turn_maps = 0;
	process->turn = world->turn;
	if (process->turn_maps++ < MAPS_A_TURN)
		return false;
	miss(world, process, event->header.time);
	return true;
}

struct sharing {
	struct world *world;
	struct process *maps;
	uint64_t time;
};

static bool shares(void *context, const void *key, uint64_t *value)
{
	const struct sharing *sharing = context;
	struct process *process = process_value(value);

	(void)key;
	if (process->memory == sharing->maps->memory && process != sharing->maps)
		miss(sharing->world, process, sharing->time);
	return true;
}

/* A mapping is reported for the process that made it. Others that share its memory have it too. */
static void map_for_others(struct world *world, const struct event_mmap *event)
{
	struct sharing sharing = {
		world, processes_at(world->processes, event->header.tid, event->header.time),
		event->header.time};

	/* They are read when the world is settled, however much it maps until then. */
	if (!sharing.maps || !sharing.maps->memory || sharing.maps->turn_shared > world->turn)
		return;
	sharing.maps->turn_shared = world->turn + 1;
	processes_each(world->processes, shares, &sharing);
}

void world_mapping(struct world *world, struct event_mmap *event, const char *path)
{
	if (maps_too_much(world, event))
		return;
	if (world->sharing)
		map_for_others(world, event);
	if (!map(world, event, path))
		world->lost += newcomers_wait(world->newcomers, event) != 0;
}

/* --- lost mappings ---------------------------------------------------------------------- */

/*
 * The ring of mappings is common to all processes. What is lost there is read from /proc for each
 * process that the kernel side saw map code meanwhile, however much others map.
 */
static bool may_miss_some(void *context, const void *key, uint64_t *value)
{
	struct world *world = context;
	struct process *process = process_value(value);
	uint64_t since = world->lost_since;

	(void)key;
	if (process->end == PROCESS_RUNS &&
	    world->sources.code_since(world->sources.context, (uint32_t)process->id) >= since)
		miss(world, process, since);
	return true;
}

void world_mappings_lost(struct world *world, uint64_t since)
{
	world->lost_since = since;
	processes_each(world->processes, may_miss_some, world);
}

static bool read_again(void *context, const void *key, uint64_t *value)
{
	struct world *world = context;
	struct process *process = process_value(value);
	uint64_t now = clock_now();

	(void)key;
	if (!process->unread || process->end != PROCESS_RUNS)
		return true;
	if (process->reread + AGAIN_NS < now &&
	    newcomers_read_again(world->newcomers, process, process->unread) != -EAGAIN) {
		process->reread = now;
		process->unread = 0;
	}
	world->unread |= process->unread != 0;
	return true;
}

/* --- rounds --------------------------------------------------------------------------- */

uint64_t world_pending(const struct world *world)
{
	return newcomers_pending(world->newcomers);
}

void world_children(struct world *world, uint64_t latest, bool settled)
{
	if (settled || newcomers_children_crowd(world->newcomers))
		newcomers_read_children(world->newcomers, latest);
}

/* A process that exists, but was not announced, is looked up like those that ran before. */
static void find_missed(const struct world *world, const struct process *process,
			world_found *found, void *context)
{
	struct event_task task;

	if (world->sources.task && process->end == PROCESS_RUNS &&
	    !world->sources.task((uint32_t)process->id, process->pid, process->begin - 1, &task))
		found(context, &task.header, sizeof(task));
}

/*
 * The kernel side announces a process before the process does anything that is recorded. If a
 * process has an event from before some moment, and all rings were emptied since, its announcement
 * has arrived by now, or never will.
 */
static void settle_missed(struct world *world, uint64_t until, world_found *found, void *context)
{
	uint32_t *all = (uint32_t *)(void *)world->unannounced.data;
	size_t count = world->unannounced.size / sizeof(*all), kept = 0;

	for (size_t i = 0; i < count; i++) {
		const struct process *process = processes_find(world->processes, all[i]);

		if (!process || process->announced)
			continue;
		if (process->begin >= until)
			all[kept++] = all[i];
		else
			find_missed(world, process, found, context);
	}
	world->unannounced.size = kept * sizeof(*all);
}

/*
 * Every program is mapped when it is executed. If no mapping was reported, it is one whose rights
 * come from its file (setuid), or a child of one: the kernel reports no mappings of these to events
 * that were inherited. They are read from /proc, in the state of now, and later again, when its
 * libraries are there.
 */
static void settle_executed(struct world *world, uint64_t until)
{
	static const uint64_t after_ns[] = {0, 100000000, 1000000000};
	struct executed *all = (struct executed *)(void *)world->executed.data;
	size_t count = world->executed.size / sizeof(*all), kept = 0;

	for (size_t i = 0; i < count; i++) {
		struct executed executed = all[i];
		const struct process *process = processes_find(world->processes, executed.process);

		if (!process || process->end != PROCESS_RUNS ||
		    (!executed.readings && process->mapped >= process->program))
			continue;
		if (process->program + after_ns[executed.readings] < until) {
			world->lost += newcomers_add(world->newcomers, process) != 0;
			executed.readings++;
		}
		if (executed.readings < sizeof(after_ns) / sizeof(*after_ns))
			all[kept++] = executed;
	}
	world->executed.size = kept * sizeof(*all);
}

void world_settle(struct world *world, uint64_t until, world_found *found, void *context)
{
	settle_missed(world, until, found, context);
	settle_executed(world, until);
	world->turn++;
	if (world->unread) {
		world->unread = false;
		processes_each(world->processes, read_again, world);
	}
	newcomers_settle(world->newcomers, until);
}

struct sweep {
	struct world *world;
	uint64_t now;
	bool (*is_there)(void *context, const struct process *process);
	void *context;
};

static bool is_there(void *context, const struct process *process)
{
	const struct sweep *sweep = context;

	return sweep->is_there(sweep->context, process);
}

/* Its end was lost. Another process may have its pid by now, and that one has not ended. */
static void gone(void *context, struct process *process)
{
	const struct sweep *sweep = context;
	struct world *world = sweep->world;
	bool is_latest = process->announced &&
			 (!process->proc_pid ||
			  processes_at(world->processes, process->proc_pid, sweep->now) == process);

	leave_memory(world, process);
	processes_end(process, sweep->now);
	if (is_latest)
		NOTIFY(world, ends, process);
}

static void dropped(void *context, const struct process *process)
{
	const struct sweep *sweep = context;

	NOTIFY(sweep->world, drops, process);
}

void world_sweep(struct world *world, uint64_t now,
		 bool (*there)(void *context, const struct process *process), void *context)
{
	struct sweep sweep = {world, now, there, context};
	const struct processes_watch watch = {is_there, gone, dropped, &sweep};

	processes_sweep(world->processes, &watch);
}
