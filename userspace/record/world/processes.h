/* SPDX-License-Identifier: BSD-2-Clause */
/* processes.h: the processes and threads of a recording. */
#ifndef GCPROF_PROCESSES_H
#define GCPROF_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../profile/writer.h"
#include "../../util/buffer.h"
#include "../../util/map.h"
#include "names.h"

/*
 * A process's mappings that may contain code. Forked processes share a table until one of them
 * changes it. Each holds one reference, and passes the address of that reference whenever the table
 * may change.
 */

struct mapping {
	uint64_t start, end; /* addresses, end exclusive */
	uint64_t offset;     /* of `start` in the file */
	uint64_t module;     /* id in the profile */
	uint64_t time;       /* when it was mapped */
	uint32_t file;       /* id (file.h); 0: none known */
};

struct mappings;

/* Common budget of several tables; empty if all zero. */
struct mappings_pool {
	size_t used; /* mappings in all tables */
};

#define MAPPINGS_MAX    65536     /* per process: the kernel's default limit */
#define MAPPINGS_SHARE  1024      /* always allowed, per process */
#define MAPPINGS_BUDGET (1 << 19) /* for all tables of a pool, beyond those shares */

/* May a table have this many? */
bool mappings_allow(const struct mappings_pool *pool, size_t n);

/* NULL stands for an empty table everywhere. */
struct mappings *mappings_share(struct mappings *mappings);
void mappings_release(struct mappings *mappings);

/*
 * Adds a mapping and removes what it covers. A mapping without module and file just removes. A
 * table belongs to the pool of its first mapping. -ENOMEM; -EOVERFLOW: the table would exceed its
 * share and three times the remaining budget. The table is unchanged then.
 */
int mappings_add(struct mappings **mappings, struct mappings_pool *pool,
		 const struct mapping *mapping);

/* Removes what was mapped before `time`. -ENOMEM if the table is shared and cannot be copied. */
int mappings_forget(struct mappings **mappings, uint64_t time);

/* All mappings, by address; *count is their number. Valid until the table changes. */
const struct mapping *mappings_all(const struct mappings *mappings, size_t *count);

/* The mapping that contains `address`, or NULL; valid until the table changes. */
const struct mapping *mappings_find(const struct mappings *mappings, uint64_t address);

/* Is exactly this mapped already, at any time? */
bool mappings_have(const struct mappings *mappings, const struct mapping *wanted);

/* A provider that may have reported to other recorders before this one. */
struct process_join {
	uint8_t provider;     /* number in events */
	uint64_t from, until; /* samples in this time are others' */
};

enum { PROCESS_JOINS = 4 };

/*
 * An entry of the process table. It has two halves: the present, as the rings report it (begin,
 * ids, end), and the state that the profile has reached in order of time (mappings, names,
 * threads). Other modules refer to a process by its index. Not thread-safe.
 */
struct process {
	uint64_t id; /* in the profile: the kernel side's index */

