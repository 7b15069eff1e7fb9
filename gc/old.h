/* SPDX-License-Identifier: BSD-2-Clause */
/* old.h: the old generation: chunks, size-class pages, mark bits, and allocation into them. */
/*
 * Every object outside the nursery lies in a chunk: memory aligned to 512 KiB
 * that begins with a struct gc_chunk, found by clearing the low bits of the
 * object's address. A chunk is an arena (61 pages of 8 KiB, each of one size
 * class or part of a span) or carries one large object, which may be longer
 * than 512 KiB but begins in its first page. Both have their mark bits, one
 * for each 8 bytes at which an object may begin, in the same place, so that
 * marking touches neither the object nor a table to find out what it is.
 */
#ifndef GCPROF_OLD_H
#define GCPROF_OLD_H

#ifndef GC_INTERNAL
#error "internal header of libgcprof-gc"
#endif

#include "stack.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHUNK_SIZE  ((size_t)512 << 10)
#define PAGE_SIZE   ((size_t)8 << 10)
#define CHUNK_PAGES 64
#define SMALL_MAX   ((size_t)4096) /* larger objects get whole pages */
#define SPAN_PAGES  32             /* of the largest span */
#define N_CLASSES   37
#define RESERVE_MAX 4

enum gc_chunk_kind { CHUNK_ARENA = 1, CHUNK_LARGE = 2 };
enum gc_page_kind { PAGE_FREE = 0, PAGE_SMALL, PAGE_SPAN, PAGE_SPAN_BODY, PAGE_META };
enum gc_large_age { LARGE_OLD = 0, LARGE_YOUNG = 1, LARGE_YOUNG_VISITED = 2 };

struct gc_page {
	struct gc_page *next; /* in the list of pages with free cells of its class */
	uint16_t live;        /* cells in use at the last sweep */
	uint8_t kind;         /* enum gc_page_kind */
	uint8_t class;        /* small pages: index into old.cell_size */
	uint8_t pages;        /* spans: how many pages */
	uint8_t epoch;        /* old.epoch when it was last swept or taken */
};

struct gc_chunk {
	uint32_t kind;         /* enum gc_chunk_kind */
	uint32_t index;        /* arenas: in old.arenas */
	struct gc_chunk *next; /* large: list of its age */
	size_t mapped;         /* large: bytes of the whole mapping */
	size_t size;           /* large: of the object */
	uint32_t age;          /* large: enum gc_large_age */
	uint32_t released;     /* arenas: given back to the system, reads as zero */
	unsigned char *cards;  /* large arrays of references: one for each part of it, or NULL */
	uint64_t reserved[2];
	uint64_t marks[CHUNK_SIZE / 8 / 64]; /* found by the marking under way */
	uint64_t used[CHUNK_SIZE / 8 / 64]; /* arenas: found by the marking before the last sweep */
	struct gc_page pages[CHUNK_PAGES];
};

#define META_PAGES   ((sizeof(struct gc_chunk) + PAGE_SIZE - 1) / PAGE_SIZE)
#define LARGE_OFFSET OS_PAGE /* of a large object in its chunk */
#define CARD_SHIFT   9       /* a card stands for 512 bytes */

/* Where the next objects of one size go: bump allocation inside a run of free cells. */
struct gc_class {
	char *free;
	char *end;
	struct gc_page *page;      /* that the run lies in */
	size_t scan;               /* where in the page to look for the next run */
	struct gc_page *available; /* further pages with free cells */
	struct gc_page *last;      /* of those */
};

struct gc_old {
	struct gc_class classes[N_CLASSES];
	uint16_t cell_size[N_CLASSES];
	uint8_t class_of[SMALL_MAX / 8 + 1]; /* by size / 8 */
	struct gc_stack arenas;              /* struct gc_chunk * */
	struct gc_stack free_pages; /* for each arena a bit mask, kept apart: it is searched */
	size_t first_fit[SPAN_PAGES + 1]; /* arenas before this one have no such run of pages */
	char *reserve[RESERVE_MAX];       /* memory of the next arenas */
	uint32_t reserved;                /* of these; changes under the heap's lock, atomic */
	uint32_t wanted;                  /* after what the last collection mapped, atomic */
	uint32_t mapped;                  /* groups of arenas, by the collection under way */
	size_t released;                  /* arenas that were given back */
	size_t empty;                     /* arenas without an object that were not */
	size_t keep;                      /* so many empty ones stay mapped */
	size_t sweep_next;                /* arena to be swept next */
	size_t sweep_end;                 /* arenas from here on are newer than the marks */
	size_t release_next; /* arenas from here on were looked at, to give them back */
	size_t ahead;        /* arenas that may be swept out of turn */
	bool sweeping;
	bool marks;     /* what is allocated now is marked at once */
	uint8_t epoch;  /* of pages that are newer than the marks; 0 or 1 */
	uint64_t bytes; /* in small and medium objects, the dead ones included */
};

