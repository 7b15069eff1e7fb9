/* SPDX-License-Identifier: BSD-2-Clause */
/* heap.h: the data of a heap, its spaces and its threads. */
/*
 * Data, and predicates on it. The modules above change the data; the header of
 * each has its contracts. Unless a header says otherwise, its functions are called
 * while the world is stopped.
 */
#ifndef GCPROF_HEAP_H
#define GCPROF_HEAP_H

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "chunk.h"
#include "gc.h"
#include "os.h"
#include "thread.h"
#include "worklist.h"

#ifndef GCPROF_NO_SAMPLING
#define GCPROF_NO_SAMPLING 0
#endif

struct gc_finalizer; /* finalize.c */

/* Called with a slot that holds a reference; may change it. */
typedef void (*gc_visit)(void *context, void **slot);

/* Called with a remembered object. */
typedef void (*gc_visit_object)(void *context, struct gc_header *object);

/* Returns an object's current address, or NULL if it is dead. Marking, promotion have one each. */
typedef void *(*gc_survivor)(struct gc_heap *heap, void *object);

enum { MAX_TYPES = 65536, FEW_OFFSETS = 4, SHARES_MAX = 16, N_CLASSES = 37 };

/* A registered type. Filled once, with the heap's lock. */
struct gc_type_info {
	uint32_t size;
	uint32_t item_size;
	uint32_t length_offset;
	uint32_t n_pointers;
	const uint32_t *pointers; /* `few`, or separately allocated */
	uint32_t few[FEW_OFFSETS];
	bool is_simple; /* small, of constant size, with references in `few` only */
	uint8_t class;  /* size class in the old generation, if simple */
	uint32_t n_item_pointers;
	const uint32_t *item_pointers;
	uint64_t probe; /* id in the probes */
};

/* Memory that one thread uses before others do. */
struct gc_share {
	_Alignas(64) char *next; /* start of the free part, atomic */
	char *end;
};

struct gc_nursery {
	char *base;
	char *end;       /* end of the mapping */
	size_t part;     /* size of one thread's part, until the nursery is emptied */
	size_t size;     /* size of all parts */
	size_t saved;    /* additional bytes that smaller parts would have promoted last time */
	size_t wait;     /* bytes to allocate before a larger part is tried again */
	size_t patience; /* the next wait, in multiples of the larger part */
	uint64_t rate;   /* promotion rate of the small part before the trial, of RATE_ONE */
	size_t largest;  /* largest size since the last major collection */
	size_t touched;  /* bytes that may be resident */
	uint32_t n_shares;
	size_t buffer; /* bytes that a thread takes at a time; written with n_shares */
	/* All threads write these and read the rest, so they have their own cache line. */
	_Alignas(64) size_t taken; /* bytes taken by threads, in buffers and outside, atomic */
	uint64_t used;             /* bytes allocated since it was last emptied, atomic */
	uint32_t watched;          /* new weak references and finalizers since then, atomic */
	struct gc_share shares[SHARES_MAX];
};

/* Allocation in one size class: bumps a pointer inside a run of free cells. */
struct gc_class {
	char *free;
	char *end;
	struct gc_page *page;      /* contains the run */
	size_t scan;               /* where in the page the search for the next run continues */
	struct gc_page *available; /* list of further pages with free cells */
	struct gc_page *last;      /* last of that list */
};

struct gc_old {
	struct gc_class classes[N_CLASSES];
	uint16_t cell_size[N_CLASSES];
	uint8_t class_of[SMALL_MAX / 8 + 1]; /* by size / 8 */
	struct gc_worklist arenas;           /* struct gc_chunk * */
	struct gc_worklist free_pages;       /* a bit mask per arena, separate for fast search */
	size_t first_fit[SPAN_PAGES + 1];    /* no earlier arena has a run of that many pages */
	size_t released;                     /* arenas returned to the system */
	size_t empty;                        /* other arenas without objects */
	size_t keep;                         /* number of empty arenas that stay mapped */
	size_t sweep_next;                   /* next arena to sweep */
	size_t sweep_end;                    /* first arena that is newer than the marks */
	size_t release_next;                 /* arenas from here on were considered for return */
	bool marks;                          /* mark objects as they are allocated */
	uint8_t epoch;                       /* epoch of pages newer than the marks; 0 or 1 */
	uint64_t bytes;                      /* in small and medium objects, including dead ones */
};

