/* SPDX-License-Identifier: BSD-2-Clause */
/* cpu_time.h: CPU time by the scheduler's account, divided among the timer samples of a chunk. */
/*
 * How much CPU time there was is known exactly, thread by thread; timer samples only divide it.
 * A writer gathers both for each chunk and writes `cpu_time` records at its end. A reader looks
 * at these before it hands out the samples of the chunk.
 */
#ifndef GCPROF_CPU_TIME_H
#define GCPROF_CPU_TIME_H

#include "record.h"

/* --- writing --- */

struct cpu_sums;

int cpu_sums_create(struct cpu_sums **out);
void cpu_sums_free(struct cpu_sums *sums); /* NULL is allowed */

/*
 * The thread used so many ns since this was last called for it; negative ones correct others.
 * With `ticks`, a timer sample that stands for so many was hit, else none. 0 or -ENOMEM.
 */
int cpu_sums_add(struct cpu_sums *sums, uint64_t thread, int64_t used, uint64_t ticks);

/*
 * Divides what was gathered since the last call; `tick_ns`: between two ticks. Calls `put` with
 * each cpu_time record; ends with its first error, and returns it.
 */
typedef int cpu_sums_put(void *context, const struct record *record);
int cpu_sums_divide(struct cpu_sums *sums, uint64_t tick_ns, cpu_sums_put *put, void *context);

/* What comes is in another file: no sample there stands for time that was used before, and threads
 * have other ids. */
void cpu_sums_cut(struct cpu_sums *sums);

/* --- reading --- */

struct cpu_shares;

int cpu_shares_create(struct cpu_shares **out);
void cpu_shares_free(struct cpu_shares *shares); /* NULL is allowed */

/* A chunk begins: forgets the records of the one before. */
void cpu_shares_begin(struct cpu_shares *shares);

/* One of its cpu_time records; 0 or -ENOMEM. */
int cpu_shares_add(struct cpu_shares *shares, const struct record_cpu_time *record);

/*
 * Fills `ns` of a timer sample if it is 0. Where no cpu_time record tells of its thread, as in
 * profiles that have none, it stands for its ticks at the `frequency`. Rounding adds up to nothing.
 */
void cpu_shares_fill(struct cpu_shares *shares, uint64_t frequency, struct record_cpu *sample);

#endif
