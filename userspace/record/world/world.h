/* SPDX-License-Identifier: BSD-2-Clause */
/* world.h: applies events to the process table at once, and notifies subscribers. */
/*
 * Events arrive here in the order of their rings, before they are sorted by time, so that new files
 * are attached, unwind rows written and processes looked up without delay. A process whose begin
 * was lost becomes known by its first event. Not thread-safe.
 */
#ifndef GCPROF_WORLD_H
#define GCPROF_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "processes.h"
#include "snapshot.h"

/*
 * /proc knows the mappings of processes that ran before the recording; a child has its parent's.
 * The kernel may report mappings of every process on the machine. Those of an unknown process wait
 * until all rings were emptied since. If the process is traced, its begin was in the rings, since
 * it began before it mapped anything; otherwise its next event was. Not thread-safe.
 */

struct newcomers;

/* What the world needs from the machine; tests replace it. */
struct world_sources {
	void *context;
	/* When a process executed its program, ns; 0: the kernel side does not know. */
	uint64_t (*program_since)(void *context, uint32_t process);
	/* As snapshots_begin(); -EBUSY: try again. May also visit at once. */
	int (*mappings)(void *snapshots, uint32_t proc_pid, uint64_t time,
			const struct snapshot_reader *reader, void *context);
	void *snapshots;
	/* When a process last mapped code, ns; 0: unknown. */
	uint64_t (*code_since)(void *context, uint32_t process);
	/* As snapshot_task(). NULL if pids here differ from the kernel's, so that none can be
	 * found. */
	int (*task)(uint32_t process, uint32_t pid, uint64_t time, struct event_task *out);
};

/* Takes a mapping; false: its process is unknown. */
typedef bool newcomers_map(void *context, struct event_mmap *event, const char *path);

int newcomers_create(const struct world_sources *sources, newcomers_map *map, void *context,
		     struct newcomers **out);
void newcomers_free(struct newcomers *newcomers); /* NULL is allowed */

/* A process that ran before: its mappings will be read. -ENOMEM. */
int newcomers_add(struct newcomers *newcomers, const struct process *process);

/* Mappings since `time` were lost: they will be read again. -EAGAIN: its user's turn has not come;
 * -ENOMEM. */
int newcomers_read_again(struct newcomers *newcomers, const struct process *process, uint64_t time);

/* A child: its inherited mappings will be read if needed. -ENOMEM. */
int newcomers_add_child(struct newcomers *newcomers, const struct process *child);

/* A mapping of an unknown process. -ENOMEM, also if too many wait. */
int newcomers_wait(struct newcomers *newcomers, const struct event_mmap *event);

/*
 * The files of inherited mappings are known. Reads the mappings of children that began before
 * `latest`, when a file was attached; then forgets the children.
 */
void newcomers_read_children(struct newcomers *newcomers, uint64_t latest);

/* Do too many children wait, so that this is due whatever is known? */
bool newcomers_children_crowd(const struct newcomers *newcomers);

/* Begin of the oldest wait for the mappings of a process that ran before, ns; UINT64_MAX: none. */
uint64_t newcomers_pending(const struct newcomers *newcomers);

/* Starts reading mappings; retries waiting mappings, and drops those from before `until`: their
 * process is not traced. */
void newcomers_settle(struct newcomers *newcomers, uint64_t until);

struct world;

/* Callbacks; NULL ones are not called. */
struct world_subscriber {
	void *context;
	/* A fork; `parent_pid` is that of the initial pid namespace. */
	void (*forks)(void *context, struct process *child, uint32_t parent_pid);
	void (*execs)(void *context, struct process *process, uint64_t time);
	void (*ends)(void *context, const struct process *process);
	/* One of its threads changed its name. */
	void (*renames)(void *context, struct process *process, const struct event_comm *event);
	/* It replaced code that has breakpoints, and is stopped. */
	void (*replaces)(void *context, const struct process *process,
			 const struct event_replaced *event);
	/* A thread ended, and others run. */
	void (*thread_ends)(void *context, const struct process *process, uint32_t tid);
	/* A few seconds later: the profile has reached its end. */
	void (*drops)(void *context, const struct process *process);
	/* A known process mapped something; the header has its index and pid, and proc_pid as
	 * tid. */
	void (*maps)(void *context, const struct event_mmap *event, const char *path);
};

/* `processes` is borrowed. */
int world_create(struct processes *processes, const struct world_sources *sources,
		 struct world **out);
void world_free(struct world *world); /* NULL is allowed */

#define WORLD_SUBSCRIBERS 8

/* Adds a subscriber, notified after the earlier ones. */
void world_subscribe(struct world *world, const struct world_subscriber *subscriber);

/* An event from a ring, of `size` bytes. */
void world_event(struct world *world, const struct event_header *event, size_t size);

/* A mapping of any process, known or unknown; the event may be changed. */
void world_mapping(struct world *world, struct event_mmap *event, const char *path);

/* Mappings since `since` (ns) were lost: processes that have mapped code since are read again. */
void world_mappings_lost(struct world *world, uint64_t since);

/* As newcomers_pending(). */
uint64_t world_pending(const struct world *world);

/* Handles inherited mappings: `latest` as in newcomers_read_children(), `settled`: no file is being
 * read. */
void world_children(struct world *world, uint64_t latest, bool settled);

/* Receives the `task` event of a process whose begin was lost; to be passed to world_event(). */
typedef void world_found(void *context, const struct event_header *event, size_t size);

/*
 * All rings were emptied after `until` (ns; 0: not yet). A process with an event from before that,
 * which was not announced by then, never will be.
 */
void world_settle(struct world *world, uint64_t until, world_found *found, void *context);

/* Once a second: drops what ended. `is_there` says whether a process still exists. */
void world_sweep(struct world *world, uint64_t now,
		 bool (*is_there)(void *context, const struct process *process), void *context);

/* Changes and mappings missed for lack of memory since the last call. */
uint64_t world_lost(struct world *world);

#endif
