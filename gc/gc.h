/* SPDX-License-Identifier: BSD-2-Clause */
/* gc.h: public API of libgcprof-gc, a generational collector with a built-in allocation sampler. */
/*
 * A program creates a heap, registers the types of its objects, attaches each
 * thread that uses objects, and allocates. An allocation, a safepoint and
 * gc_collect() may move every object. They update only slots of shadow-stack
 * frames, global roots and references in objects, so a reference that must
 * survive such a call has to be in one of these.
 *
 * All sizes are in bytes. Functions that can fail return 0 or a negative errno.
 * Unless stated otherwise, a function takes the calling thread's own struct
 * gc_thread, and only attached threads may call it.
 */
#ifndef GCPROF_GC_H
#define GCPROF_GC_H

#include <stddef.h>
#include <stdint.h>

#include "provider/provider.h"

#pragma GCC visibility push(default)

struct gc_heap;   /* a heap, its types and its threads */
struct gc_thread; /* one mutator thread; gc_inline.h accesses its first fields */

/* The first word of every object. Embed it as the first member; the collector owns it. */
struct gc_header {
	uint16_t type;  /* gc_type; 0 only while the object is not initialised */
	uint16_t flags; /* enum gc_flag, private to the collector and the barrier */
	uint32_t aux;   /* private */
};

typedef uint16_t gc_type; /* a registered type of one heap; 0 is no type */

/* Describes a type to the collector. Borrowed for the duration of the call. */
struct gc_type_desc {
	const char *name;         /* shown in profiles, where it must be unique */
	uint32_t size;            /* sizeof the struct; for arrays, the offset of the first item */
	uint32_t item_size;       /* size of one item; 0: not an array */
	uint32_t length_offset;   /* arrays: offset of the uint64_t number of items */
	const uint32_t *pointers; /* offsets of references in the fixed part */
	uint32_t n_pointers;      /* how many */
	const uint32_t *item_pointers; /* offsets of references in every item */
	uint32_t n_item_pointers;      /* how many */
};

/* Start from gc_options_default(). A field of 0 selects the default. */
struct gc_options {
	size_t nursery_size; /* maximum with one thread, see README.md; default 4 MiB, GC_NURSERY */
	size_t buffer_size;  /* how much of the nursery a thread takes at a time, default 32 KiB;
				with several threads up to large_size */
	size_t large_size;   /* objects from this size on bypass the nursery; default 128 KiB */
	size_t min_heap;     /* no major collection below this size; default 7 nurseries of at
				most 4 MiB, GC_MIN_HEAP */
	size_t max_heap;     /* maximum heap size, see below; default 0: no limit, GC_MAX_HEAP */
	double growth;       /* the next major collection begins at this multiple of the live
				bytes; default 1.82 */
	uint32_t stop_the_world;        /* 1: major collections in one pause, for comparison;
					   GC_INCREMENTAL=0 */
	struct gcprof_options sampling; /* sampling and reporting: see provider/provider.h */
};

struct gc_stats {
	uint64_t minor_collections;
	uint64_t full_collections; /* major collections whose marking has ended */
	uint64_t allocated_bytes;  /* since the heap was created */
	uint64_t promoted_bytes;
	uint64_t live_bytes;
	uint64_t arena_bytes;
	uint64_t large_bytes;
	uint64_t samples;      /* samples taken */
	uint64_t pause_ns;     /* total of all collections */
	uint64_t max_pause_ns; /* the longest stop; consecutive pauses count as one */
	uint64_t steps;        /* steps of major collections */
	uint64_t max_step_ns;  /* the longest step */
};

/* Fills in the defaults, then applies the environment (GC_NURSERY=8M ...).
 * -EINVAL for an invalid variable; gc_error() says which one and why. */
int gc_options_default(struct gc_options *out);

/* Explains this thread's last failed call. Never NULL. */
const char *gc_error(void);

/* `options` may be NULL for the defaults and the environment. The caller owns the heap. */
int gc_heap_create(const struct gc_options *options, struct gc_heap **out);

/* Call it after every thread has detached. NULL is allowed. */
void gc_heap_destroy(struct gc_heap *heap);

/* Any thread. -EINVAL for an inconsistent descriptor, -ENOSPC beyond 65535 types. */
int gc_type_register(struct gc_heap *heap, const struct gc_type_desc *desc, gc_type *out);

/* Registers a managed function and returns its id, which is valid for all heaps of the process.
 * Any thread. `file` may be NULL. Strings are copied. Returns 0 only when memory is exhausted. */
uint32_t gc_code(const char *name, const char *file, uint32_t line);

/* Makes the calling thread a mutator, once per thread. It must detach before it ends. */
int gc_thread_attach(struct gc_heap *heap, struct gc_thread **out);
void gc_thread_detach(struct gc_thread *thread);

/* Between these calls the thread touches no object, and no collection waits for it. They do not
 * nest. */
void gc_blocking_begin(struct gc_thread *thread);
void gc_blocking_end(struct gc_thread *thread);

/* Registers a global variable that holds a reference (or NULL). Any thread of the heap. */
int gc_root_add(struct gc_heap *heap, void **slot);
void gc_root_remove(struct gc_heap *heap, void **slot);

enum gc_collect_kind { GC_COLLECT_MINOR, GC_COLLECT_FULL };

