/* SPDX-License-Identifier: BSD-2-Clause */
/* heap.h: the data of a heap, its spaces and its threads. */
/*
 * Data and questions that its fields answer at once. What changes them is in the
 * modules above, each of which has a header with its contracts. Unless one says
 * otherwise its functions are called while the world is stopped.
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

/* Called with a place that holds a reference, which it may change. */
typedef void (*gc_visit)(void *context, void **slot);

/* Called with a remembered object. */
typedef void (*gc_visit_object)(void *context, struct gc_header *object);

/* Marking, promotion: where an object is now, or NULL if it is dead. */
typedef void *(*gc_survivor)(struct gc_heap *heap, void *object);

enum { MAX_TYPES = 65536, FEW_OFFSETS = 4, SHARES_MAX = 16, N_CLASSES = 37 };

/* A registered type. Filled once, under the heap's lock. */
struct gc_type_info {
	uint32_t size;
	uint32_t item_size;
	uint32_t length_offset;
	uint32_t n_pointers;
	const uint32_t *pointers; /* `few`, or memory of its own */
	uint32_t few[FEW_OFFSETS];
	bool is_simple; /* small, of constant size, and its references are the few */
	uint8_t class;  /* of the old generation, if it is simple */
	uint32_t n_item_pointers;
	const uint32_t *item_pointers;
	uint64_t probe; /* its id in the probes */
};

/* Memory from which one thread takes before others do. */
struct gc_share {
	_Alignas(64) char *next; /* start of what no thread has, atomic */
	char *end;
};

struct gc_nursery {
	char *base;
	char *end;       /* of what it may ever have */
	size_t part;     /* what one thread has until it is emptied */
	size_t size;     /* what all have */
	size_t saved;    /* so many bytes more would smaller parts have promoted the last time */
	size_t wait;     /* bytes to be allocated before a larger part is tried again */
	size_t patience; /* that is so many times its size, the next time */
	uint64_t rate;   /* what the smaller part before one that is tried promoted, of RATE_ONE */
	size_t largest;  /* that it had since the last major collection */
	size_t touched;  /* so much may be in memory */
	uint32_t n_shares;
	size_t buffer; /* so much of them do threads take at a time; written likewise */
	/* What all threads write has a cache line of its own: they read the rest all the time. */
	_Alignas(64) size_t taken; /* what threads have, in buffers and beside them, atomic */
	uint64_t used;             /* allocated since it was last emptied, atomic */
	uint32_t watched; /* weak references and finalizers since it was last emptied, atomic */
	struct gc_share shares[SHARES_MAX];
};

/* Where the next objects of one size go: bump allocation inside a run of free cells. */
struct gc_class {
	char *free;
	char *end;
	struct gc_page *page;      /* that the run lies in */
	size_t scan;               /* where in the page the next run is searched for */
	struct gc_page *available; /* further pages with free cells */
	struct gc_page *last;      /* of those */
};

struct gc_old {
	struct gc_class classes[N_CLASSES];
	uint16_t cell_size[N_CLASSES];
	uint8_t class_of[SMALL_MAX / 8 + 1]; /* by size / 8 */
	struct gc_worklist arenas;           /* struct gc_chunk * */
	struct gc_worklist free_pages; /* for each arena a bit mask, kept apart: it is searched */
	size_t first_fit[SPAN_PAGES + 1]; /* arenas before this one have no such run of pages */
	size_t released;                  /* arenas that were given back */
	size_t empty;                     /* arenas without an object that were not */
	size_t keep;                      /* so many empty ones stay mapped */
	size_t sweep_next;                /* arena to be swept next */
	size_t sweep_end;                 /* arenas from here on are newer than the marks */
	size_t release_next;              /* arenas from here on had their turn to be given back */
	size_t ahead;                     /* arenas that may be swept out of turn */
	bool sweeping;
	bool marks;     /* what is allocated now is marked at once */
	uint8_t epoch;  /* of pages that are newer than the marks; 0 or 1 */
	uint64_t bytes; /* in small and medium objects, the dead ones included */
};

struct gc_large {
	struct gc_chunk *young;
	struct gc_chunk *old;
	struct gc_chunk *unswept;   /* old, and the sweeping under way was not yet there */
	struct gc_worklist reached; /* young ones that a minor collection has yet to trace */
	struct gc_chunk *spare;     /* mappings without an object, to be used again */
	size_t spare_bytes;
	uint64_t bytes;       /* young and old, in objects */
	uint64_t young_bytes; /* atomic reads outside the lock are fine: it is a hint */
};

