/* SPDX-License-Identifier: BSD-2-Clause */
/* place_names.c: numbers for the runtimes' own names of kinds and reasons of collections. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "firing.h"

#define NAMES_MAX 64 /* per process */

/* The names of a process. */
struct names {
	char own[NAMES_MAX][64]; /* number - GC_NAMES_FIRST */
	size_t count;
};

static struct names *names_of(struct places *places, uint64_t process)
{
	uint64_t *value = map_put(places->names, &process, NULL);

	if (value && !*value)
		*value = (uint64_t)(uintptr_t)calloc(1, sizeof(struct names));
	return value ? (struct names *)(uintptr_t)*value : NULL;
}

static void emit_name(struct places *places, const struct event_header *like, uint64_t number,
		      const char *text)
{
	struct {
		struct event_gc_name event;
		char text[sizeof(((struct names *)NULL)->own[0])];
	} name = {.event = {.header = *like, .number = number}};

	name.event.name_size = (uint32_t)strnlen(text, sizeof(name.text));
	memcpy(name.text, text, name.event.name_size);
	places_put(places, &name.event.header, EVENT_gc_name,
		   sizeof(name.event) + ((name.event.name_size + 7) & ~7u));
}

uint64_t places_name(struct places *places, const struct event_header *like, const char *text)
{
	struct names *names = text && *text ? names_of(places, like->process) : NULL;
	char *own;

	for (size_t i = 0; names && i < names->count; i++)
		if (!strncmp(names->own[i], text, sizeof(names->own[i]) - 1))
			return GC_NAMES_FIRST + i;
	if (!names || names->count == NAMES_MAX)
		return 0;
	own = names->own[names->count];
	snprintf(own, sizeof(names->own[0]), "%s", text);
	emit_name(places, like, GC_NAMES_FIRST + names->count, own);
	return GC_NAMES_FIRST + names->count++;
}
