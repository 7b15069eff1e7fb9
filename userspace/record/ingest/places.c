/* SPDX-License-Identifier: BSD-2-Clause */
/* places.c: turns firings of probed locations in runtimes' code into events. */
#include "places.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "firing.h"

/* The runtime of a process. */
struct known {
	struct runtime_facts facts;
	uint64_t since; /* when it was mapped, ns */
};

int places_create(places_emit *emit, places_user *user_of, void *context, struct places **out)
{
	struct places *places = calloc(1, sizeof(*places));

	if (!places)
		return -ENOMEM;
	places->emit = emit;
	places->user_of = user_of;
	places->context = context;
	places->heaps = map_create(sizeof(struct place_key));
	places->counters = map_create(sizeof(struct place_key));
	places->types = map_create(sizeof(struct place_key));
	places->names = map_create(sizeof(uint64_t));
	places->runtimes = map_create(sizeof(uint64_t));
	places->cycles = map_create(sizeof(uint64_t));
	if (!places->heaps || !places->counters || !places->types || !places->names ||
	    !places->runtimes || !places->cycles || process_quota_init(&places->room, PLACES_MAX)) {
		places_free(places);
		return -ENOMEM;
	}
	*out = places;
	return 0;
}

void places_free(struct places *places)
{
	if (!places)
		return;
	map_free_all(places->heaps, free);
	map_free(places->counters);
	map_free(places->types);
	map_free_all(places->names, free);
	map_free_all(places->runtimes, free);
	map_free_all(places->cycles, free);
	process_quota_free(&places->room);
	free(places);
}

void places_put(struct places *places, struct event_header *event, uint16_t code, size_t size)
{
	event->code = code;
	event->size = (uint32_t)size;
	places->emit(places->context, event, size);
}

uint64_t *places_value(struct places *places, struct map *map, const struct place_key *key)
{
	uint64_t *value = map_get(map, key);

	uint32_t user;

	if (value)
		return value;
	user = places->user_of ? places->user_of(places->context, key->process) : 0;
	if (process_quota_take(&places->room, key->process, user))
		return map_put(map, key, NULL);
	quota_refuse(user);
	return NULL;
}

const char *places_text(const struct firing *firing, size_t number, char *out, size_t room)
{
	size_t size = firing->event->text_size[number];

	snprintf(out, room, "%.*s", (int)size, size ? firing->texts[number] : "");
	return out;
}

/* --- firings ------------------------------------------------------------------------------ */

/* Takes the texts and what follows them; false if they are incomplete. */
static bool take_tail(struct firing *firing, size_t size)
{
	const char *at = (const char *)(firing->event + 1);
	size_t left = size - sizeof(*firing->event);

	for (size_t i = 0; i < PLACE_TEXTS; i++) {
		size_t bytes = firing->event->text_size[i], padded = (bytes + 7) & ~(size_t)7;

		if (bytes > NAME_BYTES_MAX || padded > left)
			return false;
		firing->texts[i] = at;
		at += padded;
		left -= padded;
	}
	firing->rest = at;
	firing->rest_size = left;
	return true;
}

static void take_values(struct firing *firing)
{
	for (size_t i = 0; i < PROBE_ARGUMENTS; i++)
		firing->values.of[firing->place->arguments[i].value] = firing->event->values[i];
	if (firing->runtime->convert)
		firing->runtime->convert(firing->facts, firing->place, firing->event->values,
					 &firing->values);
}

static int thread_name(struct places *places, const struct firing *firing)
{
	struct {
		struct event_thread_name event;
		char text[64];
	} name = {.event = {.header = firing->event->header}};

	places_text(firing, 0, name.text, sizeof(name.text));
	name.event.name_size = (uint32_t)strlen(name.text);
	places_put(places, &name.event.header, EVENT_thread_name,
		   sizeof(name.event) + ((name.event.name_size + 7) & ~7u));
	return 0;
}

static int act(struct places *places, struct firing *firing)
{
	switch (firing->place->report) {
	case PLACE_SAMPLE:
		return places_sample(places, firing);
	case PLACE_FREED:
		return places_freed(places, firing);
	case PLACE_SAMPLER:
		return places_sampler(places, firing);
	case PLACE_HEAP_END:
		return places_heap_end(places, firing);
	case PLACE_THREAD:
		return thread_name(places, firing);
	default:
		return heaps_event(places, firing);
	}
}

const struct runtime_facts *places_facts(const struct places *places, uint64_t process,
					 uint32_t runtime)
{
	const uint64_t *value = map_get(places->runtimes, &process);
	const struct known *known = value ? (const struct known *)(uintptr_t)*value : NULL;

	return known && known->facts.runtime == runtime ? &known->facts : &places->latest[runtime];
}

/* Copies a text, or NULL, to *at, padded. Returns its length. */
static uint16_t places_put_text(char **at, const char *text)
{
	size_t size = text ? strnlen(text, NAME_BYTES_MAX - 8) : 0;

	if (size)
		memcpy(*at, text, size);
	*at += (size + 7) & ~(size_t)7;
	return (uint16_t)size;
}

