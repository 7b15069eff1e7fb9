/* SPDX-License-Identifier: BSD-2-Clause */
/* open_gcs.h: collections that have begun and not ended yet. */
/*
 * A collection is known by its process and heap, and by its cycle and kind, as one may contain
 * another: any thread of the process may end it. The end may be lost: so it is over, too, when one
 * like it begins, when the thread that began it allocates or ends, and when there are too many.
 */
#ifndef GCPROF_OPEN_GCS_H
#define GCPROF_OPEN_GCS_H

#include "../world/collection.h"

/* A collection between its gc_begin and its gc_end. */
struct open_gc {
	struct long_pause pause;
	uint64_t stop;          /* its first cycle, 0: unknown */
	uint64_t nested_faults; /* page faults, and time */
	uint64_t nested_ns;     /* spent in collections inside this one */
	bool inside;            /* another one of its thread */
	uint64_t cpu_samples;   /* of its thread, while it was the innermost one, */
	uint64_t cpu_ns;        /* and what they stand for */
};

enum { OPEN_GCS_MAX = 64 };

struct open_gcs {
	struct open_gc items[OPEN_GCS_MAX]; /* in the order in which they began */
	size_t count;
};

/* One begins. Returns how many are over by that, whose ends were lost. */
size_t open_gcs_begin(struct open_gcs *open, const struct open_gc *begun);

/* One ends: false if its begin is not known. *lost: others that are over by that. */
bool open_gcs_end(struct open_gcs *open, uint64_t process, const struct record_gc_end *record,
		  struct open_gc *out, size_t *lost);

/* What the thread began before `time` is over. Returns how many these were. */
size_t open_gcs_leave(struct open_gcs *open, uint64_t thread, uint64_t time);

/* Place of the innermost one of a thread at this time, -1: none. */
int open_gcs_find(const struct open_gcs *open, uint64_t thread, uint64_t time);

#endif
