/* SPDX-License-Identifier: BSD-2-Clause */
/* old.h: the old generation: arenas of pages of one size class, and allocation into them. */
#ifndef GCPROF_OLD_H
#define GCPROF_OLD_H

#include "heap.h"

void old_init(struct gc_old *old);
void old_free(struct gc_old *old);

/* Memory for an object of `class` outside the current run, or for one of whole pages. */
void *old_alloc_small_slow(struct gc_old *old, unsigned class);
void *old_alloc_span(struct gc_old *old, size_t size);

/* Memory for an old object of a known class; see old_alloc(). */
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

/* Memory for an old object of `size` bytes (a multiple of 8, below the large size), not zeroed.
 * Only while the world is stopped. Ends the program when out of memory. */
static inline void *old_alloc(struct gc_old *old, size_t size)
{
	if (__builtin_expect(size <= SMALL_MAX, 1))
		return old_alloc_small(old, old->class_of[size / 8], size);
	old->bytes += size;
	return old_alloc_span(old, size);
}

/* Bracket a minor collection: with `marks`, promotion marks what it allocates. */
void old_begin_minor(struct gc_old *old, bool marks);
void old_end_minor(struct gc_old *old);

/* Discards an unfinished marking. After a finished one, sweeping clears the marks. */
void old_clear_marks(struct gc_old *old);

/* Starts sweeping: unmarked cells are free, but found only when swept. Keeps `keep` free bytes
 * mapped. */
void old_begin_sweeping(struct gc_old *old, size_t keep);

/* Sweeps up to `arenas` arenas; true when all are swept. */
bool old_sweep_some(struct gc_old *old, size_t arenas);

uint64_t old_arena_bytes(const struct gc_old *old);

/* For the checker: true if an object of `size` bytes may begin at this address. */
bool old_is_cell(const struct gc_old *old, const void *object, size_t size);

#endif