/* Does it sample allocations without an agent? */
static bool samples_itself(const struct runtime *runtime)
{
	for (size_t i = 0; i < runtime->n_places; i++)
		if (runtime->places[i].report == PLACE_SAMPLE && !runtime->agent_samples)
			return true;
	return false;
}

void places_announce(struct places *places, const struct event_header *header,
		     const struct runtime_facts *facts, enum unsampled why)
{
	const struct runtime *runtime = runtime_get(facts->runtime);
	struct {
		struct event_runtime event;
		char text[(9 + GC_PARTS) * NAME_BYTES_MAX];
	} known = {.event = {.header = *header, .unsampled = (uint16_t)why}};
	const char *note = runtime->note ? runtime->note(facts) : NULL;
	char *at = known.text;

	if (!why && !samples_itself(runtime))
		known.event.unsampled = UNSAMPLED_NO_SAMPLER;
	known.event.name_size = places_put_text(&at, runtime->name);
	known.event.version_size = places_put_text(&at, facts->version);
	known.event.note_size = places_put_text(&at, note);
	known.event.collector_size = places_put_text(&at, runtime->collector);
	known.event.compiler_size = places_put_text(&at, runtime->compiler);
	known.event.names_file = runtime->names_file;
	known.event.outside = (uint16_t)facts->follows;
	known.event.pacing = (uint16_t)runtime->pacing;
	known.event.names_size = places_put_text(&at, facts->has_frames ? NULL : runtime->names);
#define PART(NAME, name, words) \
	known.event.name##_size = places_put_text(&at, runtime->parts[GC_##NAME]);
#include "../../../bpf/gc_parts.def"
#undef PART
	known.event.plain_size = places_put_text(&at, runtime->plain);
	known.event.locks_size = places_put_text(&at, runtime->locks);
	known.event.rests_size = places_put_text(&at, runtime->rests);
	places_put(places, &known.event.header, EVENT_runtime,
		   sizeof(known.event) + (size_t)(at - known.text));
}

int places_runtime(struct places *places, const struct event_header *header,
		   const struct runtime_facts *facts)
{
	uint64_t process = header->process, *value = map_put(places->runtimes, &process, NULL);
	struct known *known;
	bool is_new;

	if (value && !*value)
		*value = (uint64_t)(uintptr_t)calloc(1, sizeof(*known));
	if (!value || !*value)
		return -ENOMEM;
	known = (struct known *)(uintptr_t)*value;
	/* The time alone makes no other runtime. */
	known->facts.reports = facts->reports;
	is_new = memcmp(&known->facts, facts, sizeof(*facts)) != 0;
	*known = (struct known){*facts, header->time};
	places->latest[facts->runtime] = *facts;
	if (is_new)
		places_announce(places, header, facts, 0);
	return 0;
}

int places_event(struct places *places, const struct event_place *event, size_t size)
{
	struct firing firing = {.event = event};

	if (size < sizeof(*event))
		return -EBADMSG;
	firing.runtime = runtime_get(event->runtime);
	if (!firing.runtime || event->place >= firing.runtime->n_places ||
	    !take_tail(&firing, size))
		return -EBADMSG;
	firing.place = &firing.runtime->places[event->place];
	firing.facts = places_facts(places, event->header.process, event->runtime);
	take_values(&firing);
	return act(places, &firing);
}

struct end {
	uint64_t process; /* that ends, or executes another program */
	uint64_t time;    /* ns */
	bool ends;
};

static bool is_other(void *context, const void *key, uint64_t *value)
{
	const struct end *end = context;

	(void)value;
	return ((const struct place_key *)key)->process != end->process;
}

/* Is the type of another process, or did the program that is executed announce it? */
static bool is_other_type(void *context, const void *key, uint64_t *value)
{
	const struct end *end = context;

	return is_other(context, key, value) || (!end->ends && *value >= end->time);
}

static void forget(struct map *map, uint64_t process)
{
	uint64_t *value = map_get(map, &process);

	if (!value)
		return;
	free((void *)(uintptr_t)*value);
	map_remove(map, &process);
}

static size_t places_kept(const struct places *places)
{
	return map_count(places->heaps) + map_count(places->counters) + map_count(places->types);
}

void places_forget(struct places *places, uint32_t process, uint64_t time, bool ends)
{
	struct end end = {process, time, ends};
	const uint64_t *value = map_get(places->runtimes, &end.process);
	const struct known *known = value ? (const struct known *)(uintptr_t)*value : NULL;
	size_t before = places_kept(places);

	places_end_cycles(places, process, time, ends);
	heaps_forget(places, process, time, ends);
	map_filter(places->counters, is_other, &end);
	map_filter(places->types, is_other_type, &end);
	process_quota_return(&places->room, process, before - places_kept(places));
	if (ends)
		forget(places->names, process);
	if (ends || (known && known->since < time))
		forget(places->runtimes, process);
}

void places_resume(struct places *places)
{
	places->pauses++;
}

void places_advance(struct places *places, uint64_t now)
{
	heaps_advance(places, now);
}

void places_finish(struct places *places, uint64_t now)
{
	heaps_finish(places, now);
	places_finish_cycles(places, now);
}
