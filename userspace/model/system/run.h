/* SPDX-License-Identifier: BSD-2-Clause */
/* run.h: facts about the recording as a whole, and the CPU time of its threads. */
#ifndef GCPROF_MODEL_RUN_H
#define GCPROF_MODEL_RUN_H

#include <stdint.h>

#include "../../profile/paused.h"
#include "../../profile/record.h"
#include "../../util/buffer.h"

struct selection;
struct world;

struct run {
	const struct selection *selection;        /* NULL: everything */
	uint64_t first_time;                      /* earliest time of any record */
	uint64_t end;                             /* 0: the profile has no end */
	uint64_t chunk_time;                      /* when the current chunk began */
	int64_t unsampled, unsampled_spread;      /* CPU time in ns; and the part in the timeline */
	uint64_t clock_monotonic, clock_realtime; /* first pair; 0: none */
	struct paused paused;
	size_t command_capacity;
	struct buffer command_line;
};

void run_free(struct run *run);

/* Each adds a record to the model. If not void: 0, -EBADMSG or -ENOMEM. */
int run_meta(struct world *world, const struct record_meta *record);
int run_argument(struct run *run, struct world *world, const struct record_argument *record);
void run_recording(struct world *world, const struct record_recording *record);
void run_clock(struct run *run, const struct record_clock *record);
void run_quota(struct world *world, const struct record_quota *record);

/*
 * Starts a new chunk. Spreads the previous chunk's CPU time without timer samples over that
 * chunk.
 */
void run_chunk(struct run *run, struct world *world);

/*
 * Adds a thread's CPU time from the scheduler's accounting, and the part that timer samples do
 * not cover.
 */
int run_cpu_time(struct run *run, struct world *world, const struct record_cpu_time *record);

/* Call after the last record. 0 or -ENOMEM. */
int run_finish(struct run *run, struct world *world);

#endif
