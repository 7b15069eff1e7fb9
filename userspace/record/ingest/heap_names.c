/* SPDX-License-Identifier: BSD-2-Clause */
/* heap_names.c: numbers a process's own names of kinds, reasons and areas, and announces them. */
#include "heap_names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "firing.h"

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

/* Announces a name that the process has. Returns its number. */
static uint64_t announce(struct places *places, const struct event_header *like,
			 struct heap_names *names, size_t i)
{
	names->said[i] = like->time;
	emit_name(places, like, GC_NAMES_FIRST + i, names->own[i]);
	return GC_NAMES_FIRST + i;
}

uint64_t heap_name_number(struct places *places, const struct event_header *like, const char *text)
{
	struct heap_names *names = text && *text ? heap_names_of(places, like->process) : NULL;

	for (size_t i = 0; names && i < names->count; i++)
		if (!strncmp(names->own[i], text, sizeof(names->own[i]) - 1))
			return places_is_stale(places, like, names->said[i])
				       ? announce(places, like, names, i)
				       : GC_NAMES_FIRST + i;
	if (!names || names->count == NAMES_MAX)
		return 0;
	snprintf(names->own[names->count], sizeof(names->own[0]), "%s", text);
	return announce(places, like, names, names->count++);
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
