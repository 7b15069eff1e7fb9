/* SPDX-License-Identifier: BSD-2-Clause */
/* large.h: large objects, each in its own mapping; they never move. */
#ifndef GCPROF_LARGE_H
#define GCPROF_LARGE_H

#include "heap.h"

/* Allocates a zeroed young object. NULL: the system refused memory. Any thread. */
void *large_alloc(struct gc_heap *heap, const struct gc_type_info *type, size_t size);

/* Whether young large objects call for a minor collection before one of `size` bytes. */
bool large_is_due(struct gc_heap *heap, size_t size);

/* Makes the reached young objects old and frees the others. */
void large_finish_minor(struct gc_heap *heap);

void large_clear_marks(struct gc_heap *heap);

/* Starts sweeping; objects that become old from now on are not swept. */
void large_begin_sweeping(struct gc_heap *heap);

/* Sweeps until memory of `chunks` chunks was freed; true when all are swept. */
bool large_sweep_some(struct gc_heap *heap, size_t chunks);

/* Unmaps the mappings kept for reuse. */
void large_free_spare(struct gc_heap *heap);

/* Frees all large objects when the heap is destroyed. */
void large_free(struct gc_heap *heap);

#endif
