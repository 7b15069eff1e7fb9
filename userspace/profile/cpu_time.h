/* SPDX-License-Identifier: BSD-2-Clause */
/* cpu_time.h: divides exact CPU time among the timer samples of a chunk. */
/*
 * The scheduler's accounting gives the exact CPU time of each thread; timer samples only divide it.
 * A writer collects both for each chunk and writes `cpu_time` records at its end. A reader reads
 * these before it returns the samples of the chunk.
 */
#ifndef GCPROF_CPU_TIME_H
#define GCPROF_CPU_TIME_H

#include "record.h"

/* --- writing --- */

struct cpu_sums;

int cpu_sums_create(struct cpu_sums **out);
void cpu_sums_free(struct cpu_sums *sums); /* NULL is allowed */

/*
 * The thread used `used` ns since the last call for it; a negative value corrects an earlier one.
 * If `ticks` is not 0, a timer sample that stands for that many ticks hit it. 0 or -ENOMEM.
 */
int cpu_sums_add(struct cpu_sums *sums, uint64_t thread, int64_t used, uint64_t ticks);

/*
 * Divides everything added since the last call; `tick_ns` is the time between two ticks, and after
 * the `last` call no time will be reported. Calls `put` with each cpu_time record, stops at its
 * first error and returns it.
 */
typedef int cpu_sums_put(void *context, const struct record *record);
int cpu_sums_divide(struct cpu_sums *sums, uint64_t tick_ns, bool last, cpu_sums_put *put,
		    void *context);

/* From now on data belongs to another file: samples there do not stand for earlier time, and thread
 * ids differ. */
void cpu_sums_cut(struct cpu_sums *sums);

/* --- reading --- */

struct cpu_shares;

int cpu_shares_create(struct cpu_shares **out);
void cpu_shares_free(struct cpu_shares *shares); /* NULL is allowed */

/* Starts a chunk: forgets the records of the previous one. */
void cpu_shares_begin(struct cpu_shares *shares);

/* Adds one cpu_time record of the chunk; 0 or -ENOMEM. */
int cpu_shares_add(struct cpu_shares *shares, const struct record_cpu_time *record);

/*
 * Fills `ns` of a timer sample if it is 0. Without a cpu_time record of its thread, as in older
 * profiles, the sample stands for its ticks at the `frequency`. Rounding errors cancel out.
 */
void cpu_shares_fill(struct cpu_shares *shares, uint64_t frequency, struct record_cpu *sample);

#endif
