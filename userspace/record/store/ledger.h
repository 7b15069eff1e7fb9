/* SPDX-License-Identifier: BSD-2-Clause */
/* ledger.h: the running figures of a recording: losses, system call totals, clocks. */
#ifndef GCPROF_LEDGER_H
#define GCPROF_LEDGER_H

#include "../../profile/writer.h"
#include "../kernel/call_tracing.h"
#include "../kernel/session.h"
#include "store.h"

struct ledger;

/* All three are borrowed. */
int ledger_create(struct profile_writer *writer, struct store *store, const struct session *session,
		  struct ledger **out);

/* What the recorder itself counts: the codes from LOSS_KERNEL_MAX on. */
void ledger_set_loss(struct ledger *ledger, enum loss loss, uint64_t count);
void ledger_add_loss(struct ledger *ledger, enum loss loss, uint64_t count);

/* Writes what changed since the last time: a clock pair, losses, totals. */
int ledger_put(struct ledger *ledger);

/*
 * From now on the profile also gets the times in which system calls were traced: the gate is
 * borrowed. ledger_put_calls() must be called each time that it was closed, before it is
 * opened again; it writes totals only.
 */
void ledger_watch_calls(struct ledger *ledger, const struct call_tracing *tracing);
int ledger_put_calls(struct ledger *ledger);

/* The same for the last time: what cannot be written any more is counted as lost. */
int ledger_finish(struct ledger *ledger);

/* Losses that turned up after that: in what was recorded, not in the recording. */
int ledger_put_losses(struct ledger *ledger);

/* The count so far, as of the last ledger_put(). */
uint64_t ledger_loss(const struct ledger *ledger, enum loss loss);

/* System calls so far in all totals, as of the last ledger_put(). */
uint64_t ledger_syscalls(const struct ledger *ledger);

/* Events of a stream so far. */
uint64_t ledger_events(const struct ledger *ledger, enum stream stream);

/* NULL is allowed. */
void ledger_free(struct ledger *ledger);

#endif
