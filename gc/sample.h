/* SPDX-License-Identifier: BSD-2-Clause */
/* sample.h: the collector as a client of the provider: sampled objects and what becomes of them. */
/*
 * Built with GCPROF_NO_SAMPLING nothing here samples, and the rest of the
 * collector is the same.
 */
#ifndef GCPROF_SAMPLE_H
#define GCPROF_SAMPLE_H

#ifndef GC_INTERNAL
#error "internal header of libgcprof-gc"
#endif

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "provider/provider.h"

#ifndef GCPROF_NO_SAMPLING
#define GCPROF_NO_SAMPLING 0
#endif

struct gc_heap;
struct gc_thread;

/* A sampled object whose fate is not known yet. */
struct gc_sampled {
	void *object;
	uint64_t sample;
	uint64_t birth;  /* bytes that the heap had allocated then, the object included */
	uint64_t minors; /* minor collections that the heap had made then */
};

struct gc_sampled_table {
	struct gc_sampled *entries;
	size_t count;
	size_t capacity;
};

/* Marking, promotion: where an object is now, or NULL if it is dead. */
typedef void *(*gc_survivor)(struct gc_heap *heap, void *object);

/* How far allocation may go before it hits a sample. */
static inline int64_t sampler_bytes_left(const struct gcprof_thread *sampler)
{
	return GCPROF_NO_SAMPLING ? INT64_MAX : gcprof_bytes_left(sampler);
}

/* sample.c */
int sampler_init(struct gc_heap *heap);
void sampler_free(struct gc_heap *heap);
int sampler_attach(struct gc_thread *thread);
void sampler_detach(struct gc_thread *thread);

/* gcprof_poll() and gcprof_settle(). */
void sampler_poll(struct gc_thread *thread);
void sampler_settle(struct gc_thread *thread);

/* An object was allocated on a slow path: charges it and takes a sample if it contains one.
 * Its type is set, its memory is zero otherwise. */
void sampler_allocated(struct gc_thread *thread, void *object, size_t size);

/* fate.c: what became of sampled objects. Both in a stop, before dead objects are freed. */
void fate_minor(struct gc_heap *heap, gc_survivor survivor);
bool fate_old(struct gc_heap *heap, gc_survivor survivor, size_t *next, size_t items);
void fate_remember(struct gc_thread *thread, void *object, uint64_t sample);
void fate_orphan(struct gc_thread *thread);
void fate_forget(struct gc_heap *heap);
void fate_free(struct gc_sampled_table *table);

#endif
