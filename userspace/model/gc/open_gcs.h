/* SPDX-License-Identifier: BSD-2-Clause */
/* open_gcs.h: collections in progress. */
/*
 * A collection is identified by its process and heap, and by its cycle and kind, because one may
 * contain another. Any thread of the process may end it. If the end was lost, the collection is
 * taken to be over when another one like it begins, when the thread that began it allocates or
 * ends, or when too many are open.
 */
#ifndef GCPROF_OPEN_GCS_H
#define GCPROF_OPEN_GCS_H

#include "../world/collection.h"

/* A collection between its gc_begin and its gc_end. */
struct open_gc {
	struct long_pause pause;
	uint64_t stop;          /* first cycle of the stop, 0: unknown */
	uint64_t nested_faults; /* page faults in nested collections */
	uint64_t nested_ns;     /* time in nested collections */
	bool inside;            /* nested in another collection of the same thread */
	uint64_t cpu_samples;   /* of its thread, while it was the innermost one */
	uint64_t cpu_ns;        /* CPU time of these samples */
};

enum { OPEN_GCS_MAX = 64 };

struct open_gcs {
	struct open_gc items[OPEN_GCS_MAX]; /* in the order of their begins */
	size_t count;
};

/* Adds a collection. Returns the number of older ones whose ends must have been lost. */
size_t open_gcs_begin(struct open_gcs *open, const struct open_gc *begun);

/*
 * Ends a collection; false if its begin is unknown, else the caller owns out->pause.events. *lost:
 * others whose ends must have been lost.
 */
bool open_gcs_end(struct open_gcs *open, uint64_t process, const struct record_gc_end *record,
		  struct open_gc *out, size_t *lost);

/* Ends what the thread began before `time`. Returns how many collections there were; stops without
 * one do not count. */
size_t open_gcs_leave(struct open_gcs *open, uint64_t thread, uint64_t time);

/* Index of the thread's innermost collection at this time, -1: none. */
int open_gcs_find(const struct open_gcs *open, uint64_t thread, uint64_t time);

#endif
