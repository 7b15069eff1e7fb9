/* SPDX-License-Identifier: BSD-2-Clause */
/* alive.h: what the program wants to know of the death of objects: weak.c and finalize.c. */
#ifndef GCPROF_ALIVE_H
#define GCPROF_ALIVE_H

#ifndef GC_INTERNAL
#error "internal header of libgcprof-gc"
#endif

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sample.h"
#include "stack.h"

/* Called with a place that holds a reference, which it may change. */
typedef void (*gc_visit)(void *context, void **slot);

struct gc_weak_lists {
	struct gc_stack all;   /* struct gc_weak * */
	struct gc_stack pairs; /* of these; they have a value, or had one */
	struct gc_stack young; /* of these; their key or value may be young */
};

/* All of struct gc_finalizer *. */
struct gc_final {
	struct gc_stack light_young;
	struct gc_stack light_old;
	struct gc_stack ordered;
	size_t settled; /* ordered ones before this one are old */
	struct gc_stack ready;
	size_t next;      /* of the ready ones */
	uint64_t waiting; /* ready and not yet run; atomic */
};

/* weak.c, finalize.c: in a stop, but for finalize_is_due() and finalize_run() */
bool weak_visit_young(struct gc_heap *heap, gc_survivor survivor, gc_visit visit, void *context);
void weak_finish_minor(struct gc_heap *heap, gc_survivor survivor);
bool weak_mark(struct gc_heap *heap);
bool weak_clear(struct gc_heap *heap, gc_survivor survivor, size_t *next, size_t items);
void weak_free(struct gc_heap *heap);
void weak_each_young(struct gc_heap *heap, void (*visit)(void *context, void *key, void **value),
		     void *context);
void weak_each(struct gc_heap *heap, void (*visit)(void *context, void *key, void **value),
	       void *context);
void finalize_visit_young(struct gc_heap *heap, gc_visit visit, void *context);
void finalize_visit_ready(struct gc_heap *heap, gc_visit visit, void *context);
void finalize_finish_minor(struct gc_heap *heap, gc_survivor survivor);
void finalize_mark(struct gc_heap *heap);
bool finalize_run_light(struct gc_heap *heap, gc_survivor survivor, size_t *next, size_t items);
bool finalize_is_due(const struct gc_heap *heap);
void finalize_run(struct gc_thread *thread);
void finalize_free(struct gc_heap *heap);

#endif
