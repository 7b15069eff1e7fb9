/* SPDX-License-Identifier: BSD-2-Clause */
/* thread.h: a mutator thread, and how all of them are stopped for a collection. */
#ifndef GCPROF_THREAD_H
#define GCPROF_THREAD_H

#ifndef GC_INTERNAL
#error "internal header of libgcprof-gc"
#endif

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "gc.h"
#include "sample.h"
#include "stack.h"

enum gc_thread_state {
	THREAD_RUNNING, /* may touch the heap at any moment */
	THREAD_BLOCKED, /* between gc_blocking_begin and gc_blocking_end */
	THREAD_PARKED,  /* waits for a collection to end */
};

struct gc_thread {
	struct gc_thread_head head; /* first: it is what gc_inline.h sees */
	struct gc_heap *heap;
	char *segment;              /* allocations before this address have been counted */
	size_t uncounted;           /* but for so many bytes */
	char *zeroed;               /* the buffer is zero up to here; the limit may lie before it */
	char *end;                  /* of the buffer */
	struct gc_stack remembered; /* old objects that were written to */
	struct gc_stack shaded;     /* old objects that it made gray */
	bool finalizing;            /* runs finalizers */
	uint64_t allowance;         /* bytes that who is asked for memory may still take */
	uint32_t state;             /* enum gc_thread_state, atomic */
	uint32_t lane;              /* of the nursery, modulo their number */
	uint32_t news;              /* the sampler's settings changed; atomic */
	pthread_t owner;
	pid_t tid; /* of the owner */
	struct gc_thread *next;
	struct gcprof_thread *sampler;   /* what the provider knows it as */
	struct gc_sampled_table sampled; /* its young objects that were sampled */
};

/* threads.c */
bool threads_begin_collecting(struct gc_thread *self, uint64_t seen);
void threads_stop(struct gc_thread *self);
void threads_end_collecting(struct gc_thread *self);
/* Does no other thread touch the heap now? With the lock, or as the collector. */
bool threads_are_stopped(const struct gc_heap *heap, const struct gc_thread *self);
void threads_park(struct gc_thread *self);
void threads_return(struct gc_thread *self);
void threads_forked(struct gc_heap *heap);

static inline bool thread_is_blocked(const struct gc_thread *thread)
{
	return __atomic_load_n(&thread->state, __ATOMIC_SEQ_CST) == THREAD_BLOCKED;
}

#endif
