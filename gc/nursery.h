/* SPDX-License-Identifier: BSD-2-Clause */
/* nursery.h: where new objects go, and how much of it may be used before somebody looks. */
#ifndef GCPROF_NURSERY_H
#define GCPROF_NURSERY_H

#ifndef GC_INTERNAL
#error "internal header of libgcprof-gc"
#endif

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gc_nursery {
	char *base;
	char *end;
	char *next;       /* start of what no thread has, atomic */
	char *slice;      /* threads take up to here; written while the world is stopped, atomic */
	uint64_t used;    /* allocated since it was last emptied, atomic */
	uint16_t surveys; /* since then */
	bool crowded;     /* much of it survived last time */
};

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

/* survey.c: how much of the nursery is used before a minor collection. The world is stopped. */
void survey_reset(struct gc_heap *heap);
void survey_learn(struct gc_heap *heap, uint64_t objects, uint64_t bytes);
bool survey_is_worth_it(const struct gc_heap *heap);
bool survey_goes_on(struct gc_heap *heap);
bool survey_is_over(const struct gc_thread *thread); /* the thread itself */

#endif
