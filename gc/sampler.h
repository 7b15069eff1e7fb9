/* SPDX-License-Identifier: BSD-2-Clause */
/* sampler.h: the collector as a client of the provider. */
#ifndef GCPROF_SAMPLER_H
#define GCPROF_SAMPLER_H

#include "heap.h"

/* With GCPROF_NO_SAMPLING these functions do nothing; the rest of the collector is the same. */
int sampler_init(struct gc_heap *heap);
void sampler_free(struct gc_heap *heap);
int sampler_attach(struct gc_thread *thread);
void sampler_detach(struct gc_thread *thread);

/* Before and after an allocation on a slow path, with the thread's bytes accounted. */
void sampler_poll(struct gc_thread *thread);
void sampler_settle(struct gc_thread *thread);

/* Charges an object allocated on a slow path, and samples it if it contains a hit. Its type is set,
 * the rest of it is zero. */
void sampler_allocated(struct gc_thread *thread, void *object, size_t size);

#endif
