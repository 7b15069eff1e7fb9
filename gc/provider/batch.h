/* SPDX-License-Identifier: BSD-2-Clause */
/* batch.h: samples that wait in their thread to be reported together. */
#ifndef GCPROF_BATCH_H
#define GCPROF_BATCH_H

#include "probe.h"

#include <stdbool.h>
#include <stdint.h>

struct gcprof_thread;
struct gc_batch;

/*
 * Adds the sample to the thread's batch. False: the sample must be reported
 * unbatched, at once, with sample->stack as this function set it. The thread
 * itself calls all functions of this file.
 */
bool batch_take(struct gcprof_thread *thread, struct probe_sample *sample);

/* gcprof_flush(). */
void batch_flush(struct gcprof_thread *thread);

/* Sets the type of a waiting sample; false: it does not wait. */
bool batch_typed(struct gcprof_thread *thread, uint64_t sample, uint64_t type);

/* Reports samples that have waited too long at the time `now`, ns. */
void batch_check(struct gcprof_thread *thread, uint64_t now);

/* Sampling has ended: reports waiting samples and forgets the reported stacks. */
void batch_end(struct gcprof_thread *thread);

/* In the child of a fork, for the remaining thread: waiting samples belong to the parent. */
void batch_forked(struct gcprof_thread *thread);

/* Number of waiting samples. */
uint32_t batch_waiting(const struct gcprof_thread *thread);

/* Drops waiting samples. */
void batch_free(struct gcprof_thread *thread);

#endif
