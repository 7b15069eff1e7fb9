/* SPDX-License-Identifier: BSD-2-Clause */
/* collect.h: the order of events in a collection, and its reporting. */
#ifndef GCPROF_COLLECT_H
#define GCPROF_COLLECT_H

#include "heap.h"
#include "threads.h"

enum collect_kind { COLLECT_MINOR, COLLECT_FULL, COLLECT_STEP };

/* Collects, unless a collection has ended since number `seen`. Call it without the heap's lock. */
void collect_run(struct gc_thread *self, enum collect_kind kind, uint32_t reason, uint64_t seen);

/* Likewise runs one step of the current major collection, which moves nothing. */
void collect_step(struct gc_thread *self, uint32_t reason, uint64_t seen);

#endif
