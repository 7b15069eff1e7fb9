/* SPDX-License-Identifier: BSD-2-Clause */
/* newcomers.h: mappings that come before their process, or that no record reports. */
/*
 * A process that ran before the recording has mapped things that /proc knows; a child has what its
 * parent had. The kernel may report mappings of every process on the machine: those of a process
 * that is not known wait until all rings were emptied since. Its begin was in there if it is
 * traced, since it began before it mapped anything, or else what it did then. Not thread-safe.
 */
#ifndef GCPROF_NEWCOMERS_H
#define GCPROF_NEWCOMERS_H

#include <stdbool.h>
#include <stdint.h>

#include "processes.h"
#include "snapshot.h"

struct newcomers;

/* What the world asks of the machine; tests give their own answers. */
struct world_sources {
	void *context;
	/* When a process executed its program, ns; 0: the kernel side does not know it (any more).
	 */
	uint64_t (*program_since)(void *context, uint32_t process);
	/* As snapshots_begin(), of which -EBUSY means that it is to be tried again; it may also
	 * visit at once. */
	int (*mappings)(void *snapshots, uint32_t proc_pid, uint64_t time, snapshot_visit *visit,
			snapshot_done *done, void *context);
	void *snapshots;
	/* As snapshot_task(). NULL where processes have other numbers than in the kernel, so that
	 * none can be found. */
	int (*task)(uint32_t process, uint32_t pid, uint64_t time, struct event_task *out);
};

/* Takes a mapping; false: its process is not known. */
typedef bool newcomers_map(void *context, struct event_mmap *event, const char *path);

int newcomers_create(const struct world_sources *sources, newcomers_map *map, void *context,
		     struct newcomers **out);
void newcomers_free(struct newcomers *newcomers); /* NULL is allowed */

/* A process that ran before: what it has mapped is read. -ENOMEM. */
int newcomers_add(struct newcomers *newcomers, const struct process *process);

/* A child: what it inherited is read if that is needed. -ENOMEM. */
int newcomers_add_child(struct newcomers *newcomers, const struct process *child);

/* A mapping of a process that is not known (yet). -ENOMEM, also if too many wait. */
int newcomers_wait(struct newcomers *newcomers, const struct event_mmap *event);

/*
 * The files that children inherited are known by now: it is read again what those have mapped that
 * began before `latest`, when a file was attached to. They are forgotten.
 */
void newcomers_read_children(struct newcomers *newcomers, uint64_t latest);

/* Is it time for that, whatever is known: do too many wait? */
bool newcomers_children_crowd(const struct newcomers *newcomers);

/* Since when a process that ran before is known whose mappings are not all read yet, ns;
 * UINT64_MAX: there is none. */
uint64_t newcomers_pending(const struct newcomers *newcomers);

/* Has it read what processes have mapped; then tries waiting mappings again, and drops those from
 * before `until`: their process is not traced. */
void newcomers_settle(struct newcomers *newcomers, uint64_t until);

#endif
