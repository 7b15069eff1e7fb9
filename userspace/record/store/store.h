/* SPDX-License-Identifier: BSD-2-Clause */
/* store.h: turns ring events, in order of time, into records of a profile. */
/*
 * Uses the recording's processes, threads and mappings to turn addresses into places in files, and
 * keeps types and functions until a record first refers to them.
 */
#ifndef GCPROF_STORE_H
#define GCPROF_STORE_H

#include "../../../bpf/events.h"
#include "../../profile/writer.h"
#include "../world/processes.h"

struct store;
struct files;
struct own_code;
struct session;

/* All are borrowed. `files` must know a file before its mapping comes here. */
int store_create(struct profile_writer *writer, struct files *files, struct processes *processes,
		 struct store **out);
void store_free(struct store *store); /* NULL is allowed */

/*
 * Adds the started program under the kernel side's index, with its pids in the initial namespace
 * and in its own, which is ours.
 */
int store_add_process(struct store *store, uint32_t process, uint32_t pid, uint32_t ns_pid,
		      uint64_t time);

/* From now on kernel functions get names. Borrowed, until store_symbolize_all(). */
void store_know_kernel(struct store *store, struct session *session);

/* Timer samples in this code are marked as cost of recording. Borrowed. */
void store_know_own_code(struct store *store, struct own_code *own);

/* An agent that the program and its children should load. */
struct store_agent {
	char name[32];    /* of its provider */
	const char *file; /* base name of its file, which programs map; NULL: it only switches
			     on the runtime's own sampler; borrowed */
	uint32_t runtime; /* RUNTIME_NONE: for any program */
	bool harmful;     /* no program is started with it: it would not run */
	bool warned;      /* the user knows already that it does not work in some program */
};

/* From now on, processes without it are written to the profile. Borrowed. */
void store_expect_agent(struct store *store, struct store_agent *agent);

/* An event, `event->size` bytes of which are readable. Malformed events are counted and dropped. */
int store_event(struct store *store, const struct event_header *event);

/* Events after this time (0: no limit) do not wait for their stack dumps (stacks.h). Returns the
 * previous time. */
uint64_t store_walk_until(struct store *store, uint64_t time);

/* The number of events in a record, stored or lost. Its size has been checked. */
uint64_t store_events_in(const struct event_header *event);

/* Does an event only serve others, so that it is not counted where it is stored? Such events name
 * things, complete stacks, or are part of an event to come. */
bool store_is_auxiliary(const struct event_header *event);

/* A mapping of a known process of this user, at once and out of order. */
void store_meet_mapping(struct store *store, const struct event_mmap *event, const char *path,
			uint32_t user);

/* An event from a ring, or the end of a process: requests names of what may soon be unloaded. */
void store_meet_event(struct store *store, const struct event_header *event, size_t size);
void store_meet_end(struct store *store, uint64_t process);

/* A process was forked. */
void store_meet_fork(struct store *store, const struct process *child);

/* The profile has reached the end of a process. */
void store_forget(struct store *store, uint64_t process);

/* A report of an interpreted function, for the names of its frames. */
void store_meet_bytecode(struct store *store, const struct event_header *event, size_t size);

/* The recording is paused or resumed. What programs report of the time between is not stored. */
int store_pause(struct store *store, uint64_t time, bool on);

/* What was added to the exact totals of one system call in one process; -ENOENT if no event has
 * named the process yet. */
int store_syscall_total(struct store *store, uint64_t time, const struct syscall_key *key,
			const struct syscall_total *total);

/* The same for its CPU time. */
int store_call_cpu(struct store *store, uint64_t time, uint32_t process,
		   const struct call_cpu *cpu);

/* Starts the reader of symbols before the first request. */
void store_prepare_symbols(struct store *store);

/* Requests the names of native and kernel frames since the last call, and writes names that were
 * found (`symbol` records). Does not wait. */
int store_symbolize(struct store *store);

/* Writes the names that were found. */
int store_symbolize_turn(struct store *store);

/* The same for all frames, until everything that can be found is, at most `ns`. */
int store_symbolize_all(struct store *store, uint64_t ns);

/* Are the names of all requested frames written, as far as they can be found? */
bool store_is_symbolized(const struct store *store);

/* Writes the names of the last programs that were executed: "sh, make or cc". Returns their number,
 * at most one more than are named. */
size_t store_programs(const struct store *store, char *out, size_t size);

/* Refused events, by reason (codes of loss.def from LOSS_KERNEL_MAX). */
uint64_t store_loss(const struct store *store, enum loss reason);

/* Timer ticks in our own code (store_know_own_code()). */
uint64_t store_own_ticks(const struct store *store);

/* Stored events of a stream. */
uint64_t store_count(const struct store *store, enum stream stream);

/* Events that came from the rings so far, before they are in time order: allocation samples, and
 * events about collections. */
struct store_arrived {
	uint64_t samples, gc;
};

struct store_arrived store_arrived(const struct store *store);

/* Stored allocation samples, without their outcomes. */
uint64_t store_sampled(const struct store *store);

/* Collections that have ended. */
uint64_t store_collections(const struct store *store);

#endif
