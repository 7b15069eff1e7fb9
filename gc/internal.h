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
#include "alive.h"
#include "bag.h"
#include "nursery.h"
#include "os.h"
#include "old.h"
#include "sample.h"
#include "stack.h"
#include "thread.h"

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
#define SMALL_COPY  128 /* up to this size objects are copied by words */

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

struct gc_large {
	struct gc_chunk *young;
	struct gc_chunk *old;
	struct gc_chunk *unswept; /* old, and the sweeping under way was not yet there */
	struct gc_stack reached;  /* young ones that a minor collection has yet to trace */
	struct gc_chunk *spare;   /* mappings without an object, to be used again */
	size_t spare_bytes;
	uint64_t bytes;       /* young and old, in objects */
	uint64_t young_bytes; /* atomic reads outside the lock are fine: it is a hint */
};

/* The major collection: see major.c. */
struct gc_major {
	uint32_t phase;       /* enum gcprof_phase */
	struct gc_stack gray; /* marked objects whose references were not yet looked at */
	bool drained;         /* nothing was gray since the last minor collection */
	uint32_t tries;       /* then the minor collection found more than a step could mark */
	uint32_t stage;       /* enum settle_stage, atomic */
	size_t settled;       /* items of it that had their turn */
	uint64_t live;        /* object bytes that are marked */
	uint64_t live_large;  /* of these in large objects */
	uint64_t promoted;    /* by the last minor collection, but for large leaves */
	uint64_t used;        /* of the nursery before it */
	uint64_t large;       /* bytes allocated in large objects since the last step */
	size_t interval;      /* bytes of the nursery between two steps of one thread */
	size_t next_step;     /* a step is due when so much of the nursery is used; atomic */
};

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
	struct gc_bag roots;        /* void ** */
	struct gc_stack remembered; /* of threads that are gone */
	struct gc_stack work;       /* promoted but not yet traced */
	struct gc_major major;
	struct gc_weak_lists weak;
	struct gc_final final;
	struct gc_bag pins; /* objects */
	uint32_t last_hash; /* identity hashes given out, atomic */
	uint64_t pressure;  /* bytes outside the heap since the last marking, atomic */
	gc_out_of_memory out_of_memory;
	void *out_of_memory_context;
	gc_hook hook;
	void *hook_context;

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

/* heap.c */
void heap_init_lock(struct gc_heap *heap);

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

