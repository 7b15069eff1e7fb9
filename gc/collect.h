/* SPDX-License-Identifier: BSD-2-Clause */
/* collect.h: the order of events in a collection, and what is reported of it. */
#ifndef GCPROF_COLLECT_H
#define GCPROF_COLLECT_H

#include "heap.h"
#include "threads.h"

enum collect_kind { COLLECT_MINOR, COLLECT_FULL, COLLECT_STEP };

/* Collects, unless there was another collection since number `seen`. A thread, without the lock. */
void collect_run(struct gc_thread *self, enum collect_kind kind, uint32_t reason, uint64_t seen);

/* Likewise a step of the major collection under way; it moves nothing. */
void collect_step(struct gc_thread *self, uint32_t reason, uint64_t seen);

#endif
