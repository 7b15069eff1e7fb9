/* SPDX-License-Identifier: BSD-2-Clause */
/* thread.h: the data of a mutator thread. */
#ifndef GCPROF_THREAD_H
#define GCPROF_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "gc.h"
#include "provider/provider.h"
#include "worklist.h"

/* A sampled object without a final outcome. */
struct gc_sampled {
	void *object;
	uint64_t sample;
	uint64_t birth;  /* bytes allocated in the heap then, including the object */
	uint64_t minors; /* minor collections of the heap until then */
};

struct gc_sampled_table {
	struct gc_sampled *entries;
	size_t count;
	size_t capacity;
};

enum gc_thread_state {
	THREAD_RUNNING, /* may touch the heap at any moment */
	THREAD_BLOCKED, /* between gc_blocking_begin and gc_blocking_end */
	THREAD_PARKED,  /* waits for a collection to end */
};

struct gc_thread {
	struct gc_thread_head head; /* first: gc_inline.h accesses it */
	struct gc_heap *heap;
	char *segment;                 /* allocations below this address have been counted, */
	size_t uncounted;              /* except for this many bytes */
	char *zeroed;                  /* the buffer is zeroed up to here; the limit may be lower */
	char *end;                     /* end of the buffer */
	struct gc_worklist remembered; /* old objects that were written to */
	struct gc_worklist shaded;     /* old objects that the thread made gray */
	void *shading;                 /* an old object about to be pushed there, or NULL */
	bool finalizing;               /* the thread runs finalizers */
	uint64_t allowance;            /* bytes that an out-of-memory function may still take */
	uint32_t state;                /* enum gc_thread_state, atomic */
	uint32_t share;                /* its share of the nursery, modulo their number */
	uint32_t news;                 /* the sampler's settings changed; atomic */
	pthread_t owner;
	pid_t tid; /* the owner's */
	struct gc_thread *next;
	struct gcprof_thread *sampler;   /* the provider's thread */
	struct gc_sampled_table sampled; /* its sampled young objects */
};

static inline bool thread_is_blocked(const struct gc_thread *thread)
{
	return __atomic_load_n(&thread->state, __ATOMIC_SEQ_CST) == THREAD_BLOCKED;
}

#endif
