/* SPDX-License-Identifier: BSD-2-Clause */
/* pauses.h: the longest pauses: what they copied or walked, and what lay in them. */
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
	struct open_gcs open;                   /* under way */
	struct long_pause longest[LONG_PAUSES]; /* longest first */
	size_t n_longest;
	uint64_t latest_end; /* of these */
	bool failed;         /* there was no memory for a cause */
};

void pauses_free(struct pauses *pauses);

/*
 * A collection ended; one of 0 ns is left out. *copied is NULL, or what the
 * caller adds to: the samples since the last minor collection. 0 or -ENOMEM.
 */
int pauses_end(struct pauses *pauses, const struct world *world, const struct record_gc_end *record,
	       const struct long_pause *ended, struct causes **copied);

/* What may lie in a pause. Threads must be known. */
void pauses_cpu(struct pauses *pauses, const struct world *world, const struct record_cpu *record);
void pauses_call(struct pauses *pauses, const struct world *world,
		 const struct record_syscall *record);
void pauses_wait(struct pauses *pauses, const struct world *world,
		 const struct record_wait *record);
void pauses_window(struct pauses *pauses, const struct world *world,
		   const struct record_call_window *record);

/* An object that was old is so no longer, or the profile is over: it was walked in these pauses. */
void pauses_old(struct pauses *pauses, const struct sample *sample);

/* Rows into the model, once functions and types have names. 0 or -ENOMEM. */
int pauses_finish(const struct pauses *pauses, struct world *world);

#endif