/* After the end of marking: see after_mark.c. */
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
	struct gc_worklist gray; /* marked objects whose references were not yet traced */
	bool drained;            /* nothing was gray since the last minor collection */
	uint32_t tries;          /* then the minor collection found more than a step could mark */
	uint32_t stage;          /* enum after_mark_stage, atomic */
	size_t after_mark;       /* items of it that had their turn */
	uint64_t live;           /* object bytes that are marked */
	uint64_t live_large;     /* of these in large objects */
	uint64_t promoted;       /* by the last minor collection, but for large leaves */
	uint64_t used;           /* of the nursery before it */
	uint64_t large;          /* bytes allocated in large objects since the last step */
	size_t interval;         /* bytes of the nursery between two steps of one thread */
	size_t next_step;        /* a step is due when so much of the nursery is used; atomic */
};

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
	struct gc_worklist all;   /* struct gc_weak * */
	struct gc_worklist pairs; /* of these; they have a value, or had one */
	struct gc_worklist young; /* of these; their key or value may be young */
	struct gc_worklist spare; /* of these; destroyed, to be used again unless they are freed */
	unsigned rounds;          /* through the young ones, in this minor collection */

	/* While marking is under way: see pairs.c. */
	struct gc_weak **buckets; /* pairs that wait, by their keys */
	size_t n_buckets;         /* a power of 2 */
	size_t walked;            /* pairs that had their turn; SIZE_MAX: all */
	uint64_t visits;          /* of pairs, so far: for tests */
};

/* Lists, by enum gc_finalizer_kind. */
struct gc_final {
	struct gc_finalizer *young[2];   /* of young objects, the newest first */
	struct gc_finalizer *old[2];     /* of old ones, likewise */
	struct gc_finalizer **at;        /* in `old`: where the pass under way goes on, or NULL */
	struct gc_finalizer *raised;     /* dead; what it refers to is being marked */
	struct gc_finalizer *ready;      /* to be run, the first first */
	struct gc_finalizer **ready_end; /* its last link, unless it is empty */
	uint64_t waiting;                /* how many those are; atomic */
};

/* In heap->stop: threads shall park; there is a processor for each of them; some sleep. */
enum { STOP_WANTED = 1, STOP_SPIN = 2, STOP_SLEEPERS = 4 };

struct gc_heap {
	struct gc_type_info *types; /* MAX_TYPES of them, mapped as they are used */
	struct gc_nursery nursery;
	struct gc_options options;
	uint32_t n_types; /* next to be given out; atomic */

	/* The world: see threads.c. */
	pthread_mutex_t lock;
	pthread_cond_t stopped; /* a mutator stopped */
	pthread_cond_t resumed; /* a collection ended */
	struct gc_thread *threads;
	struct gc_thread *collector; /* who is collecting, or NULL; atomic, changed with the lock */
	uint32_t n_threads;
	uint32_t processors;
	uint32_t stop;     /* atomic: mutators shall park, see threads.c */
	uint32_t awaiting; /* atomic: the collector sleeps until they have */

	struct gc_old old;
	struct gc_large large;
	struct gc_worklist roots;      /* void **, as often as each was added */
	struct gc_worklist remembered; /* of threads that are gone */
	struct gc_worklist work;       /* promoted but not yet traced */
	struct gc_major major;
	struct gc_weak_lists weak;
	struct gc_final final;
	struct gc_worklist pins; /* objects, as often as each was pinned */
	uint32_t last_hash;      /* identity hashes given out, atomic */
	uint64_t pressure;       /* bytes outside the heap since the last marking, atomic */
	gc_out_of_memory out_of_memory;
	void *out_of_memory_context;
	gc_hook hook;
	void *hook_context;

	uint64_t samples;     /* taken, atomic */
	uint64_t before;      /* bytes allocated but for those in nursery.used, atomic */
	uint64_t threshold;   /* old and large bytes that start a major collection */
	uint64_t cycle;       /* collections begun */
	uint64_t ended;       /* and ended, atomic */
	uint64_t stop_cycle;  /* of the first one since the world was stopped, 0: it is not */
	uint64_t stop_begin;  /* when that was */
	uint64_t check_after; /* not before so many bytes were allocated, see heap.c */

	struct gc_stats stats;
	struct gcprof_gc_stats last; /* of the collection under way */
	struct gcprof_provider *provider;
	struct gc_sampled_table sampled_old;
	struct gc_sampled_table sampled_orphans; /* young ones of threads that are gone */
	struct gc_heap *next;                    /* of all heaps, for fork */
};

/* A collection holds the lock, and so do the hooks and light finalizers that it calls. */
static _Noreturn inline void heap_called_within(void)
{
	os_fatal("a hook or a light finalizer called the collector, or fork");
}

static inline void heap_lock(struct gc_heap *heap)
{
	if (pthread_mutex_lock(&heap->lock) == EDEADLK)
		heap_called_within();
}

/* How many collections have ended, steps included. One that others have begun, and that has not
 * stopped this thread yet, does not count: when it has ended there is no need for another. */
static inline uint64_t heap_cycle(const struct gc_heap *heap)
{
	return __atomic_load_n(&heap->ended, __ATOMIC_ACQUIRE);
}

/* Bytes allocated by all threads as far as they were counted: the clock of ages. */
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

/* In the nursery, or a large object that was in no collection yet. NULL is neither. */
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