static inline struct gc_chunk *chunk_of(const void *object)
{
	return (struct gc_chunk *)((uintptr_t)object & ~(uintptr_t)(CHUNK_SIZE - 1));
}

/* True if it is a large object: nothing else begins there in a chunk. Does not look at memory. */
static inline bool chunk_is_large(const void *object)
{
	return ((uintptr_t)object & (CHUNK_SIZE - 1)) == LARGE_OFFSET;
}

static inline size_t chunk_bit(const void *object)
{
	return ((uintptr_t)object & (CHUNK_SIZE - 1)) >> 3;
}

static inline bool old_is_marked(const void *object)
{
	size_t bit = chunk_bit(object);

	return chunk_of(object)->marks[bit / 64] >> (bit % 64) & 1;
}

/* Marks the object; true if it was not marked before. */
static inline bool old_mark(const void *object)
{
	size_t bit = chunk_bit(object);
	uint64_t *word = &chunk_of(object)->marks[bit / 64];
	uint64_t mask = UINT64_C(1) << (bit % 64);

	if (*word & mask)
		return false;
	*word |= mask;
	return true;
}

/* The same for mutators: several at once, while no thread collects. */
static inline bool old_mark_shared(const void *object)
{
	size_t bit = chunk_bit(object);
	uint64_t *word = &chunk_of(object)->marks[bit / 64];
	uint64_t mask = UINT64_C(1) << (bit % 64);

	if (__atomic_load_n(word, __ATOMIC_RELAXED) & mask)
		return false;
	return !(__atomic_fetch_or(word, mask, __ATOMIC_RELAXED) & mask);
}

static inline bool old_is_marked_shared(const void *object)
{
	size_t bit = chunk_bit(object);

	return __atomic_load_n(&chunk_of(object)->marks[bit / 64], __ATOMIC_RELAXED) >> (bit % 64) &
	       1;
}

static inline void old_unmark(const void *object)
{
	size_t bit = chunk_bit(object);

	chunk_of(object)->marks[bit / 64] &= ~(UINT64_C(1) << (bit % 64));
}

void old_init(struct gc_old *old);
void old_free(struct gc_old *old);

/* Memory for an object that does not fit the current run, of `class` or of whole pages. */
void *old_alloc_small_slow(struct gc_old *old, unsigned class);
void *old_alloc_span(struct gc_old *old, size_t size);

/* Memory for an old object of a class that is known; see old_alloc(). */
static inline void *old_alloc_small(struct gc_old *old, unsigned class, size_t size)
{
	struct gc_class *c = &old->classes[class];
	char *cell = c->free;

	old->bytes += size;
	if (__builtin_expect(cell == c->end, 0))
		return old_alloc_small_slow(old, class);
	c->free = cell + old->cell_size[class];
	return cell;
}

/* Memory for an old object of `size` bytes (a multiple of 8, below the large size): not zeroed.
 * Only while the world is stopped. Ends the program when there is no memory. */
static inline void *old_alloc(struct gc_old *old, size_t size)
{
	if (__builtin_expect(size <= SMALL_MAX, 1))
		return old_alloc_small(old, old->class_of[size / 8], size);
	old->bytes += size;
	return old_alloc_span(old, size);
}

/* The reserve is too small, or much too large; asked for without the lock. */
static inline bool old_wants_reserve(const struct gc_old *old)
{
	uint32_t wanted = __atomic_load_n(&old->wanted, __ATOMIC_RELAXED);
	uint32_t reserved = __atomic_load_n(&old->reserved, __ATOMIC_RELAXED);

	return reserved < wanted || (reserved > wanted && reserved > 1);
}

/* Between two collections, without the lock: gets memory ready that the next one will take, or
 * gives some back: that of four arenas at a time. */
void old_prepare(struct gc_old *old, pthread_mutex_t *lock);
void old_drop_reserve(struct gc_old *old);

/* Promotion may sweep some arenas ahead, and, while marking is under way, marks what it allocates.
 * At its end it is known what the next one may want. */
void old_begin_minor(struct gc_old *old, bool marks);
void old_end_minor(struct gc_old *old);

/* Forgets a marking that did not come to its end. Otherwise sweeping clears the marks. */
void old_clear_marks(struct gc_old *old);

/* What is not marked now is free, but found only as it is swept. `keep` free bytes stay mapped. */
void old_begin_sweeping(struct gc_old *old, size_t keep);

/* Sweeps so many arenas; true when all are swept. */
bool old_sweep_some(struct gc_old *old, size_t arenas);

uint64_t old_arena_bytes(const struct gc_old *old);

/* True if an object may begin at this address: for the checker. */
bool old_is_cell(const struct gc_old *old, const void *object, size_t size);

#endif
