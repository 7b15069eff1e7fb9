/* SPDX-License-Identifier: BSD-2-Clause */
/* heap_areas.c: the named areas of a heap, as reported before and after a collection or cycle. */
#include "heap_areas.h"

#include "firing.h"

static struct heap_area *heap_areas_find(struct heap_areas *areas, uint64_t name)
{
	for (size_t i = 0; i < areas->n; i++)
		if (areas->of[i].name == name)
			return &areas->of[i];
	if (areas->n == HEAP_AREAS_MAX)
		return NULL;
	areas->of[areas->n] = (struct heap_area){.name = name};
	return &areas->of[areas->n++];
}

void heap_areas_note(struct heap_areas *areas, uint64_t name, uint32_t flags,
		     const struct place_values *values)
{
	struct heap_area *area = name ? heap_areas_find(areas, name) : NULL;

	if (!area)
		return;
	area->flags |= flags;
	*(flags & HEAP_AREA_BEFORE ? &area->before : &area->after) = values->of[VALUE_USED];
	area->size = values->of[VALUE_SIZE];
	area->limit = values->of[VALUE_LIMIT];
}

bool heap_areas_complete(const struct heap_areas *areas)
{
	for (size_t i = 0; i < areas->n; i++)
		if (!(areas->of[i].flags & HEAP_AREA_AFTER))
			return false;
	return true;
}

void heap_areas_emit(struct places *places, struct heap_areas *areas,
		     const struct event_header *like, uint64_t heap, uint64_t cycle, uint32_t flags)
{
	for (size_t i = 0; i < areas->n; i++) {
		const struct heap_area *area = &areas->of[i];
		struct event_heap_area event = {
			.header = *like,
			.heap = heap,
			.cycle = cycle,
			.name = area->name,
			.flags = area->flags | flags,
			.before = area->before,
			.after = area->after,
			.size = area->size,
			/* Some say -1 for none. */
			.limit = area->limit == UINT64_MAX ? 0 : area->limit,
		};

		places_put(places, &event.header, EVENT_heap_area, sizeof(event));
	}
	areas->n = 0;
}
