/* SPDX-License-Identifier: BSD-2-Clause */
/* alive.h: who wants to know of the death of objects: weak.c, pairs.c, finalize.c, settle.c. */
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

/* A weak reference, or, with a value, an ephemeron: a pair. */
struct gc_weak {
	void *key; /* NULL: it died, or never was */
	void *value;
	const struct gc_heap *heap;
	void *waits_for;       /* the key, if the pair waits for it to be marked, or NULL */
	struct gc_weak *next;  /* waits for the same key */
	struct gc_weak *other; /* the first one of the next key in the bucket */
	bool destroyed;        /* to be used again, or freed when no list names it */
	bool listed;           /* as one that may be young */
	bool paired;           /* as one that has, or had, a value */
};

struct gc_weak_lists {
	struct gc_stack all;   /* struct gc_weak * */
	struct gc_stack pairs; /* of these; they have a value, or had one */
	struct gc_stack young; /* of these; their key or value may be young */
	struct gc_stack spare; /* of these; destroyed, to be used again unless they are freed */
	unsigned rounds;       /* through the young ones, in this minor collection */

	/* While marking is under way: see pairs.c. */
	struct gc_weak **buckets; /* pairs that wait, by their keys */
	size_t n_buckets;         /* a power of 2 */
	size_t walked;            /* pairs that had their turn; SIZE_MAX: all */
	uint64_t visits;          /* of pairs, so far: for tests */
};

/* All of struct gc_finalizer *. */
struct gc_final {
	struct gc_stack light_young;
	struct gc_stack light_old;
	struct gc_stack ordered;
	size_t settled; /* ordered ones before this one are old */
	size_t kept;    /* while some are made ready: of those that had their turn */
	bool holding;   /* what the dead one whose turn it is refers to is being marked */
	struct gc_stack ready;
	size_t next;      /* of the ready ones */
	uint64_t waiting; /* ready and not yet run; atomic */
};

/* Behind the end of marking: see settle.c. */
enum settle_stage {
	SETTLE_NOTHING,
	SETTLE_WEAK,
	SETTLE_HOLD, /* three for ordered finalizers: see finalize.c */
	SETTLE_CHOOSE,
	SETTLE_RELEASE,
	SETTLE_LIGHT,
	SETTLE_SAMPLES,
	SETTLE_DONE
};

/* settle.c: in a stop */
void settle_begin(struct gc_heap *heap);
bool settle_has_work(const struct gc_heap *heap);
bool settle_some(struct gc_heap *heap, size_t items);
void settle_abandon(struct gc_heap *heap);

/* weak.c: in a stop */
bool weak_visit_young(struct gc_heap *heap, gc_survivor survivor, gc_visit visit, void *context);
void weak_finish_minor(struct gc_heap *heap, gc_survivor survivor);
bool weak_clear(struct gc_heap *heap, gc_survivor survivor, size_t *next, size_t items);
void weak_free(struct gc_heap *heap);
void weak_each_young(struct gc_heap *heap, void (*visit)(void *context, void *key, void **value),
		     void *context);
void weak_each(struct gc_heap *heap, void (*visit)(void *context, void *key, void **value),
	       void *context);

/* pairs.c: in a stop, but for pairs_make_room() */
void pairs_make_room(struct gc_heap *heap);
void pairs_begin(struct gc_heap *heap);
bool pairs_to_walk(const struct gc_heap *heap);
void pairs_walk(struct gc_heap *heap, size_t items);
void pairs_attend(struct gc_heap *heap, struct gc_weak *pair);
unsigned pairs_resolve(struct gc_heap *heap, void *key, unsigned most);
void pairs_forget(struct gc_heap *heap, struct gc_weak *pair);
void pairs_abandon(struct gc_heap *heap);
bool pairs_finds(const struct gc_heap *heap, const struct gc_weak *pair);
void pairs_free(struct gc_heap *heap);

/* finalize.c: in a stop, but for finalize_is_due() and finalize_run() */
void finalize_visit_young(struct gc_heap *heap, gc_visit visit, void *context);
void finalize_visit_ready(struct gc_heap *heap, gc_visit visit, void *context);
void finalize_finish_minor(struct gc_heap *heap, gc_survivor survivor);
bool finalize_hold(struct gc_heap *heap, size_t *next, size_t items);
bool finalize_choose(struct gc_heap *heap, size_t *next, size_t items);
bool finalize_release(struct gc_heap *heap, size_t *next, size_t items);
void finalize_abandon(struct gc_heap *heap, size_t next);
bool finalize_run_light(struct gc_heap *heap, gc_survivor survivor, size_t *next, size_t items);
bool finalize_is_due(const struct gc_heap *heap);
void finalize_run(struct gc_thread *thread);
void finalize_free(struct gc_heap *heap);

#endif