struct gc_large {
	struct gc_chunk *young;
	struct gc_chunk *old;
	struct gc_chunk *unswept;   /* old, not visited yet by the current sweep */
	struct gc_worklist reached; /* young ones that the minor collection still has to trace */
	struct gc_chunk *spare;     /* mappings kept for reuse */
	size_t spare_bytes;
	uint64_t bytes;       /* young and old, in objects */
	uint64_t young_bytes; /* a hint: atomic reads without the lock are fine */
};

/* The work after marking: see major.c. */
enum after_mark_stage {
	AFTER_MARK_NOTHING,
	AFTER_MARK_WEAK,
	AFTER_MARK_ORDERED, /* finalizers */
	AFTER_MARK_LIGHT,
	AFTER_MARK_SAMPLES,
	AFTER_MARK_DONE
};

/* The major collection: see major.c. */
struct gc_major {
	uint32_t phase;          /* enum gcprof_phase */
	struct gc_worklist gray; /* marked objects whose references are not traced yet */
	bool drained;            /* the last step between minor collections left nothing gray */
	uint32_t tries;          /* minor collections that then found more than a step could mark */
	uint32_t stage;          /* enum after_mark_stage, atomic */
	size_t after_mark;       /* index of the next item in that stage */
	uint64_t live;           /* bytes of marked objects */
	uint64_t live_large;     /* of these, in large objects */
	uint64_t promoted;       /* by the last minor collection, except large leaf objects */
	uint64_t used;           /* bytes in the nursery before it */
	uint64_t large;          /* bytes allocated in large objects since the last step */
	size_t interval;         /* bytes of the nursery between two steps, with one thread */
	size_t next_step;        /* nursery bytes in use at which a step is due; atomic */
};

/* A weak reference or, with a value, an ephemeron (a pair). */
struct gc_weak {
	void *key; /* NULL: it died, or was NULL */
	void *value;
	const struct gc_heap *heap;
	void *waits_for;       /* the key, while the pair waits for it to be marked, or NULL */
	struct gc_weak *next;  /* next pair that waits for the same key */
	struct gc_weak *other; /* first pair of the next key in the bucket */
	bool destroyed;        /* can be reused, or freed when it is in no list */
	bool listed;           /* in the list `young` */
	bool paired;           /* in the list `pairs` */
};

struct gc_weak_lists {
	struct gc_worklist all;   /* struct gc_weak * */
	struct gc_worklist pairs; /* of these; those that have or had a value */
	struct gc_worklist young; /* of these; those whose key or value may be young */
	struct gc_worklist spare; /* of these; destroyed ones for reuse */
	unsigned rounds;          /* through the young ones in this minor collection */

	/* During marking: see pairs.c. */
	struct gc_weak **buckets; /* waiting pairs, indexed by key */
	size_t n_buckets;         /* a power of 2 */
	size_t walked;            /* pairs visited by the walk; SIZE_MAX: all */
	uint64_t visits;          /* total visits of pairs: for tests */
};

/* Finalizers; lists are indexed by enum gc_finalizer_kind. */
struct gc_final {
	struct gc_finalizer *young[2];   /* of young objects, the newest first */
	struct gc_finalizer *old[2];     /* of old ones, likewise */
	struct gc_finalizer **at;        /* in `old`: where the current pass continues, or NULL */
	struct gc_finalizer *raised;     /* its dead object's references are being marked */
	struct gc_finalizer *ready;      /* to be run, in this order */
	struct gc_finalizer **ready_end; /* its last link, if not empty */
	uint64_t waiting;                /* number of ready ones; atomic */
};

/* Bits of heap->stop: threads must park; they may spin (enough processors); some of them sleep. */
enum { STOP_WANTED = 1, STOP_SPIN = 2, STOP_SLEEPERS = 4 };

struct gc_heap {
	struct gc_type_info *types; /* MAX_TYPES of them; pages are mapped on use */
	struct gc_nursery nursery;
	struct gc_options options;
	uint32_t n_types; /* next id to assign; atomic */

