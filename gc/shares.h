/* SPDX-License-Identifier: BSD-2-Clause */
/* shares.h: divides the nursery into shares, one for each running thread. */
#ifndef GCPROF_SHARES_H
#define GCPROF_SHARES_H

#include "heap.h"

/* Numbers the running threads; returns how many there are. */
uint32_t shares_number(struct gc_heap *heap);

/* Divides the empty nursery into shares for `running` threads. */
void shares_cut(struct gc_heap *heap, uint32_t running);

/* Takes memory; NULL: the nursery, or every share, has less left. The thread itself. */
char *shares_take(struct gc_thread *thread, size_t size);

/* Overwrites the memory that was taken, so that stale references show. */
void shares_poison(struct gc_nursery *nursery);

#endif
