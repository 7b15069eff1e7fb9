/* SPDX-License-Identifier: BSD-2-Clause */
/* counters.h: the running figures of a recording: losses, system call totals, clocks. */
#ifndef GCPROF_COUNTERS_H
#define GCPROF_COUNTERS_H

#include "../../profile/writer.h"
#include "../kernel/session.h"
#include "store.h"

struct counters;

/* All three are borrowed. */
int counters_create(struct profile_writer *writer, struct store *store,
		    const struct session *session, struct counters **out);

/* What the recorder itself counts: the codes from LOSS_KERNEL_MAX on. */
void counters_set_loss(struct counters *counters, enum loss loss, uint64_t count);
void counters_add_loss(struct counters *counters, enum loss loss, uint64_t count);

/* Writes what changed since the last time: a clock pair, losses, totals. */
int counters_put(struct counters *counters);

/*
 * From now on the profile also gets the times in which system calls were traced, and for how long
 * they were not. `tracing` is borrowed. counters_put_calls() must be called each time that it
 * ended, before it begins again; it writes totals only.
 */
void counters_watch_calls(struct counters *counters, const struct call_tracing *tracing);
int counters_put_calls(struct counters *counters);

/* The same for the last time: what cannot be written any more is counted as lost. */
int counters_finish(struct counters *counters);

/* Losses that turned up after that: in what was recorded, not in the recording. */
int counters_put_losses(struct counters *counters, uint64_t time);

/* Totals of what the profile has nothing of yet: its first events were still on their way. */
int counters_put_fresh(struct counters *counters, uint64_t time);

/* The count so far, as of the last counters_put(). */
uint64_t counters_loss(const struct counters *counters, enum loss loss);

/* System calls so far in all totals, as of the last counters_put(). */
uint64_t counters_syscalls(const struct counters *counters);

/* NULL is allowed. */
void counters_free(struct counters *counters);

#endif
