/* SPDX-License-Identifier: BSD-2-Clause */
/* firing.h: what the files that make events of places share; see places.h. */
#ifndef GCPROF_FIRING_H
#define GCPROF_FIRING_H

#include "../../runtimes/runtime.h"
#include "../../util/map.h"
#include "../../../bpf/events.h"

#define PLACES_MAX 8192 /* heaps, processors, types: of each, of all processes together */

struct places {
	void (*emit)(void *context, const struct event_header *event, size_t size);
	void *context;
	struct map *heaps;                     /* struct place_key to struct heap * */
	struct map *counters;                  /* struct place_key: COUNTER to its last PERIOD */
	struct map *types;                     /* struct place_key: types that were announced */
	struct map *names;                     /* process to struct names * */
	struct map *runtimes;                  /* process to struct known * */
	struct runtime_facts latest[RUNTIMES]; /* for children that inherited their mappings */
};

/* Keys of maps: a heap, a processor or a type of a process. */
struct place_key {
	uint64_t process, number;
};

/* A place event as it is read. */
struct firing {
	const struct event_place *event;
	const struct runtime *runtime;
	const struct runtime_place *place;
	const struct runtime_facts *facts;
	struct place_values values;
	const char *texts[PLACE_TEXTS]; /* without a final zero */
	const char *rest;               /* behind the texts: the stack */
	size_t rest_size;
};

/* Emits an event, whose header gets this code and size. */
void places_put(struct places *places, struct event_header *event, uint16_t code, size_t size);

/* A text of the firing, as a string in `out`; returns that. */
const char *places_text(const struct firing *firing, size_t number, char *out, size_t room);

/*
 * The number by which events of the process name this text, which is made known if it is new; 0: it
 * has none, or there are too many. `text` is copied; NULL is allowed.
 */
uint64_t places_name(struct places *places, const struct event_header *like, const char *text);

/* place_samples.c: what they report. -EBADMSG, -ENOMEM; places_sample(): 1 if it is a sample. */
int places_sample(struct places *places, struct firing *firing);
int places_freed(struct places *places, const struct firing *firing);

#endif