	/* Stopping the world: see threads.c. */
	pthread_mutex_t lock;
	pthread_cond_t stopped; /* a mutator stopped */
	pthread_cond_t resumed; /* a collection ended */
	struct gc_thread *threads;
	struct gc_thread
		*collector; /* the collecting thread, or NULL; atomic, changed with the lock */
	uint32_t n_threads;
	uint32_t processors;
	uint32_t stop;     /* atomic: STOP_* bits; nonzero: mutators must park */
	uint32_t awaiting; /* atomic: the collector sleeps until they have parked */

	struct gc_old old;
	struct gc_large large;
	struct gc_worklist roots;      /* void **, one for each gc_root_add() */
	struct gc_worklist remembered; /* by threads that are gone */
	struct gc_worklist work;       /* slots and promoted objects to be traced */
	struct gc_major major;
	struct gc_weak_lists weak;
	struct gc_final final;
	struct gc_worklist pins; /* objects, one for each gc_pin() */
	uint32_t last_hash;      /* last identity hash assigned, atomic */
	uint64_t pressure; /* bytes outside the heap announced since the last marking, atomic */
	gc_out_of_memory out_of_memory;
	void *out_of_memory_context;
	gc_hook hook;
	void *hook_context;

	uint64_t samples;    /* samples taken, atomic */
	uint64_t before;     /* bytes allocated, without those in nursery.used, atomic */
	uint64_t threshold;  /* old and large bytes that start a major collection */
	uint64_t cycle;      /* collections begun */
	uint64_t ended;      /* collections ended, atomic */
	uint64_t flushed;    /* of these, reported or in sums that were; atomic */
	uint64_t stop_cycle; /* first cycle since the world was stopped; 0: it is running */
	uint64_t stop_begin; /* its begin, ns */
	uint64_t
		check_after; /* allocated bytes before which the heap is not checked, see check.c */

	struct gc_stats stats;
	struct gcprof_gc_stats last; /* of the current collection */
	struct gcprof_provider *provider;
	struct gc_sampled_table sampled_old;
	struct gc_sampled_table sampled_orphans; /* young samples of threads that are gone */
	struct gc_heap *next;                    /* list of all heaps, for fork */
};

/* A collection holds the lock while it calls hooks and light finalizers. */
static _Noreturn inline void heap_called_within(void)
{
	os_fatal("a hook or a light finalizer called the collector, or fork");
}

static inline void heap_lock(struct gc_heap *heap)
{
	if (pthread_mutex_lock(&heap->lock) == EDEADLK)
		heap_called_within();
}

/* Number of collections that have ended, including steps. It excludes one that other threads have
 * begun and that has not stopped this thread yet: that one makes another unnecessary. */
static inline uint64_t heap_cycle(const struct gc_heap *heap)
{
	return __atomic_load_n(&heap->ended, __ATOMIC_ACQUIRE);
}

/* Bytes allocated by all threads, as far as they are counted: the clock of ages. */
static inline uint64_t heap_allocated(const struct gc_heap *heap)
{
	return __atomic_load_n(&heap->before, __ATOMIC_RELAXED) +
	       __atomic_load_n(&heap->nursery.used, __ATOMIC_RELAXED);
}

static inline bool threads_stop_wanted(const struct gc_heap *heap)
{
	return __atomic_load_n(&heap->stop, __ATOMIC_SEQ_CST);
}

static inline bool major_is_marking(const struct gc_heap *heap)
{
	return heap->major.phase == GCPROF_PHASE_MARKING;
}

static inline bool nursery_has(const struct gc_nursery *nursery, const void *object)
{
	return (uintptr_t)object - (uintptr_t)nursery->base <
	       (uintptr_t)(nursery->end - nursery->base);
}

static inline size_t nursery_taken(const struct gc_nursery *nursery)
{
	return __atomic_load_n(&nursery->taken, __ATOMIC_RELAXED);
}

/* In the nursery, or a large object that was in no collection yet. False for NULL. */
static inline bool heap_is_young(const struct gc_heap *heap, const void *object)
{
	return nursery_has(&heap->nursery, object) ||
	       (chunk_is_large(object) && chunk_of(object)->age != LARGE_OLD);
}

static inline void raise_to(uint64_t *most, uint64_t value)
{
	if (*most < value)
		*most = value;
}

#endif
