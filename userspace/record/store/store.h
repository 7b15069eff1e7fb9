/* SPDX-License-Identifier: BSD-2-Clause */
/* store.h: turns ring events, in order of time, into records of a profile. */
/*
 * Knows the processes, threads and mappings of the recording, so that an
 * address becomes a place in a file, and keeps types and functions until a
 * record first needs their names.
 */
#ifndef GCPROF_STORE_H
#define GCPROF_STORE_H

#include "../../../bpf/events.h"
#include "../../profile/writer.h"
#include "../world/processes.h"

struct store;
struct files;
struct own_code;

/* All three are borrowed. A file is known to `files` before its mapping comes here. */
int store_create(struct profile_writer *writer, struct files *files, struct processes *processes,
		 struct store **out);
void store_free(struct store *store); /* NULL is allowed */

/*
 * Makes the program that was started known under the index that the kernel side uses for it, with
 * its numbers in the initial pid namespace and in its own, which is ours.
 */
int store_add_process(struct store *store, uint32_t process, uint32_t pid, uint32_t ns_pid,
		      uint64_t time);

/* Timer samples in this code are marked as what recording takes. Borrowed. */
void store_know_own_code(struct store *store, struct own_code *own);

/* One event, `event->size` bytes of it readable. Anything malformed is counted and dropped. */
int store_event(struct store *store, const struct event_header *event);

/* Events that are stored after this time, 0: never, wait for no walk of their stack (stacks.h).
 * Returns the time before. */
uint64_t store_walk_until(struct store *store, uint64_t time);

/* For how many an event counts, stored or lost: some come many at a time. Its size is checked. */
uint64_t store_events_in(const struct event_header *event);

/* Whether an event only serves others, and is not counted where it is stored: it names what they
 * refer to, or completes their stacks. */
bool store_is_auxiliary(const struct event_header *event);

/* A mapping of a process that is known, at once and out of order. */
void store_meet_mapping(struct store *store, const struct event_mmap *event, const char *path);

/* An event out of a ring: what goes away is named at once. The same for a process that ended. */
void store_meet_event(struct store *store, const struct event_header *event, size_t size);
void store_meet_end(struct store *store, uint64_t process);

/* A function that an interpreter runs, as it was reported: for the names of its frames. */
void store_meet_bytecode(struct store *store, const struct event_header *event, size_t size);

/* The exact totals of one system call in one process; -ENOENT if no event named it yet. */
int store_syscall_total(struct store *store, uint64_t time, const struct syscall_key *key,
			const struct syscall_total *total);

/* The same for its CPU time so far. */
int store_call_cpu(struct store *store, uint64_t time, uint32_t process,
		   const struct call_cpu *cpu);

/* Begins to read the kernel's symbols in the background, before the first name is needed. */
void store_prepare_symbols(struct store *store);

/* Asks for the names of native and kernel frames that came since the last call, and writes those
 * that were found meanwhile (`symbol` records). Does not wait. */
int store_symbolize(struct store *store);

/* Writes those that were found meanwhile. */
int store_symbolize_turn(struct store *store);

/* The same for all frames, until everything is found that can be, or for so many ns. */
int store_symbolize_all(struct store *store, uint64_t ns);

/* Are the names written of all frames that were asked for, as far as they can be found? */
bool store_is_symbolized(const struct store *store);

/* With --stack both: says how the stacks that were found agree. */
void store_report_cross_check(const struct store *store);

/* Events refused, by reason (codes of loss.def from LOSS_KERNEL_MAX on). */
uint64_t store_loss(const struct store *store, enum loss reason);

/* Ticks of the timer that were in our own code (store_know_own_code()). */
uint64_t store_own_ticks(const struct store *store);

/* Events stored of a stream. */
uint64_t store_count(const struct store *store, enum stream stream);

#endif
