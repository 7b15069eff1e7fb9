/* SPDX-License-Identifier: BSD-2-Clause */
/* world.h: what exists, as the rings report it: keeps the table of processes, notifies subscribers.
 */
/*
 * Events come here at once and in the order of their rings, before they are sorted by time: new
 * files are attached to, unwind rows written and numbers of processes found without delay. A
 * process whose begin was lost is made known by its first event. Not thread-safe.
 */
#ifndef GCPROF_WORLD_H
#define GCPROF_WORLD_H

#include <stddef.h>

#include "newcomers.h"

struct world;

/* What is wanted to be known at once. A function that is NULL is not called. */
struct world_subscriber {
	void *context;
	/* A child has been forked; `parent_pid` as in the initial pid namespace. */
	void (*forks)(void *context, struct process *child, uint32_t parent_pid);
	void (*execs)(void *context, struct process *process, uint64_t time);
	void (*ends)(void *context, const struct process *process);
	/* A known process mapped something; the header has its index and pid, and proc_pid as tid.
	 */
	void (*maps)(void *context, const struct event_mmap *event, const char *path);
};

/* `processes` is borrowed. */
int world_create(struct processes *processes, const struct world_sources *sources,
		 struct world **out);
void world_free(struct world *world); /* NULL is allowed */

#define WORLD_SUBSCRIBERS 8

/* Notifies it, too, after those that subscribed before. */
void world_subscribe(struct world *world, const struct world_subscriber *subscriber);

/* An event from a ring, of `size` bytes. */
void world_event(struct world *world, const struct event_header *event, size_t size);

/* A mapping of any process, known or not; the event may be changed. */
void world_mapping(struct world *world, struct event_mmap *event, const char *path);

/* As newcomers_pending(). */
uint64_t world_pending(const struct world *world);

/* What children inherited: `latest` as in newcomers.h, `settled`: no file is being read. */
void world_children(struct world *world, uint64_t latest, bool settled);

/* Receives the event that a process whose begin was lost has been found: for world_event(). */
typedef void world_found(void *context, const struct event_header *event, size_t size);

/*
 * All rings were emptied after `until` (ns; 0: not yet): who has an event from before it and was
 * not announced by then will not be announced any more.
 */
void world_settle(struct world *world, uint64_t until, world_found *found, void *context);

/* Once a second: drops what is over. `is_there` asks whether a process still exists. */
void world_sweep(struct world *world, uint64_t now,
		 bool (*is_there)(void *context, const struct process *process), void *context);

/* Changes and mappings that were missed for lack of memory since the last call. */
uint64_t world_lost(struct world *world);

#endif
