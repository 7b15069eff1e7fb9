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
	uint64_t queued; /* of a wait: at its end, without a CPU, though the thread could run */
	bool is_call;    /* if false: a wait outside of calls, with this reason */
	uint64_t number; /* this and the next fields as in struct syscall_call */
	uint64_t args[3];
	int64_t result;
	bool unfinished;
	const char *path;
	uint64_t reason;
};

/* Calls, waits and CPU time of a thread in a pause, as far as recorded. */
struct pause_thread {
	uint64_t thread; /* 0: all that came when there was no room for more */
	uint64_t calls, call_ns, futex_calls, futex_ns, wait_ns, cpu_ns;
	uint64_t ready_ns;             /* of the waits: without a CPU, though it could run */
	struct pause_event call, wait; /* longest ones, overlap_ns 0: none; see note_longest() */
};

enum { PAUSE_THREADS = 24 };

struct pause_events {
	struct pause_thread own; /* the collecting thread */
	struct pause_thread others[PAUSE_THREADS];
	size_t n_others;
};

/* A collection, in progress or ended. */
struct long_pause {
	uint64_t process, thread, heap, cycle, kind, reason, name;
	uint64_t begin, end; /* end: UINT64_MAX while in progress */
	uint64_t pause_ns;   /* excludes nested collections */
	struct record_gc_end figures;
	bool walked;                 /* it is charged to objects that were old already */
	double level;                /* of its process at that time: see struct charging */
	struct causes *causes;       /* only of an ended one */
	struct pause_events *events; /* owned; NULL: none */
	uint64_t traced_ns;
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
