/* SPDX-License-Identifier: BSD-2-Clause */
/* large.h: objects too large to copy: each in a mapping of its own. */
#ifndef GCPROF_LARGE_H
#define GCPROF_LARGE_H

#include "heap.h"

/* A zeroed young object. NULL: the system refused. Any thread. */
void *large_alloc(struct gc_heap *heap, const struct gc_type_info *type, size_t size);

/* Young ones are so many that one of `size` bytes should wait for a minor collection. */
bool large_is_due(struct gc_heap *heap, size_t size);

/* Young objects that were reached become old, the others are given back. */
void large_finish_minor(struct gc_heap *heap);

void large_clear_marks(struct gc_heap *heap);

/* Objects that become old from now on are not swept. */
void large_begin_sweeping(struct gc_heap *heap);

/* Sweeps until as much as `chunks` chunks was given back; true when all are swept. */
bool large_sweep_some(struct gc_heap *heap, size_t chunks);

/* Gives back the mappings that are kept for new objects. */
void large_free_spare(struct gc_heap *heap);

/* All of them; the heap is closed. */
void large_free(struct gc_heap *heap);

#endif
