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

enum gc_thread_state {
	THREAD_RUNNING, /* may touch the heap at any moment */
	THREAD_BLOCKED, /* between gc_blocking_begin and gc_blocking_end */
	THREAD_PARKED,  /* waits for a collection to end */
};

struct gc_thread {
	struct gc_thread_head head; /* first: it is what gc_inline.h sees */
	struct gc_heap *heap;
	char *segment;    /* allocations before this address have been counted */
	size_t uncounted; /* but for so many bytes */
	char *zeroed;     /* the buffer is zero up to here; the limit may lie before it */
	char *end;        /* of the buffer */
	struct gc_worklist remembered; /* old objects that were written to */
	struct gc_worklist shaded;     /* old objects that it made gray */
	void *shading;                 /* an old object on its way there, or NULL */
	bool finalizing;               /* runs finalizers */
	uint64_t allowance;            /* bytes that who is asked for memory may still take */
	uint32_t state;                /* enum gc_thread_state, atomic */
	uint32_t share;                /* of the nursery, modulo their number */
	uint32_t news;                 /* the sampler's settings changed; atomic */
	pthread_t owner;
	pid_t tid; /* of the owner */
	struct gc_thread *next;
	struct gcprof_thread *sampler;   /* what the provider knows it as */
	struct gc_sampled_table sampled; /* its young objects that were sampled */
};

static inline bool thread_is_blocked(const struct gc_thread *thread)
{
	return __atomic_load_n(&thread->state, __ATOMIC_SEQ_CST) == THREAD_BLOCKED;
}

#endif
