/* SPDX-License-Identifier: BSD-2-Clause */
/* nursery.h: where new objects go, and how much of it may be used before it is checked. */
#ifndef GCPROF_NURSERY_H
#define GCPROF_NURSERY_H

#ifndef GC_INTERNAL
#error "internal header of libgcprof-gc"
#endif

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LANES_MAX = 16 };

/* Memory from which one thread takes before others do. */
struct gc_lane {
	_Alignas(64) char *next; /* start of what no thread has, atomic */
	char *end;
};

struct gc_nursery {
	char *base;
	char *end;        /* of what it may ever have */
	size_t size;      /* what it has until it is emptied */
	size_t largest;   /* that it had since the last major collection */
	size_t touched;   /* so much may be in memory */
	size_t slice;     /* threads take so much; written while the world is stopped, atomic */
	uint16_t surveys; /* since it was last emptied */
	bool crowded;     /* much of it survived last time */
	bool last_slice;  /* when it is used up there is a collection, not a survey */
	uint32_t n_lanes;
	size_t buffer; /* so much of them do threads take at a time; written likewise */
	/* What all threads write has a cache line of its own: they read the rest all the time. */
	_Alignas(64) size_t taken; /* what threads have, in buffers and beside them, atomic */
	uint64_t used;             /* allocated since it was last emptied, atomic */
	uint32_t watched; /* weak references and finalizers since it was last emptied, atomic */
	struct gc_lane lanes[LANES_MAX];
};

/* nursery.c */
int nursery_init(struct gc_heap *heap);
void nursery_free(struct gc_heap *heap);
void nursery_empty(struct gc_heap *heap);
void nursery_resize(struct gc_heap *heap, uint32_t running);
void nursery_trim(struct gc_heap *heap);
void nursery_account(struct gc_thread *thread);

static inline size_t nursery_taken(const struct gc_nursery *nursery)
{
	return __atomic_load_n(&nursery->taken, __ATOMIC_RELAXED);
}

static inline size_t nursery_slice(const struct gc_nursery *nursery)
{
	return __atomic_load_n(&nursery->slice, __ATOMIC_RELAXED);
}

static inline bool nursery_has(const struct gc_nursery *nursery, const void *object)
{
	return (uintptr_t)object - (uintptr_t)nursery->base <
	       (uintptr_t)(nursery->end - nursery->base);
}

/* lanes.c */
void lanes_reset(struct gc_heap *heap);
char *lanes_take(struct gc_thread *thread, size_t size);
bool lanes_have(const struct gc_nursery *nursery, size_t size);
void lanes_poison(struct gc_nursery *nursery);

/* survey.c: how much of the nursery is used before a minor collection. The world is stopped. */
void survey_reset(struct gc_heap *heap);
void survey_learn(struct gc_heap *heap, uint64_t objects, uint64_t bytes);
bool survey_is_worth_it(const struct gc_heap *heap);
bool survey_goes_on(struct gc_heap *heap);
bool survey_is_over(const struct gc_thread *thread); /* the thread itself */
void survey_watch(struct gc_heap *heap);             /* with the heap's lock */

#endif
