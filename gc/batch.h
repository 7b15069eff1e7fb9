/* SPDX-License-Identifier: BSD-2-Clause */
/* batch.h: samples that wait in their thread to be handed over together. */
#ifndef GCPROF_BATCH_H
#define GCPROF_BATCH_H

#ifndef GC_INTERNAL
#error "internal header of libgcprof-gc"
#endif

#include "probe.h"

#include <stdbool.h>
#include <stdint.h>

struct gc_thread;
struct gc_batch;

#if GCPROF_NO_SAMPLING

static inline void batch_flush(struct gc_thread *thread)
{
	(void)thread;
}

#else

/*
 * Takes the sample into the thread's batch, or returns false: then it must be
 * sent by itself, at once, with sample->stack as it is now. All by the thread.
 */
bool batch_take(struct gc_thread *thread, struct probe_sample *sample);

/* Hands over what waits. Before anything that may keep the thread from doing so soon. */
void batch_flush(struct gc_thread *thread);

/* It is `now`, ns: hands over what has waited too long. */
void batch_look(struct gc_thread *thread, uint64_t now);

/* Sampling ended: hands over what waits and forgets the stacks that were reported. */
void batch_end(struct gc_thread *thread);

/* In the child of a fork, for the thread that is left: what waits is the parent's. */
void batch_forked(struct gc_thread *thread);

/* Samples that wait. */
uint32_t batch_waiting(const struct gc_thread *thread);

/* Drops what waits. */
void batch_free(struct gc_thread *thread);

#endif

#endif