	/* What the rings report. */
	uint32_t pid;        /* in the initial pid namespace */
	uint32_t ns_pid;     /* innermost; 0: unknown */
	uint32_t proc_pid;   /* in the recorder's namespace, as in /proc; 0: not visible there */
	bool announced;      /* by the kernel side; otherwise known by its first event */
	uint32_t user;       /* who pays for it: real user id; USER_UNKNOWN: not announced yet */
	uint64_t begin, end; /* CLOCK_MONOTONIC ns; end: PROCESS_RUNS while it runs */
	struct process_join joins[PROCESS_JOINS]; /* joins.h */
	uint8_t n_joins;
	uint32_t runtimes;     /* bits: recorded without probes, so they announce nothing */
	uint64_t sampled;      /* samples of those so far */
	uint64_t unprobed;     /* time until then without probes is counted, ns */
	uint64_t ready;        /* its runtime started its last thread, ns; 0: not so far */
	uint64_t unready;      /* the probes of a runtime that was not ready were attached, ns */
	struct process *older; /* previous process with the same proc_pid */
	uint32_t parent;       /* index; 0: unknown, or none */
	uint64_t memory;       /* the same number: processes share their memory; 0: alone */
	uint64_t program;      /* since when its program runs; 0: since before it was reported */
	uint64_t mapped;       /* time of its latest mapping that was reported; 0: none */
	uint64_t unread;       /* mappings since then may have been lost; 0: none */
	uint64_t reread;       /* when these were read last, ns */
	uint64_t turn;         /* of the world, in which it mapped: */
	uint32_t turn_maps;    /* so many times */
	uint64_t turn_shared;  /* plus 1: in which those that share its memory were missed */
	struct buffer ahead;   /* struct mapping[], by time: process_ahead() */
	size_t reached;        /* number of those that the profile has reached */
	bool remapped;         /* its unwind rows are out of date */
	uint64_t interpreted;  /* its interpreters became known, ns; 0: none so far */
	uint32_t absent;       /* file that cannot be attached, or was unmapped before; 0: none */
	uint8_t copies;        /* enum text_copies (ingest/arrival.h), of this program: */
	uint64_t copies_of;    /* the time of its exec */
	uint64_t refused;      /* the same plus one: a message says that it has no probes */
	uint32_t unwinds_for;  /* the first of its users for whom the unwinder was notified */
	uint32_t follows_for;  /* the same: for whom the kernel side follows its sampled objects */

	/* What the profile has reached. */
	bool written;      /* is in the profile */
	bool over;         /* its last record is in the profile */
	unsigned sweeps;   /* since its end */
	unsigned missed;   /* consecutive checks that did not find it */
	bool numbered;     /* the program has assigned numbers: types, samples, code */
	uint64_t programs; /* programs replaced by exec after they had assigned numbers */
	/* As in events, in order of appearance; 0: locations in runtimes, and none. */
	uint8_t providers[PROFILE_PROVIDERS];
	uint8_t n_providers;
	uint64_t expects; /* since when its program should have loaded an agent, ns; 0: checked */
	bool collects;    /* its program has collections that a runtime's places report */
	bool unsampled;   /* the profile says why this program has no samples */
	uint64_t title;   /* last string written; 0: none */
	uint64_t changes; /* of mappings or program: invalidates derived data */
	struct mappings *mappings; /* NULL: none */
	struct names *names;       /* NULL: none */
	struct names_share *share; /* where its names count; NULL: nowhere yet */
	struct map *referenced; /* struct name_key: 1 referenced, 2 its name is written; or NULL */
	size_t threads;         /* number of known threads */
};

#define PROCESS_RUNS UINT64_MAX
#define USER_UNKNOWN UINT32_MAX

/* Its mappings that are not yet in the profile (ahead.h), by time. */
static inline struct mapping *process_ahead(const struct process *process, size_t *n)
{
	*n = process->ahead.size / sizeof(struct mapping) - process->reached;
	return *n ? (struct mapping *)(void *)process->ahead.data + process->reached : NULL;
}

struct processes;

/* The ids of a process, as above. */
struct process_ids {
	uint32_t pid, ns_pid, proc_pid;
};

/* `writer` is borrowed. */
int processes_create(struct profile_writer *writer, struct processes **out);
void processes_free(struct processes *processes); /* NULL is allowed */

/* --- the present, from the rings ---------------------------------------------------------- */

/* Valid until processes_sweep() drops the process, seconds after its end. NULL: unknown. */
struct process *processes_find(struct processes *processes, uint32_t index);

/* The process that had this proc_pid at `time` (ns), or NULL. */
struct process *processes_at(const struct processes *processes, uint32_t proc_pid, uint64_t time);

/* The process of an event at `time`, created if unknown; NULL: no memory. */
struct process *processes_meet(struct processes *processes, uint32_t index, uint32_t pid,
			       uint64_t time);

