/* SPDX-License-Identifier: BSD-2-Clause */
/* counters.h: running figures of a recording: losses, system call totals, clocks. */
#ifndef GCPROF_COUNTERS_H
#define GCPROF_COUNTERS_H

#include <stdbool.h>

#include "../../../bpf/events.h"
#include "../../profile/writer.h"
#include "../kernel/session.h"
#include "store.h"

struct counters;

/* All three are borrowed. */
int counters_create(struct profile_writer *writer, struct store *store,
		    const struct session *session, struct counters **out);

/* Sets a loss that the recorder counts: codes from LOSS_KERNEL_MAX. */
void counters_set_loss(struct counters *counters, enum loss loss, uint64_t count);
void counters_add_loss(struct counters *counters, enum loss loss, uint64_t count);

/* Writes what changed since the last call: a clock pair, losses, totals. */
int counters_put(struct counters *counters);

/*
 * The same each second, but a window of system calls that has just begun is not divided: its parts
 * would be scaled one by one, and of calls in progress and CPU time only its end knows all.
 */
int counters_put_second(struct counters *counters);

/*
 * From now on, also writes when system calls were traced, and for how long they were not. `tracing`
 * is borrowed. counters_put_calls() must be called whenever tracing ended, before it resumes; it
 * writes totals only.
 */
void counters_watch_calls(struct counters *counters, const struct call_tracing *tracing);
int counters_put_calls(struct counters *counters);

/* From now on, also writes what the control groups of this process limit. */
void counters_follow_limits(struct counters *counters, uint32_t pid);

/* The recording is paused, or over, or resumed: the time between, or after it, counts as neither
 * traced nor untraced. */
void counters_pause(struct counters *counters, uint64_t time);
void counters_resume(struct counters *counters, uint64_t time);

/* The last counters_put(): counts what can no longer be written as lost. */
int counters_finish(struct counters *counters);

/* Losses found after that, in what was recorded. */
int counters_put_losses(struct counters *counters, uint64_t time);

/* Totals of processes that the profile did not have yet, because their first events were
 * pending. */
int counters_put_fresh(struct counters *counters, uint64_t time);

/* The count as of the last counters_put(). */
uint64_t counters_loss(const struct counters *counters, enum loss loss);

/* System calls in all totals, as of the last counters_put(). */
uint64_t counters_syscalls(const struct counters *counters);

/* NULL is allowed. */
void counters_free(struct counters *counters);

/* What a profile has of the totals of a call, to write only what was added since. */

/* Totals, in a fraction of their size: most buckets of a histogram are empty. */
struct call_written;

/* A copy of the totals, for free(); NULL: no memory. */
struct call_written *call_written_of(const struct syscall_total *total);

/*
 * Subtracts what is written (NULL: nothing) from the totals. A longest call or wait (ns) that is
 * not longer than before is then 0 for waits, and for calls the lower bound of the highest bucket
 * with new ones. False: there is nothing new.
 */
bool call_written_subtract(const struct call_written *written, struct syscall_total *total);

#endif
