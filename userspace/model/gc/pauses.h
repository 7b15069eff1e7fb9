/* SPDX-License-Identifier: BSD-2-Clause */
/* pauses.h: the longest pauses: the objects that they processed, and the events during them. */
#ifndef GCPROF_PAUSES_H
#define GCPROF_PAUSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../profile/record.h"
#include "open_gcs.h"

struct sample;
struct world;

struct pauses {
	struct open_gcs open;                   /* in progress */
	struct long_pause longest[LONG_PAUSES]; /* longest first */
	size_t n_longest;
	uint64_t latest_end; /* latest end of these */
	bool failed;         /* ran out of memory for a cause or event */
};

void pauses_free(struct pauses *pauses);

/*
 * Ends a collection, whose events it takes; one of 0 ns is ignored. *copied is NULL, or the caller
 * must add the samples since the last minor collection to it. 0 or -ENOMEM.
 */
int pauses_end(struct pauses *pauses, const struct world *world, const struct record_gc_end *record,
	       const struct long_pause *ended, struct causes **copied);

/* Add an event that may overlap a pause. Its thread must be known. */
void pauses_cpu(struct pauses *pauses, const struct world *world, const struct record_cpu *record);
void pauses_call(struct pauses *pauses, const struct world *world,
		 const struct record_syscall *record);
void pauses_wait(struct pauses *pauses, const struct world *world,
		 const struct record_wait *record);
void pauses_window(struct pauses *pauses, const struct world *world,
		   const struct record_call_window *record);

/*
 * Call when an object ceases to be old, and at the end for those that are still old. Adds it to
 * each pause that walked it.
 */
void pauses_old(struct pauses *pauses, const struct sample *sample);

/* Fills the model's rows. Functions and types must have names. 0 or -ENOMEM. */
int pauses_finish(const struct pauses *pauses, struct world *world);

#endif
