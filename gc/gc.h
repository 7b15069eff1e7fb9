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

#include "provider/provider.h"

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
	const char *name;              /* shown in profiles; must be unique there */
	uint32_t size;                 /* sizeof the struct; for arrays, up to the first item */
	uint32_t item_size;            /* bytes of one item, 0: not an array */
	uint32_t length_offset;        /* arrays: where the uint64_t number of items lies */
	const uint32_t *pointers;      /* offsets of references in the fixed part */
	uint32_t n_pointers;           /* how many */
	const uint32_t *item_pointers; /* offsets of references in every item */
	uint32_t n_item_pointers;      /* how many */
};

/* Start from gc_options_default(); a zero field means its default. */
struct gc_options {
	size_t nursery_size; /* at most, while one thread runs; several share a multiple of it: see
				README.md; default 4 MiB, GC_NURSERY */
	size_t buffer_size;  /* a thread takes this much of the nursery at a time, default 32 KiB;
				one of several threads takes up to large_size */
	size_t large_size;   /* from this size on an object is allocated apart; default 128 KiB */
	size_t min_heap; /* no major collection below this much; default 7 nurseries of at most 4
			    MiB, GC_MIN_HEAP */
	size_t max_heap; /* never hold more than this, see below; default 0: no limit, GC_MAX_HEAP
			  */
	double growth;   /* next major collection at this times the live bytes; default 1.82 */
	uint32_t stop_the_world;        /* 1: major collections in one pause, for comparison;
					  GC_INCREMENTAL=0 */
	struct gcprof_options sampling; /* and what is reported: see provider/provider.h */
};

