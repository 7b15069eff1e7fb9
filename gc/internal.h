/* SPDX-License-Identifier: BSD-2-Clause */
/* internal.h: the heap and its threads as the collector's own files see them. */
#ifndef GCPROF_INTERNAL_H
#define GCPROF_INTERNAL_H

#define GC_INTERNAL 1

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gc.h"
#include "os.h"
#include "old.h"
#include "probe.h"
#include "probe_args.h"
#include "sample.h"
#include "stack.h"

#ifndef GC_CHECK
#define GC_CHECK 0
#endif

/* Cheap enough to stay in every build: the collector stops rather than corrupt the heap. */
#define GC_ASSERT(condition, sentence)                             \
	do {                                                       \
		if (__builtin_expect(!(condition), 0))             \
			os_fatal("%s (%s)", sentence, #condition); \
	} while (0)

#define MAX_TYPES   65536
#define FEW_OFFSETS 4

/* A registered type. Filled once, under the heap's lock; then only `epoch` changes. */
struct gc_type_info {
	uint32_t size;
	uint32_t item_size;
	uint32_t length_offset;
	uint32_t n_pointers;
	const uint32_t *pointers; /* `few`, or memory of its own */
	uint32_t few[FEW_OFFSETS];
	uint32_t n_item_pointers;
	uint32_t epoch; /* announced to the profiler of this epoch */
	const uint32_t *item_pointers;
	char *name;
};

enum gc_thread_state {
	THREAD_RUNNING, /* may touch the heap at any moment */
	THREAD_BLOCKED, /* between gc_blocking_begin and gc_blocking_end */
	THREAD_PARKED,  /* waits for a collection to end */
};

struct gc_thread {
	struct gc_thread_head head; /* first: it is what gc_inline.h sees */
	struct gc_heap *heap;
	char *segment;              /* allocations before this address have been counted */
	char *end;                  /* of the buffer; the limit may lie before it */
	struct gc_stack remembered; /* old objects that were written to */
	uint32_t state;             /* enum gc_thread_state, atomic */
	uint32_t announced;         /* to the profiler of this epoch */
	pthread_t owner;
	struct gc_thread *next;
	struct gc_thread_sampler sampler;
};

struct gc_nursery {
	char *base;
	char *end;
	char *next;    /* start of what no thread has, atomic */
	uint64_t used; /* allocated since it was last emptied, atomic */
};

struct gc_large {
	struct gc_chunk *young;
	struct gc_chunk *old;
	uint64_t bytes;       /* young and old, in objects */
	uint64_t young_bytes; /* atomic reads outside the lock are fine: it is a hint */
};

struct gc_heap {
	struct gc_type_info *types; /* MAX_TYPES of them, mapped as they are used */
	struct gc_nursery nursery;
	struct gc_options options;
	uint64_t id;
	uint32_t n_types; /* next to be given out; atomic */

	/* The world: see threads.c. */
	pthread_mutex_t lock;
	pthread_cond_t stopped; /* a mutator stopped */
	pthread_cond_t resumed; /* a collection ended */
	struct gc_thread *threads;
	struct gc_thread *collector; /* who is collecting, or NULL */
	uint32_t n_threads;
	uint32_t stop; /* atomic: mutators shall park */

	struct gc_old old;
	struct gc_large large;
	struct gc_stack roots;      /* void ** */
	struct gc_stack remembered; /* of threads that are gone */
	struct gc_stack work;       /* objects found but not yet traced */

	uint64_t allocated;   /* bytes, atomic: the clock of ages */
	uint64_t threshold;   /* old and large bytes that start a full collection */
	uint64_t cycle;       /* collections, atomic */
	uint64_t check_after; /* not before so many bytes were allocated, see heap.c */
	uint64_t live;        /* object bytes that marking found */
	struct gc_stats stats;
	struct gcprof_gc_stats last; /* of the collection under way */
	struct gc_heap_sampler sampler;
	struct gc_heap *next; /* of all heaps, for fork */
};

/* options.c */
int options_check(const struct gc_options *given, struct gc_options *out);
int error_set(int result, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* limit.c */
void limit_update(struct gc_thread *thread);
void limit_request(struct gc_thread *thread);
void limit_drop_buffer(struct gc_thread *thread);
char *limit_wanted(const struct gc_thread *thread);

/* nursery.c */
int nursery_init(struct gc_heap *heap);
void nursery_free(struct gc_heap *heap);
void nursery_empty(struct gc_heap *heap);
void nursery_account(struct gc_thread *thread);

static inline bool nursery_has(const struct gc_nursery *nursery, const void *object)
{
	return (uintptr_t)object - (uintptr_t)nursery->base <
	       (uintptr_t)(nursery->end - nursery->base);
}

/* large.c */
void *large_alloc(struct gc_heap *heap, size_t size);
bool large_is_due(struct gc_heap *heap, size_t size);
void large_finish_minor(struct gc_heap *heap);
void large_begin_marking(struct gc_heap *heap);
void large_sweep(struct gc_heap *heap);
void large_free(struct gc_heap *heap);

/* minor.c, mark.c, sweep.c */
void minor_trace(struct gc_heap *heap);
void minor_finish(struct gc_heap *heap);
void mark_heap(struct gc_heap *heap);
void sweep_heap(struct gc_heap *heap);

/* roots.c: calls visit for every slot of every thread's frames and of the global roots. */
typedef void (*gc_visit)(void *context, void **slot);
void roots_visit(struct gc_heap *heap, gc_visit visit, void *context);

/* barrier.c */
void barrier_visit(struct gc_heap *heap, void (*visit)(struct gc_heap *, struct gc_header *));
void barrier_reset(struct gc_heap *heap);

/* types.c */
int types_init(struct gc_heap *heap);
void types_free(struct gc_heap *heap);
size_t types_array_size(const struct gc_type_info *type, uint64_t length);

/* The type of an object with a valid header. */
static inline struct gc_type_info *type_of(const struct gc_heap *heap, const void *object)
{
	return &heap->types[((const struct gc_header *)object)->type];
}

static inline uint64_t type_length(const struct gc_type_info *type, const void *object)
{
	return *(const uint64_t *)((const char *)object + type->length_offset);
}

static inline size_t type_object_size(const struct gc_type_info *type, const void *object)
{
	if (!type->item_size)
		return type->size;
	return GC_ALIGN(type->size + type_length(type, object) * type->item_size);
}

/* What the probes call a type: unique in the process. */
static inline uint64_t type_probe_id(const struct gc_heap *heap, uint32_t type)
{
	return (heap->id - 1) << 16 | type;
}

static inline bool type_has_references(const struct gc_type_info *type)
{
	return type->n_pointers | type->n_item_pointers;
}

/* codes.c */
void codes_announce(void);
void codes_forked(void);

/* threads.c */
bool threads_begin_collecting(struct gc_thread *self, uint64_t seen);
void threads_stop(struct gc_thread *self);
void threads_end_collecting(struct gc_thread *self);
void threads_park(struct gc_thread *self);
void threads_forked(struct gc_heap *heap);

static inline bool threads_stop_wanted(const struct gc_heap *heap)
{
	return __atomic_load_n(&heap->stop, __ATOMIC_SEQ_CST);
}

/* heap.c */
#define COLLECT_ALWAYS UINT64_MAX
void heap_collect(struct gc_thread *self, enum gc_collect_kind kind, uint32_t reason,
		  uint64_t seen);
uint64_t heap_cycle(const struct gc_heap *heap);

/* check.c: the whole heap, in builds with GC_CHECK=1; ends the program with what is wrong. */
enum check_when { CHECK_BEFORE, CHECK_MINOR_DONE, CHECK_MARKED, CHECK_FULL_DONE };
void check_heap(struct gc_heap *heap, enum check_when when);

#endif
