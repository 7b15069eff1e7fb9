/* SPDX-License-Identifier: BSD-2-Clause */
/* after_mark.h: between marking and sweeping: what is done for the dead, a part at a time. */
#ifndef GCPROF_AFTER_MARK_H
#define GCPROF_AFTER_MARK_H

#include "heap.h"

/* Nothing is gray, after a minor collection. */
void after_mark_begin(struct gc_heap *heap);

bool after_mark_has_work(const struct gc_heap *heap);

/* Goes on for so many items, with nothing gray; true when all is done. */
bool after_mark_some(struct gc_heap *heap, size_t items);

/* The marks are about to be forgotten. */
void after_mark_abandon(struct gc_heap *heap);

#endif
