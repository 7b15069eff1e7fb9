/* SPDX-License-Identifier: BSD-2-Clause */
/* processes.h: the processes and threads of a recording, and what is known about each. */
#ifndef GCPROF_PROCESSES_H
#define GCPROF_PROCESSES_H

#include <stdbool.h>
#include <stdint.h>

#include "mappings.h"
#include "names.h"
#include "../../profile/writer.h"
#include "../../util/map.h"

struct process {
	uint64_t id; /* in the profile: the index that the kernel side uses */
	uint32_t pid;
	unsigned sweeps;           /* since it ended; 0: it did not */
	unsigned missed;           /* so many times in a row nobody was there */
	bool numbered;             /* the program has numbered something: types, samples, code */
	uint64_t programs;         /* that were replaced by exec after they had */
	uint64_t title;            /* string that was written last; 0: none */
	uint64_t changes;          /* of mappings or program: what was derived from them is void */
	struct mappings *mappings; /* NULL: none */
	struct names *names;       /* NULL: none */
	struct map *referenced; /* struct name_key: 1 referenced, 2 its name is written; or NULL */
};

struct processes;

/* The numbers of a process: in the initial pid namespace and in its own, 0: unknown. */
struct process_ids {
	uint32_t pid, ns_pid;
};

/* `writer` is borrowed. */
int processes_create(struct profile_writer *writer, struct processes **out);
void processes_free(struct processes *processes); /* NULL is allowed */

/*
 * The process with this index; one that is not known yet is written to the
 * profile with `parent` (0: none known). NULL: no memory. Valid until a processes_sweep() after
 * its end.
 */
struct process *processes_get(struct processes *processes, uint32_t index,
			      const struct process_ids *ids, uint64_t parent, uint64_t time);

/* The process that has this pid now, NULL if none was followed. */
struct process *processes_by_pid(struct processes *processes, uint32_t pid);

/* The process if the index is known, else NULL. */
struct process *processes_by_index(struct processes *processes, uint32_t index);

/* The id of a thread, written when it is new; 0: no memory. */
uint64_t processes_thread(struct processes *processes, const struct process *process, uint32_t tid);

/* The same for a thread that begins: one of this number that has ended is another one. `ns_tid`:
 * its number in its own pid namespace, 0: unknown. */
uint64_t processes_thread_begins(struct processes *processes, const struct process *process,
				 uint32_t tid, uint32_t ns_tid);
void processes_thread_ended(struct processes *processes, const struct process *process,
			    uint32_t tid);

/* The child of a fork knows what its parent knows. */
void process_inherit(struct process *child, const struct process *parent);

/* Another program runs: forgets what was mapped before `time`, and all names. */
int process_exec(struct process *process, uint64_t time);

/* The process is gone; what it knows is kept for a while, for records that come late. */
void processes_ended(struct processes *processes, struct process *process);

/* Who knows whether a process is still there; whose end no record told is handed to `gone`. */
struct processes_watch {
	bool (*is_there)(void *context, uint32_t index);
	void (*gone)(void *context, uint32_t pid);
	void *context;
};

/*
 * To be called once a second: drops what is known of processes and threads that ended before the
 * last few calls, so that what is kept is bounded by what runs. Of the others some are looked
 * after in each call; NULL: none.
 */
void processes_sweep(struct processes *processes, const struct processes_watch *watch);

/*
 * Numbers that the program gives (types, samples, code) are unique within one
 * program. A second program in the same process counts from the start again:
 * bits 48 and up tell them apart.
 */
uint64_t process_number(struct process *process, uint64_t number);

/* A record uses the name: it is written now if it is known, else as soon as it becomes known. */
int processes_reference(struct processes *processes, struct process *process, enum name_kind kind,
			uint64_t number);
int processes_name(struct processes *processes, struct process *process, enum name_kind kind,
		   uint64_t number, const struct name *name);

#endif
