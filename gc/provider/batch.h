/* SPDX-License-Identifier: BSD-2-Clause */
/* batch.h: samples that wait in their thread to be handed over together. */
#ifndef GCPROF_BATCH_H
#define GCPROF_BATCH_H

#include "probe.h"

#include <stdbool.h>
#include <stdint.h>

struct gcprof_thread;
struct gc_batch;

/*
 * Takes the sample into the thread's batch, or returns false: then it must be
 * sent by itself, at once, with sample->stack as it is now. All by the thread.
 */
bool batch_take(struct gcprof_thread *thread, struct probe_sample *sample);

/* gcprof_flush(). */
void batch_flush(struct gcprof_thread *thread);

/* Gives the sample its type, if it waits. */
bool batch_typed(struct gcprof_thread *thread, uint64_t sample, uint64_t type);

/* It is `now`, ns: hands over what has waited too long. */
void batch_check(struct gcprof_thread *thread, uint64_t now);

/* Sampling ended: hands over what waits and forgets the stacks that were reported. */
void batch_end(struct gcprof_thread *thread);

/* In the child of a fork, for the thread that is left: what waits is the parent's. */
void batch_forked(struct gcprof_thread *thread);

/* Samples that wait. */
uint32_t batch_waiting(const struct gcprof_thread *thread);

/* Drops what waits. */
void batch_free(struct gcprof_thread *thread);

#endif
