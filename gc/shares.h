/* SPDX-License-Identifier: BSD-2-Clause */
/* shares.h: from where in the nursery a thread takes its memory: its share. */
#ifndef GCPROF_SHARES_H
#define GCPROF_SHARES_H

#include "heap.h"

/* Numbers the threads that run; returns how many there are. */
uint32_t shares_number(struct gc_heap *heap);

/* Cuts the empty nursery into shares for so many threads. */
void shares_cut(struct gc_heap *heap, uint32_t running);

/* Cuts off memory; NULL: the nursery, or every share, has less left. The thread itself. */
char *shares_take(struct gc_thread *thread, size_t size);

/* Overwrites what was taken, so that no use of it goes unnoticed. */
void shares_poison(struct gc_nursery *nursery);

#endif
