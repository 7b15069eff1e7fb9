/* SPDX-License-Identifier: BSD-2-Clause */
/* sampler.h: the collector as a client of the provider. */
#ifndef GCPROF_SAMPLER_H
#define GCPROF_SAMPLER_H

#include "heap.h"

/* Built with GCPROF_NO_SAMPLING nothing here samples, and the rest of the collector is the same. */
int sampler_init(struct gc_heap *heap);
void sampler_free(struct gc_heap *heap);
int sampler_attach(struct gc_thread *thread);
void sampler_detach(struct gc_thread *thread);

/* Before and after an allocation on a slow path. The thread's bytes are accounted. */
void sampler_poll(struct gc_thread *thread);
void sampler_settle(struct gc_thread *thread);

/* An object was allocated on a slow path: charges it and takes a sample if it contains one.
 * Its type is set, its memory is zero otherwise. */
void sampler_allocated(struct gc_thread *thread, void *object, size_t size);

#endif
