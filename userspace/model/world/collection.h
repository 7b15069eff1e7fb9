/* SPDX-License-Identifier: BSD-2-Clause */
/* collection.h: a collection while it is under way and once it is over. */
#ifndef GCPROF_COLLECTION_H
#define GCPROF_COLLECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../profile/record.h"
#include "../rows.h"

struct causes;

/* A system call or a wait of a thread, part of which lay in a pause. */
struct guest {
	uint64_t thread;
	uint64_t begin, duration, overlap_ns;
	bool is_call;    /* else a wait outside of calls, for this reason */
	uint64_t number; /* as struct syscall_call has it, and what follows */
	uint64_t args[3];
	int64_t result;
	bool unfinished;
	const char *path;
	uint64_t reason;
};

/* All that lay in a pause as far as records told. */
struct guests {
	struct guest longest[PAUSE_CALLS]; /* parts in the pause */
	size_t n_longest;
	struct guest own;      /* longest call of the collecting thread, if there is any */
	struct guest own_wait; /* its longest wait, in a call or not */
	struct pause_sums sums;
	uint64_t cpu_ns, own_cpu_ns;
};

/* A collection, under way or over. */
struct long_pause {
	uint64_t process, thread, heap, cycle, kind, reason, name;
	uint64_t begin, end; /* end: UINT64_MAX while it is under way */
	uint64_t pause_ns;   /* without the collections inside it */
	struct record_gc_end figures;
	bool walked;           /* what was old already pays for it */
	double level;          /* of its process then: see struct charging */
	struct causes *causes; /* of one that is over */
	struct guests guests;
};

/* A collection that ended, or several of which sums are known, for samples_collected(). */
struct collection {
	uint64_t process;
	uint64_t pause_ns; /* without the collections inside it */
	uint64_t count;    /* more than one: all figures are of them together */
	bool timed;        /* pause_ns is known: the begin was not lost */
	bool minor;
	bool has_stats;
	uint64_t promoted_bytes;
};

#endif
