/* SPDX-License-Identifier: BSD-2-Clause */
/* drain.h: the rounds of a recording: events go from the rings to the profile while it runs. */
#ifndef GCPROF_DRAIN_H
#define GCPROF_DRAIN_H

#include "../../profile/writer.h"
#include "../store/counters.h"
#include "../kernel/perf_maps.h"
#include "../kernel/session.h"
#include "../store/store.h"
#include "../unwind/unwinder.h"

/* What a drain works with; all borrowed. */
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
	struct control *control;   /* NULL: programs are left alone */
	struct unwinder *unwinder; /* NULL: stacks are not walked by rows */
	uint64_t began; /* ns: what programs kept from before, for other recorders, is left out */
};

struct drain;

int drain_create(const struct drain_parts *parts, struct drain **out);

/*
 * One round: empties all rings, hands on what is old enough and, once a second,
 * writes figures and closes a chunk. Attaches to files that were mapped and not
 * seen before. A negative errno means that the profile cannot be written.
 */
int drain_round(struct drain *drain);

/* How long to sleep until the next round, at most `ms`. */
int drain_timeout(const struct drain *drain, int ms);

/* Waits until the files that are mapped so far are read, and their probes attached. */
int drain_settle(struct drain *drain);

/* Does a program that ran before know that this recorder attached, or need not? Not if nothing in
 * it can. */
bool drain_attached(const struct drain *drain, uint32_t proc_pid);

/*
 * The profile is to go on in another file: reports figures as of now, and holds back what happens
 * from now on. When all that happened before is written, drain_is_split(), what comes after
 * drain_go_on() is for the next file.
 */
int drain_split(struct drain *drain, uint64_t *time);
bool drain_is_split(const struct drain *drain);
void drain_go_on(struct drain *drain);

/* For how long the end waits, ns at most. */
struct patience {
	uint64_t files_ns; /* for files that are being read */
	uint64_t walks_ns; /* for stacks that are being walked */
	uint64_t names_ns; /* for names of functions */
};

/* The last round: everything is handed on, nothing is held back. */
int drain_finish(struct drain *drain, const struct patience *patience);

/* A sentence about a file that could not be attached since the last call, or NULL. */
const char *drain_trouble(struct drain *drain);

/* NULL is allowed. */
void drain_free(struct drain *drain);

#endif
