/* SPDX-License-Identifier: BSD-2-Clause */
/* run.h: what a profile says of the recording as a whole, and the CPU time of its threads. */
#ifndef GCPROF_MODEL_RUN_H
#define GCPROF_MODEL_RUN_H

#include <stdint.h>

#include "../../profile/record.h"
#include "../../util/buffer.h"

struct selection;
struct world;

struct run {
	const struct selection *selection;        /* NULL: everything */
	uint64_t first_time;                      /* of any record with a time */
	uint64_t chunk_time;                      /* when this chunk began */
	int64_t unsampled, unsampled_spread;      /* CPU time, ns, and what the timeline has */
	uint64_t clock_monotonic, clock_realtime; /* the first pair; 0: none */
	size_t command_capacity;
	struct buffer command_line;
};

void run_free(struct run *run);

/* Each takes a record into the model. Those that return something: 0, -EBADMSG or -ENOMEM. */
int run_meta(struct world *world, const struct record_meta *record);
int run_argument(struct run *run, struct world *world, const struct record_argument *record);
void run_recording(struct world *world, const struct record_recording *record);
void run_clock(struct run *run, const struct record_clock *record);

/* A chunk begins: CPU time that no timer sample of the one before stands for lies somewhere in it.
 */
void run_chunk(struct run *run, struct world *world);

/* The scheduler's account of a thread, and what of it the timer samples do not stand for. */
int run_cpu_time(struct run *run, struct world *world, const struct record_cpu_time *record);

/* Once all records were read. 0 or -ENOMEM. */
int run_finish(struct run *run, struct world *world);

#endif
