/* SPDX-License-Identifier: BSD-2-Clause */
/* processes.h: the processes and threads of a recording, and what is known about each. */
#ifndef GCPROF_PROCESSES_H
#define GCPROF_PROCESSES_H

#include <stdbool.h>
#include <stdint.h>

#include "mappings.h"
#include "names.h"
#include "../../profile/writer.h"
#include "../../util/buffer.h"
#include "../../util/map.h"

/* A provider of a program that may have reported to other recorders before this one. */
struct process_join {
	uint8_t provider;     /* as events name it */
	uint64_t from, until; /* samples of that time are others' */
};

enum { PROCESS_JOINS = 4 };

/*
 * The one table of processes. Each is known twice: at once, as the rings report it (begin, numbers,
 * end), and later in order of time, as the profile has it (mappings, names, threads). Whatever else
 * keeps something for a process refers to it by its index. Not thread-safe.
 */
struct process {
	uint64_t id; /* in the profile: the index that the kernel side uses */

	/* What the rings report. */
	uint32_t pid;        /* in the initial pid namespace */
	uint32_t ns_pid;     /* in its own; 0: unknown */
	uint32_t proc_pid;   /* where the recorder is, as in /proc; 0: it is not seen there */
	bool announced;      /* by the kernel side; else its earliest event made it known */
	uint64_t begin, end; /* CLOCK_MONOTONIC ns; end: PROCESS_RUNS until then */
	struct process_join joins[PROCESS_JOINS]; /* joins.h */
	uint8_t n_joins;
	uint32_t runtimes;     /* bits: recorded without probes of ours, so they announce nothing */
	uint64_t sampled;      /* samples of that so far */
	struct process *older; /* had the same proc_pid before */
	uint32_t parent;       /* index; 0: it is not known, or none */
	uint64_t program;      /* since when it runs its program; 0: before that was reported */
	struct buffer ahead;   /* struct mapping[], by time: more than the profile has (ahead.h) */
	bool remapped;         /* its unwind rows are not those of what it has mapped */

	/* What the profile has. */
	bool written;      /* it is in there */
	bool over;         /* its last record is, too */
	unsigned sweeps;   /* since its end */
	unsigned missed;   /* checks in a row that did not find it */
	bool numbered;     /* the program has numbered something: types, samples, code */
	uint64_t programs; /* that were replaced by exec after they had */
	/* As events name them, in the order in which they came; 0: runtimes' places, and none. */
	uint8_t providers[PROCESS_PROVIDERS];
	uint8_t n_providers;
	uint64_t title;            /* string that was written last; 0: none */
	uint64_t changes;          /* of mappings or program: what was derived from them is void */
	struct mappings *mappings; /* NULL: none */
	struct names *names;       /* NULL: none */
	struct map *referenced; /* struct name_key: 1 referenced, 2 its name is written; or NULL */
	size_t threads;         /* that are known */
};

#define PROCESS_RUNS UINT64_MAX

struct processes;

/* The numbers of a process, as above. */
struct process_ids {
	uint32_t pid, ns_pid, proc_pid;
};

/* `writer` is borrowed. */
int processes_create(struct profile_writer *writer, struct processes **out);
void processes_free(struct processes *processes); /* NULL is allowed */

/* --- as the rings report them ------------------------------------------------------------ */

/* A process stays valid until processes_sweep() drops it, seconds after its end. NULL: unknown. */
struct process *processes_find(struct processes *processes, uint32_t index);

/* The process that had this number where the recorder is at `time` (ns), or NULL. */
struct process *processes_at(const struct processes *processes, uint32_t proc_pid, uint64_t time);

/* The process of an event at `time`, made known if it is not; NULL: no memory. */
struct process *processes_meet(struct processes *processes, uint32_t index, uint32_t pid,
			       uint64_t time);

/* The kernel side announces a process: 1 if it had not before, else 0; -ENOMEM. */
int processes_begin(struct processes *processes, uint32_t index, const struct process_ids *ids,
		    uint64_t time);

/* It has ended: its numbers may be others' from now on. */
void processes_end(struct process *process, uint64_t time);

/* What mappings of all processes count in. */
struct mappings_pool *processes_pool(struct processes *processes);

/* Puts the ids of the files that processes have mapped as keys into a map. -ENOMEM. */
int processes_files(const struct processes *processes, struct map *files);

/* How many are known; and threads of all of them. */
size_t processes_count(const struct processes *processes);
size_t processes_threads(const struct processes *processes);

/* --- in order of time --------------------------------------------------------------------- */

/*
 * The process with this index; one that is not in the profile yet is written there with `parent`
 * (0: none known). NULL: no memory.
 */
struct process *processes_write(struct processes *processes, uint32_t index,
				const struct process_ids *ids, uint64_t parent, uint64_t time);

/* The process if it is in the profile already, else NULL. */
struct process *processes_written(struct processes *processes, uint32_t index);

/* The id of a thread, written when it is new; 0: no memory. */
uint64_t processes_thread(struct processes *processes, struct process *process, uint32_t tid);

/* The same if it is in the profile already, else 0. */
uint64_t processes_thread_known(const struct processes *processes, uint32_t process, uint32_t tid);

/* The same for a thread that begins: one of this number that has ended is another one. `ns_tid`:
 * its number in its own pid namespace, 0: unknown. */
uint64_t processes_thread_begins(struct processes *processes, struct process *process, uint32_t tid,
				 uint32_t ns_tid);
void processes_thread_ended(struct processes *processes, const struct process *process,
			    uint32_t tid);

/* The child of a fork knows what its parent knows. */
void process_inherit(struct process *child, const struct process *parent);

/* Another program runs: forgets what was mapped before `time`, and all names. */
int process_exec(struct processes *processes, struct process *process, uint64_t time);

/* Its last record is stored; what it knows is kept for a while, for records that come late. */
void process_over(struct process *process, uint64_t time);

/* Is a process still there? One whose end no record reports is handed to `gone`, to end it. */
struct processes_watch {
	bool (*is_there)(void *context, const struct process *process);
	void (*gone)(void *context, struct process *process);
	void *context;
};

/*
 * To be called once a second: drops what is known of processes and threads that ended before the
 * last few calls, so that what is kept is bounded by what runs. Some of the others are checked in
 * each call; NULL: none.
 */
void processes_sweep(struct processes *processes, const struct processes_watch *watch);

/*
 * Numbers that a provider gives (types, samples, code) are unique within one
 * program. A second program in the same process counts from the start again, and
 * so does another provider: bits 44 to 47, and from 48 on, tell them apart.
 */
uint64_t process_number(struct process *process, uint8_t provider, uint64_t number);

/* The same for heaps. */
uint64_t process_heap(struct process *process, uint8_t provider, uint64_t heap);

/* A record uses the name: it is written now if it is known, else as soon as it becomes known. A
 * process that has more names than its share gets no more, which is counted. -ENOMEM. */
int processes_reference(struct processes *processes, struct process *process, enum name_kind kind,
			uint64_t number);
int processes_name(struct processes *processes, struct process *process, enum name_kind kind,
		   uint64_t number, const struct name *name);

/* Names that were referred to and left out, since their process had too many. */
uint64_t processes_unnamed(const struct processes *processes);

#endif
