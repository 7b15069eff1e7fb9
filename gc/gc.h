/* SPDX-License-Identifier: BSD-2-Clause */
/* gc.h: public API of libgcprof-gc, a generational collector with a built-in allocation sampler. */
/*
 * A program creates a heap, registers the types of its objects, attaches each
 * thread that will touch objects, and allocates. Every reference that must
 * survive an allocation lies in a slot of a shadow-stack frame, in a global
 * root, or in an object: an allocation, a safepoint and gc_collect() may move
 * every object, and update those places only.
 *
 * All sizes are in bytes. Functions that can fail return 0 or a negative errno.
 * Unless said otherwise a function may be called by any attached thread on its
 * own struct gc_thread, and by no other thread.
 */
#ifndef GCPROF_GC_H
#define GCPROF_GC_H

#include <stddef.h>
#include <stdint.h>

#include "frame.h"

#pragma GCC visibility push(default)

struct gc_heap;   /* a heap, its types and its threads */
struct gc_thread; /* one mutator thread; its first fields are inlined, see gc_inline.h */

/* The first word of every object. Embed it as the first member; the collector owns it. */
struct gc_header {
	uint16_t type;  /* gc_type, 0 only while the object is not initialised */
	uint16_t flags; /* enum gc_flag, private but for the barrier */
	uint32_t aux;   /* private */
};

typedef uint16_t gc_type; /* a registered type of one heap; 0 is no type */

/* What the collector must know of a type. Borrowed during the call only. */
struct gc_type_desc {
	const char *name;         /* shown in profiles; must be unique to be told apart there */
	uint32_t size;            /* sizeof the struct; for arrays, up to the first item */
	uint32_t item_size;       /* bytes of one item, 0: not an array */
	uint32_t length_offset;   /* arrays: where the uint64_t number of items lies */
	const uint32_t *pointers; /* offsets of references in the fixed part */
	uint32_t n_pointers;      /* how many */
	const uint32_t *item_pointers; /* offsets of references in every item */
	uint32_t n_item_pointers;      /* how many */
};

/* Start from gc_options_default(); a zero field means its default. */
struct gc_options {
	size_t nursery_size; /* shared by all threads; default 4 MiB, GC_NURSERY */
	size_t buffer_size;  /* a thread takes this much of the nursery at a time; default 32 KiB */
	size_t large_size;   /* from this size on an object is allocated apart; default 128 KiB */
	size_t min_heap;  /* no full collection below this much; default 8 nurseries, GC_MIN_HEAP */
	double growth;    /* next full collection at this times the live bytes; default 1.82 */
	uint64_t period;  /* mean bytes between samples; default 512 KiB, GCPROF_PERIOD */
	uint64_t ceiling; /* samples a second before the period rises; default 2000,
			     UINT64_MAX: none; GCPROF_CEILING (there 0: none) */
	uint64_t seed;    /* of the sampler; 0: from the system, GCPROF_SEED */
	uint32_t fixed_stride;   /* 1: a sample every `period` bytes, as in the papers;
				    GCPROF_STRIDE=fixed */
	uint32_t always_sample;  /* 1: sample although no profiler is attached (tests) */
	uint32_t stop_the_world; /* 1: major collections in one pause, for comparison;
				   GC_INCREMENTAL=0 */
};

struct gc_stats {
	uint64_t minor_collections;
	uint64_t full_collections; /* major collections, in one pause or in steps, past marking */
	uint64_t allocated_bytes;  /* since the heap was created */
	uint64_t promoted_bytes;
	uint64_t live_bytes;
	uint64_t arena_bytes;
	uint64_t large_bytes;
	uint64_t samples;  /* taken so far */
	uint64_t pause_ns; /* all collections together */
	uint64_t max_pause_ns;
	uint64_t steps;       /* of major collections */
	uint64_t max_step_ns; /* the longest of these */
};

/* Fills in the defaults, then what the environment says (GC_NURSERY=8M ...).
 * -EINVAL if a variable makes no sense; gc_error() says which and why. */
int gc_options_default(struct gc_options *out);

/* The reason of this thread's last failed call, a sentence. Never NULL. */
const char *gc_error(void);

/* `options` may be NULL for the defaults and the environment. The heap belongs to the caller. */
int gc_heap_create(const struct gc_options *options, struct gc_heap **out);

/* Every thread must have been detached. NULL is allowed. */
void gc_heap_destroy(struct gc_heap *heap);

/* Any thread. -EINVAL for a description that contradicts itself, -ENOSPC past 65535 types. */
int gc_type_register(struct gc_heap *heap, const struct gc_type_desc *desc, gc_type *out);

/* Makes a managed function known; ids are of the process, not of a heap. Any thread.
 * `file` may be NULL. Strings are copied. Returns 0 only when memory is exhausted. */
uint32_t gc_code(const char *name, const char *file, uint32_t line);

/* Makes the calling thread a mutator. It must be detached before it ends. */
int gc_thread_attach(struct gc_heap *heap, struct gc_thread **out);
void gc_thread_detach(struct gc_thread *thread);

/* Between the two the thread touches no object, and no collection waits for it. */
void gc_blocking_begin(struct gc_thread *thread);
void gc_blocking_end(struct gc_thread *thread);

/* A global variable that holds a reference (or NULL) until it is removed. Any thread of the heap.
 */
int gc_root_add(struct gc_heap *heap, void **slot);
void gc_root_remove(struct gc_heap *heap, void **slot);

enum gc_collect_kind { GC_COLLECT_MINOR, GC_COLLECT_FULL };

/* Collects now. Every reference outside frames, roots and objects is stale afterwards. */
void gc_collect(struct gc_thread *thread, enum gc_collect_kind kind);

/* A consistent copy; may stop nobody and be called by any thread. */
void gc_stats(struct gc_heap *heap, struct gc_stats *out);

/*
 * Out of memory: there is no heap limit yet; when the system refuses memory an
 * allocation prints a sentence to stderr and aborts, so gc_alloc never returns NULL.
 */

#include "gc_inline.h"

#pragma GCC visibility pop

#endif