/* The kernel side announces a process: 1 if for the first time, else 0; -ENOMEM. */
int processes_begin(struct processes *processes, uint32_t index, const struct process_ids *ids,
		    uint64_t time);

/* Calls `visit` for each that is known; process_value() its value. It returns true. */
void processes_each(struct processes *processes, map_keep *visit, void *context);

static inline struct process *process_value(const uint64_t *value)
{
	return value ? (struct process *)(uintptr_t)*value : NULL;
}

/* The process ended: its ids may be reused from now on. */
void processes_end(struct process *process, uint64_t time);

/* The mapping budget of all processes. */
struct mappings_pool *processes_pool(struct processes *processes);

/* Adds the ids of all mapped files to a map, as keys. -ENOMEM. */
int processes_files(const struct processes *processes, struct map *files);

/* Number of known processes; of all their threads. */
size_t processes_count(const struct processes *processes);
size_t processes_threads(const struct processes *processes);

/* --- in order of time --------------------------------------------------------------------- */

/*
 * The process with this index, written to the profile if it is new there; `parent` 0: unknown.
 * NULL: no memory.
 */
struct process *processes_write(struct processes *processes, uint32_t index,
				const struct process_ids *ids, uint64_t parent, uint64_t time);

/* The process if it is already in the profile, else NULL. */
struct process *processes_written(struct processes *processes, uint32_t index);

/* The id of a thread, written if new; 0: no memory. */
uint64_t processes_thread(struct processes *processes, struct process *process, uint32_t tid);

/* The id of a thread if it is already in the profile, else 0. */
uint64_t processes_thread_known(const struct processes *processes, uint32_t process, uint32_t tid);

/* The id of a thread that begins: an ended one with the same tid is another thread. `ns_tid`: its
 * innermost tid, 0: unknown. */
uint64_t processes_thread_begins(struct processes *processes, struct process *process, uint32_t tid,
				 uint32_t ns_tid);
void processes_thread_ended(struct processes *processes, const struct process *process,
			    uint32_t tid);

/* Copies what a child of a fork inherits. */
void process_inherit(struct process *child, const struct process *parent);

/* The process executed a program: forgets what was mapped before `time`, and all names. */
int process_exec(struct processes *processes, struct process *process, uint64_t time);

/* The last record of the process is stored. Its data is kept for a while, for late records. */
void process_over(struct process *process, uint64_t time);

/* Checks whether processes still exist. `gone` gets those whose end was never reported, to end
 * them; `dropped` those that are about to be dropped. */
struct processes_watch {
	bool (*is_there)(void *context, const struct process *process);
	void (*gone)(void *context, struct process *process);
	void (*dropped)(void *context, const struct process *process);
	void *context;
};

/*
 * To be called once a second. Drops processes and threads that ended before the last few calls, so
 * that memory is bounded by what runs. Each call checks some of the others with `watch`; NULL:
 * none.
 */
void processes_sweep(struct processes *processes, const struct processes_watch *watch);

/*
 * A provider's numbers (types, samples, code) are unique within one program. A later program in the
 * process, or another provider, starts over; bits 44 to 47, and from 48 on, distinguish them.
 */
uint64_t process_number(struct process *process, uint8_t provider, uint64_t number);

/* The same for heaps. */
uint64_t process_heap(struct process *process, uint8_t provider, uint64_t heap);

/* A record refers to the name: it is written now if known, otherwise as soon as it is. Names beyond
 * the process's share are dropped and counted. -ENOMEM. */
int processes_reference(struct processes *processes, struct process *process,
			enum gcprof_name_kind kind, uint64_t number);
int processes_name(struct processes *processes, struct process *process, enum gcprof_name_kind kind,
		   uint64_t number, const struct name *name);

/* Referenced names that were dropped because their process had too many. */
uint64_t processes_unnamed(const struct processes *processes);

#endif
