/* SPDX-License-Identifier: BSD-2-Clause */
/* newcomers.h: mappings that arrive before their process, or that no record reports. */
/*
 * /proc knows the mappings of processes that ran before the recording; a child has its parent's.
 * The kernel may report mappings of every process on the machine. Those of an unknown process wait
 * until all rings were emptied since. If the process is traced, its begin was in the rings, since
 * it began before it mapped anything; otherwise its next event was. Not thread-safe.
 */
#ifndef GCPROF_NEWCOMERS_H
#define GCPROF_NEWCOMERS_H

#include <stdbool.h>
#include <stdint.h>

#include "processes.h"
#include "snapshot.h"

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

#endif
