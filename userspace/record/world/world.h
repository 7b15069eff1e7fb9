/* SPDX-License-Identifier: BSD-2-Clause */
/* world.h: applies events to the process table at once, and notifies subscribers. */
/*
 * Events arrive here in the order of their rings, before they are sorted by time, so that new files
 * are attached, unwind rows written and processes looked up without delay. A process whose begin
 * was lost becomes known by its first event. Not thread-safe.
 */
#ifndef GCPROF_WORLD_H
#define GCPROF_WORLD_H

#include <stddef.h>

#include "newcomers.h"

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
	void (*replaces)(void *context, const struct process *process, uint64_t start,
			 uint64_t end);
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

/* Handles inherited mappings: `latest` as in newcomers.h, `settled`: no file is being read. */
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