struct gc_stats {
	uint64_t minor_collections;
	uint64_t full_collections; /* major collections, in one pause or in steps, past marking */
	uint64_t allocated_bytes;  /* since the heap was created */
	uint64_t promoted_bytes;
	uint64_t live_bytes;
	uint64_t arena_bytes;
	uint64_t large_bytes;
	uint64_t samples;      /* taken so far */
	uint64_t pause_ns;     /* all collections together */
	uint64_t max_pause_ns; /* the longest stop: what follows each other at once is one */
	uint64_t steps;        /* of major collections */
	uint64_t max_step_ns;  /* the longest of these */
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

/* Makes the calling thread a mutator, once. It must be detached before it ends. */
int gc_thread_attach(struct gc_heap *heap, struct gc_thread **out);
void gc_thread_detach(struct gc_thread *thread);

/* Between the two the thread touches no object, and no collection waits for it. They do not nest.
 */
void gc_blocking_begin(struct gc_thread *thread);
void gc_blocking_end(struct gc_thread *thread);

/* A global variable that holds a reference (or NULL) until it is removed. Any thread of the heap.
 */
int gc_root_add(struct gc_heap *heap, void **slot);
void gc_root_remove(struct gc_heap *heap, void **slot);

enum gc_collect_kind { GC_COLLECT_MINOR, GC_COLLECT_FULL };

/* Collects now, then runs finalizers. Every reference outside frames, roots and objects is stale
 * afterwards. */
void gc_collect(struct gc_thread *thread, enum gc_collect_kind kind);

/* Makes one step of a major collection, beginning one if none is under way: for programs that are
 * idle. Returns 1 while there is more to do, 0 when the collection is over. May collect. */
int gc_collect_step(struct gc_thread *thread);

/* `bytes` of memory outside the heap were allocated that go when objects die: major collections
 * begin as if the heap had grown by them. May collect. */
void gc_memory_pressure(struct gc_thread *thread, size_t bytes);

enum gc_hook_kind {
	GC_HOOK_MINOR = 1,
	GC_HOOK_STEP = 2,
	GC_HOOK_FULL = 3,
};

/* What a hook gets, of the collection or step that ends. */
struct gc_hook_event {
	enum gc_hook_kind kind;
	int cycle_done; /* 1: a major collection ended with it */
	uint64_t pause_ns;
	uint64_t promoted_bytes;
	uint64_t live_bytes; /* old and large objects, as in gc_stats() */
};

/* Called at the end of each, by the collecting thread, while all others are stopped: it may touch
 * no object, call no function of this file and not fork, or the program ends. NULL: none. Any
 * attached thread. */
typedef void (*gc_hook)(void *context, const struct gc_hook_event *event);
void gc_hook_set(struct gc_heap *heap, gc_hook hook, void *context);

/*
 * Weak references: gc_weak_get() returns the key as long as something else keeps
 * it alive, then NULL. With a value it is an ephemeron: as long as the key is
 * alive so is the value, and gc_weak_value() returns it, also if the value refers
 * to the key. The structure lies outside the heap and belongs to the caller.
 * `key` and `value` are references as of now, `value` may be NULL. -ENOMEM.
 */
struct gc_weak;
int gc_weak_create(struct gc_thread *thread, void *key, void *value, struct gc_weak **out);
void *gc_weak_get(const struct gc_weak *weak);
void *gc_weak_value(const struct gc_weak *weak);
void gc_weak_set_value(struct gc_thread *thread, struct gc_weak *weak, void *value);
void gc_weak_destroy(struct gc_thread *thread, struct gc_weak *weak); /* NULL is allowed */

/*
 * GC_FINALIZER_LIGHT: called inside the collection that finds the object dead,
 * by whatever thread collects, with `thread` NULL. The object may be read, not
 * what it refers to, and no function of this file may be called. For those left
 * when the heap is destroyed it is called then.
 *
 * GC_FINALIZER_ORDERED: called once, outside the collector, in an allocation,
 * gc_collect() or another function that may collect. It is an ordinary function
 * with references and frames, may allocate, and may make the object reachable
 * again. Of dead objects the one that was added last is finalized first; what it refers
 * to is kept for it, and finalized after a later collection. -ENOMEM; -EINVAL without an
 * object or a function.
 */
enum gc_finalizer_kind { GC_FINALIZER_LIGHT, GC_FINALIZER_ORDERED };
typedef void (*gc_finalize)(struct gc_thread *thread, void *object, void *context);
int gc_finalizer_add(struct gc_thread *thread, void *object, enum gc_finalizer_kind kind,
		     gc_finalize function, void *context);

/*
 * After gc_pin() the object that *slot refers to neither moves nor dies until it
 * was unpinned as often. `slot` lies in a frame, a global root or a pinned object:
 * pinning may collect, and the object may move for the last time. -EINVAL for NULL.
 */
int gc_pin(struct gc_thread *thread, void **slot);
void gc_unpin(struct gc_thread *thread, void *object);

/* A number of the object that stays the same when it moves; never 0. Different objects have
 * different ones, until four billion were given out. */
uint32_t gc_identity_hash(struct gc_thread *thread, void *object);

/*
 * The sampler, from any attached thread and at any moment, in the middle of a
 * nursery too; nothing is collected. Other threads follow at their next
 * allocation. While paused no samples are taken, whatever is attached. The period is
 * clamped to 1 byte to 1 TiB.
 */
void gc_sampling_pause(struct gc_heap *heap);
void gc_sampling_resume(struct gc_heap *heap);
void gc_sampling_set_period(struct gc_heap *heap, uint64_t period);

/* A consistent copy; stops no thread, and may be called by any. */
void gc_stats(struct gc_heap *heap, struct gc_stats *out);

/*
 * Out of memory: with options.max_heap the heap never holds more than that, the
 * nursery included. When an allocation would need more although everything was
 * collected, and when the system refuses memory for a large object, this function
 * is called, outside the collector, with the bytes of the large object or 0. It may
 * drop references, allocate a little (a nursery at most), collect nothing. If it
 * returns 1 all is tried again; 0 makes the allocation return NULL, which it does in
 * no other case. It may also leave by longjmp, under the
 * rules for frames. Without such a function, and when the system refuses other
 * memory, the program ends with a sentence on stderr.
 */
typedef int (*gc_out_of_memory)(void *context, struct gc_thread *thread, size_t size);
void gc_on_out_of_memory(struct gc_heap *heap, gc_out_of_memory function, void *context);

#include "gc_inline.h"

#pragma GCC visibility pop

#endif
