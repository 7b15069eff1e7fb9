/* SPDX-License-Identifier: BSD-2-Clause */
/* collection.h: a collection, in progress or ended. */
#ifndef GCPROF_COLLECTION_H
#define GCPROF_COLLECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../profile/record.h"
#include "../rows.h"

struct causes;

/* A system call or wait of a thread that overlaps a pause. */
struct pause_event {
	uint64_t thread;
	uint64_t begin, duration, overlap_ns;
	bool is_call;    /* if false: a wait outside of calls, with this reason */
	uint64_t number; /* this and the next fields as in struct syscall_call */
	uint64_t args[3];
	int64_t result;
	bool unfinished;
	const char *path;
	uint64_t reason;
};

/* All calls, waits and CPU time in a pause, as far as recorded. */
struct pause_events {
	struct pause_event longest[PAUSE_CALLS]; /* by overlap */
	size_t n_longest;
	struct pause_event own;      /* longest call of the collecting thread, if any */
	struct pause_event own_wait; /* its longest wait, in a call or not */
	struct pause_sums sums;
	uint64_t cpu_ns, own_cpu_ns;
};

/* A collection, in progress or ended. */
struct long_pause {
	uint64_t process, thread, heap, cycle, kind, reason, name;
	uint64_t begin, end; /* end: UINT64_MAX while in progress */
	uint64_t pause_ns;   /* excludes nested collections */
	struct record_gc_end figures;
	bool walked;           /* it is charged to objects that were old already */
	double level;          /* of its process at that time: see struct charging */
	struct causes *causes; /* only of an ended one */
	struct pause_events events;
};

/* A collection that ended, or the sums of several, for samples_collected(). */
struct collection {
	uint64_t process;
	uint64_t pause_ns; /* excludes nested collections */
	uint64_t count;    /* if more than one, all figures are sums */
	bool timed;        /* pause_ns is known: the begin was not lost */
	bool minor;
	bool has_stats;
	uint64_t promoted_bytes;
};

#endif
