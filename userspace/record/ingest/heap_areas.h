/* SPDX-License-Identifier: BSD-2-Clause */
/* heap_areas.h: the named areas of a heap, as reported before and after a collection or cycle. */
#ifndef GCPROF_HEAP_AREAS_H
#define GCPROF_HEAP_AREAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event_header;
struct place_values;
struct places;

#define HEAP_AREAS_MAX 16 /* of a collection; further ones are left out */

struct heap_area {
	uint64_t name;                       /* of a name */
	uint32_t flags;                      /* enum heap_area_flag */
	uint64_t before, after, size, limit; /* bytes, as in event_heap_area */
};

struct heap_areas {
	struct heap_area of[HEAP_AREAS_MAX];
	size_t n;
};

/*
 * Notes what a place reports (USED, SIZE, LIMIT) about the area with this name; 0 has none.
 * `flags`: HEAP_AREA_BEFORE or HEAP_AREA_AFTER, and HEAP_AREA_BESIDE.
 */
void heap_areas_note(struct heap_areas *areas, uint64_t name, uint32_t flags,
		     const struct place_values *values);

/* Was all reported that had been before the collection? */
bool heap_areas_complete(const struct heap_areas *areas);

/*
 * Emits what was noted, and forgets it. `like`: header of the gc_end or, with `flags`
 * HEAP_AREA_CYCLE, gc_cycle of this heap and number, which was emitted before.
 */
void heap_areas_emit(struct places *places, struct heap_areas *areas,
		     const struct event_header *like, uint64_t heap, uint64_t cycle,
		     uint32_t flags);

#endif
