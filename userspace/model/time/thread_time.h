/* SPDX-License-Identifier: BSD-2-Clause */
/* thread_time.h: where the wall time of each thread went. */
/*
 * What a wait was for is known when its functions have names, so waits with a record are summed by
 * thread, call and stack until then. Waits without one are divided like those of their process that
 * have one, call by call. A filter cannot select among the kernel's totals: with one, nothing is
 * divided. Not thread-safe.
 */
#ifndef GCPROF_THREAD_TIME_H
#define GCPROF_THREAD_TIME_H

#include <stddef.h>
#include <stdint.h>

#include "../event.h"
#include "../rows.h"

struct map;
struct open_gcs;

struct stops {
	struct map *processes; /* -> struct stop_spans *; NULL: none yet */
};

void stops_free(struct stops *stops);

/* Adds a stop of the process. They end in order of time and may overlap. 0 or -ENOMEM. */
int stops_add(struct stops *stops, uint64_t process, uint64_t begin, uint64_t end);

/* For how long the process was stopped between two times; `open`: pauses in progress, or NULL. */
uint64_t stops_between(const struct stops *stops, const struct open_gcs *open, uint64_t process,
		       uint64_t begin, uint64_t end);

struct thread_wait;
struct process_call;
struct world;

struct thread_time {
	struct thread_wait *waits;  /* by thread, call and stack */
	struct process_call *calls; /* by process and call */
	size_t n_waits, waits_capacity, n_calls, calls_capacity;
	struct map *wait_index, *call_index; /* -> number, from 1; NULL: none yet */
	struct stops stops;
};

void thread_time_free(struct thread_time *time);

/* Each: 0, -EBADMSG, -ENOMEM. `open`: the pauses in progress. */
int thread_time_cpu(struct world *world, const struct event *event);
int thread_time_wait(struct thread_time *time, struct world *world, const struct event *event,
		     const struct open_gcs *open);
int thread_time_total(struct thread_time *time, const struct record_syscall_total *record);

/* Sets `time` of all threads, as far as it is known, before time_divide(). 0 or -ENOMEM. */
int thread_time_finish(struct thread_time *time, struct world *world);

/* Cuts the parts, in the order of their table, so that they sum to this; the last is the rest. */
void time_divide(uint64_t wall_ns, uint64_t parts[TIME_PARTS]);

/* Does a thread with these parts do the program's work? */
bool time_serves(uint64_t wall_ns, const uint64_t parts[TIME_PARTS]);

#endif