/* Collects now, then runs finalizers. Afterwards every reference outside frames, roots and objects
 * is stale. */
void gc_collect(struct gc_thread *thread, enum gc_collect_kind kind);

/* Runs one step of a major collection, and begins one if none is in progress: for programs that are
 * idle. Returns 1 while there is more to do, 0 when the collection is over. May collect. */
int gc_collect_step(struct gc_thread *thread);

/* Announces `bytes` of memory outside the heap that are freed when objects die: major collections
 * begin as if the heap had grown by as much. May collect. */
void gc_memory_pressure(struct gc_thread *thread, size_t bytes);

enum gc_hook_kind {
	GC_HOOK_MINOR = 1,
	GC_HOOK_STEP = 2,
	GC_HOOK_FULL = 3,
};

/* Passed to a hook: the collection or step that ends. */
struct gc_hook_event {
	enum gc_hook_kind kind;
	int cycle_done; /* 1: it completed a major collection */
	uint64_t pause_ns;
	uint64_t promoted_bytes;
	uint64_t live_bytes; /* old and large objects, as in gc_stats() */
};

/* The hook is called at the end of each collection or step, by the collecting thread, while all
 * others are stopped. It must not touch objects, call functions of this file or fork, or the
 * program ends. NULL removes the hook. Any attached thread may set it. */
typedef void (*gc_hook)(void *context, const struct gc_hook_event *event);
void gc_hook_set(struct gc_heap *heap, gc_hook hook, void *context);

/*
 * Weak references: gc_weak_get() returns the key while something else keeps it
 * alive, then NULL. With a value it is an ephemeron: the value lives as long as
 * the key, even if the value refers to the key, and gc_weak_value() returns it.
 * The structure lies outside the heap; the caller owns it. `key` and `value` are
 * current references; `value` may be NULL. -ENOMEM.
 */
struct gc_weak;
int gc_weak_create(struct gc_thread *thread, void *key, void *value, struct gc_weak **out);
void *gc_weak_get(const struct gc_weak *weak);
void *gc_weak_value(const struct gc_weak *weak);
void gc_weak_set_value(struct gc_thread *thread, struct gc_weak *weak, void *value);
void gc_weak_destroy(struct gc_thread *thread, struct gc_weak *weak); /* NULL is allowed */

/*
 * GC_FINALIZER_LIGHT: called inside the collection that finds the object dead,
 * by the collecting thread, with `thread` NULL. It may read the object, but not
 * what the object refers to, and must not call functions of this file. Those
 * still registered when the heap is destroyed are called then.
 *
 * GC_FINALIZER_ORDERED: called once, outside the collector, in an allocation,
 * gc_collect() or another function that may collect. It is an ordinary function
 * with references and frames, may allocate, and may make the object reachable
 * again. Among dead objects, the one added last is finalized first; what it
 * refers to is kept alive for it and finalized after a later collection. -ENOMEM;
 * -EINVAL without an object or a function.
 */
enum gc_finalizer_kind { GC_FINALIZER_LIGHT, GC_FINALIZER_ORDERED };
typedef void (*gc_finalize)(struct gc_thread *thread, void *object, void *context);
int gc_finalizer_add(struct gc_thread *thread, void *object, enum gc_finalizer_kind kind,
		     gc_finalize function, void *context);

/*
 * After gc_pin() the object that *slot refers to neither moves nor dies until
 * gc_unpin() was called as often. `slot` must be in a frame, a global root or a
 * pinned object, because pinning may collect and move the object for the last
 * time. -EINVAL for NULL.
 */
int gc_pin(struct gc_thread *thread, void **slot);
void gc_unpin(struct gc_thread *thread, void *object);

/* A number that stays with the object when it moves; never 0. It is unique until four billion have
 * been assigned. */
uint32_t gc_identity_hash(struct gc_thread *thread, void *object);

/*
 * Control of the sampler, by any attached thread at any moment, without a
 * collection. Other threads follow at their next allocation. While paused no
 * samples are taken, even if a profiler is attached. The period is clamped to
 * 1 byte to 1 TiB.
 */
void gc_sampling_pause(struct gc_heap *heap);
void gc_sampling_resume(struct gc_heap *heap);
void gc_sampling_set_period(struct gc_heap *heap, uint64_t period);

/* Takes a consistent copy without stopping threads. Any thread. */
void gc_stats(struct gc_heap *heap, struct gc_stats *out);

/*
 * Out of memory: options.max_heap limits the heap, nursery included. The function
 * is called outside the collector, with the size of the large object or 0, when an
 * allocation would exceed that limit even after a full collection, or when the
 * system refuses memory for a large object.
 *
 * It may drop references and allocate a little (a nursery at most), but must not
 * collect. It returns 1 to retry, or 0 to make the allocation return NULL;
 * allocations never return NULL otherwise. It may also leave by longjmp, under
 * the rules for frames. Without such a function, and when the system refuses
 * other memory, the program ends with a message on stderr.
 */
typedef int (*gc_out_of_memory)(void *context, struct gc_thread *thread, size_t size);
void gc_on_out_of_memory(struct gc_heap *heap, gc_out_of_memory function, void *context);

#include "gc_inline.h"

#pragma GCC visibility pop

#endif
