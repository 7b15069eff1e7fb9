/* SPDX-License-Identifier: BSD-2-Clause */
/* heap_names.c: names that a process has for kinds and reasons of collections, and the areas of its
 * heaps. */
#include "firing.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct heap_names *heap_names_of(struct places *places, uint64_t process)
{
	uint64_t *value = map_put(places->names, &process, NULL);

	if (value && !*value)
		*value = (uint64_t)(uintptr_t)calloc(1, sizeof(struct heap_names));
	return value ? (struct heap_names *)(uintptr_t)*value : NULL;
}

static void emit_name(struct places *places, const struct event_header *like, uint64_t number,
		      const char *text)
{
	struct {
		struct event_name event;
		char text[sizeof(((struct heap_names *)NULL)->own[0])];
	} name = {.event = {.header = *like, .number = number, .kind = GCPROF_NAME_GC}};

	name.event.name_size = (uint16_t)strnlen(text, sizeof(name.text));
	memcpy(name.text, text, name.event.name_size);
	places_put(places, &name.event.header, EVENT_name,
		   sizeof(name.event) + ((name.event.name_size + 7u) & ~7u));
}

bool places_is_stale(const struct places *places, const struct event_header *event, uint64_t said)
{
	uint64_t process = event->process;
	const uint64_t *value = map_get(places->names, &process);
	uint64_t program = value && *value ? ((struct heap_names *)(uintptr_t)*value)->program : 0;

	return said < program && event->time >= program;
}

static void announce(struct places *places, const struct event_header *like,
		     struct heap_names *names, size_t i)
{
	names->said[i] = like->time;
	emit_name(places, like, GC_NAMES_FIRST + i, names->own[i]);
}

uint64_t heap_name_number(struct places *places, const struct event_header *like, const char *text)
{
	struct heap_names *names = text && *text ? heap_names_of(places, like->process) : NULL;
	size_t i = 0;
	bool is_new;

	if (!names)
		return 0;
	while (i < names->count && strncmp(names->own[i], text, sizeof(names->own[i]) - 1) != 0)
		i++;
	if (i == NAMES_MAX)
		return 0;
	is_new = i == names->count;
	if (is_new)
		snprintf(names->own[names->count++], sizeof(names->own[i]), "%s", text);
	names->last = *like;
	names->used[i] = like->time;
	if (is_new || places_is_stale(places, like, names->said[i]))
		announce(places, like, names, i);
	return GC_NAMES_FIRST + i;
}

void heap_names_again(struct places *places, uint64_t process, uint64_t time)
{
	struct heap_names *names = heap_names_of(places, process);

	if (!names)
		return;
	names->program = time;
	names->last.time = time + 1; /* of two events of one time, the first to come is the first */
	for (size_t i = 0; i < names->count; i++)
		if (names->used[i] >= time && names->said[i] < time)
			announce(places, &names->last, names, i);
}

int heap_operation(struct places *places, const struct firing *firing)
{
	struct heap_names *names = heap_names_of(places, firing->event->header.process);

	if (!names)
		return -ENOMEM;
	names->operation_heap = firing->values.of[VALUE_HEAP];
	if (firing->place->title)
		snprintf(names->operation, sizeof(names->operation), "%s", firing->place->title);
	else
		places_text(firing, 0, names->operation, sizeof(names->operation));
	return 0;
}

const char *heap_operation_name(struct places *places, const struct firing *firing, char *out,
				size_t room)
{
	const struct heap_names *names = heap_names_of(places, firing->event->header.process);

	if (!names || !names->operation[0] || !firing->runtime->operation_name ||
	    names->operation_heap == firing->values.of[VALUE_HEAP])
		return NULL;
	firing->runtime->operation_name(names->operation, out, room);
	return out;
}

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