/* options.c */
int options_check(const struct gc_options *given, struct gc_options *out);
int error_set(int result, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* limit.c */
void limit_update(struct gc_thread *thread);
void limit_request(struct gc_thread *thread);
void limit_drop_buffer(struct gc_thread *thread);
char *limit_wanted(const struct gc_thread *thread);

/* large.c */
void *large_alloc(struct gc_heap *heap, const struct gc_type_info *type, size_t size);
bool large_is_due(struct gc_heap *heap, size_t size);
void large_finish_minor(struct gc_heap *heap);
void large_clear_marks(struct gc_heap *heap);
void large_begin_sweeping(struct gc_heap *heap);
bool large_sweep_some(struct gc_heap *heap, size_t chunks);
void large_free(struct gc_heap *heap);
void large_free_spare(struct gc_heap *heap);

/* minor.c, mark.c, sweep.c: the world is stopped */
void minor_trace(struct gc_heap *heap);
void minor_finish(struct gc_heap *heap);
void mark_begin(struct gc_heap *heap);
bool mark_some(struct gc_heap *heap, uint64_t budget);
bool mark_spend(struct gc_heap *heap, uint64_t *budget);
void mark_abandon(struct gc_heap *heap);
void mark_object(struct gc_heap *heap, void *object);
void mark_children(struct gc_heap *heap, void *object);
void mark_undo(struct gc_heap *heap, const void *object);
void sweep_begin(struct gc_heap *heap);
bool sweep_some(struct gc_heap *heap, size_t arenas);

/* major.c */
void major_init(struct gc_heap *heap);
bool major_is_wanted(const struct gc_heap *heap);
bool major_step_can_wait(struct gc_heap *heap);
void major_step(struct gc_heap *heap, bool behind_minor);
void major_full(struct gc_heap *heap);

static inline bool major_is_marking(const struct gc_heap *heap)
{
	return heap->major.phase == GCPROF_PHASE_MARKING;
}

/* Hints: asked for outside the lock. */
static inline bool major_has_work(const struct gc_heap *heap)
{
	return __atomic_load_n(&heap->major.next_step, __ATOMIC_RELAXED) != SIZE_MAX;
}

static inline bool major_step_is_due(const struct gc_heap *heap)
{
	return nursery_taken(&heap->nursery) >=
	       __atomic_load_n(&heap->major.next_step, __ATOMIC_RELAXED);
}

/* roots.c: calls visit for every slot of every thread's frames and of the global roots. */
void roots_visit(struct gc_heap *heap, gc_visit visit, void *context);

/* barrier.c */
typedef void (*gc_visit_object)(void *context, struct gc_header *object);
void barrier_visit(struct gc_heap *heap, gc_visit_object visit, void *context);
void barrier_reset(struct gc_heap *heap);
void barrier_gather(struct gc_heap *heap);

/* In the nursery, or a large object that was in no collection yet. NULL is neither. */
static inline bool heap_is_young(const struct gc_heap *heap, const void *object)
{
	return nursery_has(&heap->nursery, object) ||
	       (chunk_is_large(object) && chunk_of(object)->age != LARGE_OLD);
}

/* room.c */
bool room_for(struct gc_thread *thread, size_t size);
bool room_refused(struct gc_thread *thread, size_t size, bool collected);

/* cards.c: which parts of a large old array were written to. */
void cards_mark(struct gc_header *array, const void *start, size_t size);
bool cards_is_dirty(const struct gc_header *array, const void *slot);
void cards_visit(struct gc_heap *heap, struct gc_header *array, gc_visit visit, void *context);
void cards_clean(struct gc_header *array);

static inline size_t cards_count(size_t size)
{
	return (size + (1 << CARD_SHIFT) - 1) >> CARD_SHIFT;
}

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
	return heap->types[type].probe;
}

static inline bool type_has_references(const struct gc_type_info *type)
{
	return type->n_pointers | type->n_item_pointers;
}

static inline void raise_to(uint64_t *most, uint64_t value)
{
	if (*most < value)
		*most = value;
}

/* In heap->stop: threads shall park; there is a processor for each of them; some sleep. */
enum { STOP_WANTED = 1, STOP_SPIN = 2, STOP_SLEEPERS = 4 };

static inline bool threads_stop_wanted(const struct gc_heap *heap)
{
	return __atomic_load_n(&heap->stop, __ATOMIC_SEQ_CST);
}

/* collect.c */
#define COLLECT_ALWAYS UINT64_MAX
enum collect_kind { COLLECT_MINOR, COLLECT_FULL, COLLECT_STEP };
void heap_collect(struct gc_thread *self, enum collect_kind kind, uint32_t reason, uint64_t seen);
void heap_step(struct gc_thread *self, uint32_t reason, uint64_t seen);
void heap_prepare(struct gc_thread *self);
void heap_survey(struct gc_thread *self, size_t slice, uint64_t seen);
uint64_t heap_cycle(const struct gc_heap *heap);

/* Bytes allocated by all threads as far as they were counted: the clock of ages. */
static inline uint64_t heap_allocated(const struct gc_heap *heap)
{
	return __atomic_load_n(&heap->before, __ATOMIC_RELAXED) +
	       __atomic_load_n(&heap->nursery.used, __ATOMIC_RELAXED);
}

/* check.c: the whole heap, in builds with GC_CHECK=1; ends the program with what is wrong. */
enum check_when { CHECK_BEFORE, CHECK_MINOR_DONE, CHECK_STEP_DONE, CHECK_MARKED, CHECK_FULL_DONE };
void check_heap(struct gc_heap *heap, enum check_when when);
void collect_check(struct gc_heap *heap, enum check_when when);

#endif
