/* SPDX-License-Identifier: BSD-2-Clause */
/* drain.h: the rounds of a recording, which move events from the rings to the profile. */
#ifndef GCPROF_DRAIN_H
#define GCPROF_DRAIN_H

#include "../../profile/writer.h"
#include "../store/counters.h"
#include "../kernel/perf_maps.h"
#include "../kernel/session.h"
#include "../store/store.h"
#include "../unwind/unwinder.h"

/* The parts that a drain uses; all borrowed. */
struct drain_parts {
	struct session *session;
	struct perf_maps *maps; /* NULL: mappings are not watched */
	struct profile_writer *writer;
	struct processes *processes;
	struct store *store;
	struct counters *counters;
	struct files *files;
	struct opener *opener;
	struct switches *switches;
	struct control *control;   /* NULL: nothing is written to programs */
	struct unwinder *unwinder; /* NULL: no unwind rows */
	uint64_t began; /* ns: earlier samples were kept for other recorders and are left out */
};

struct drain;

int drain_create(const struct drain_parts *parts, struct drain **out);

/*
 * One round: empties all rings, stores events that are old enough and, once a second, writes
 * figures and ends a chunk. Attaches to newly mapped files. A negative errno means that the profile
 * cannot be written.
 */
int drain_round(struct drain *drain);

/* Time until the next round, at most `ms`. */
int drain_timeout(const struct drain *drain, int ms);

/* Waits until all mapped files are read and attached. */
int drain_settle(struct drain *drain);

/* Does a program that ran before know of this recorder, or need not? False if nothing in it can. */
bool drain_attached(const struct drain *drain, uint32_t proc_pid);

/*
 * The profile is to continue in another file: reports figures as of now, and holds back later
 * events. When drain_is_split() says that all earlier events are written, drain_go_on() starts the
 * next file.
 */
int drain_split(struct drain *drain, uint64_t *time);
bool drain_is_split(const struct drain *drain);
void drain_go_on(struct drain *drain);

/* The recording goes on after a pause. */
void drain_resume(struct drain *drain);

/* Limits on waiting at the end, ns. */
struct patience {
	uint64_t files_ns; /* for files that are being read */
	uint64_t walks_ns; /* for stack dumps that are being unwound */
	uint64_t names_ns; /* for names of functions */
};

/* The last round: stores everything. */
int drain_finish(struct drain *drain, const struct patience *patience);

/* A sentence about a file that could not be attached since the last call, or NULL. */
const char *drain_trouble(struct drain *drain);

/* NULL is allowed. */
void drain_free(struct drain *drain);

#endif
