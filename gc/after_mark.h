/* SPDX-License-Identifier: BSD-2-Clause */
/* after_mark.h: work on dead objects between marking and sweeping, in parts. */
#ifndef GCPROF_AFTER_MARK_H
#define GCPROF_AFTER_MARK_H

#include "heap.h"

/* Call it after a minor collection, with nothing gray. */
void after_mark_begin(struct gc_heap *heap);

bool after_mark_has_work(const struct gc_heap *heap);

/* Processes up to `items` items, with nothing gray; true when all are done. */
bool after_mark_some(struct gc_heap *heap, size_t items);

/* Call it before the marks are discarded. */
void after_mark_abandon(struct gc_heap *heap);

#endif
