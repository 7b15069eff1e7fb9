/* SPDX-License-Identifier: BSD-2-Clause */
/* firing.h: shared by the files that turn firings of places into events; see places.h. */
#ifndef GCPROF_FIRING_H
#define GCPROF_FIRING_H

#include "../../runtimes/runtime.h"
#include "../../util/map.h"
#include "../../../bpf/events.h"

#define PLACES_MAX 8192 /* of heaps, processors and types each, in all processes */

struct places {
	void (*emit)(void *context, const struct event_header *event, size_t size);
	void *context;
	struct map *heaps;                     /* struct place_key to struct heap * */
	struct map *counters;                  /* struct place_key: COUNTER to its last PERIOD */
	struct map *types;                     /* struct place_key: when a type was announced, ns */
	struct map *names;                     /* process to struct names * */
	struct map *runtimes;                  /* process to struct known * */
	struct map *cycles;                    /* process to struct open_cycles * */
	struct runtime_facts latest[RUNTIMES]; /* for children, which inherit their mappings */
};

/* Map key: a heap, processor or type of a process. */
struct place_key {
	uint64_t process, number;
};

/* A decoded place event. */
struct firing {
	const struct event_place *event;
	const struct runtime *runtime;
	const struct runtime_place *place;
	const struct runtime_facts *facts;
	struct place_values values;
	const char *texts[PLACE_TEXTS]; /* without final zeroes */
	const char *rest;               /* after the texts: the stack */
	size_t rest_size;
};

/* Emits an event; sets this code and size in its header. */
void places_put(struct places *places, struct event_header *event, uint16_t code, size_t size);

/* Was what is known since `said` (ns) announced by a program that the event's process has replaced
 * since? */
bool places_is_stale(const struct places *places, const struct event_header *event, uint64_t said);

/* The facts of a runtime (a valid number) as the process has it. */
const struct runtime_facts *places_facts(const struct places *places, uint64_t process,
					 uint32_t runtime);

/* Announces the runtime of a process; `why`: its samples cannot be read, for this reason; or NULL.
 */
void places_announce(struct places *places, const struct event_header *header,
		     const struct runtime_facts *facts, enum unsampled why);

/* Copies a text of the firing to `out` as a string; returns that. */
const char *places_text(const struct firing *firing, size_t number, char *out, size_t room);

/* probe_cycles.c: cycles in progress at `time` (ns) end unfinished, because the process ends or
 * executes another program, or the recording ends. */
void places_end_cycles(struct places *places, uint64_t process, uint64_t time, bool ends);
void places_finish_cycles(struct places *places, uint64_t now);

/* place_samples.c: samples. -EBADMSG, -ENOMEM; places_sample(): 1 if it is one. */
int places_sample(struct places *places, struct firing *firing);
int places_freed(struct places *places, const struct firing *firing);
int places_sampler(struct places *places, const struct firing *firing);
int places_heap_end(struct places *places, const struct firing *firing);

/* heaps.c: pauses and cycles of heaps. -EBADMSG, -ENOMEM. The other functions: as in places.h. */
int heaps_event(struct places *places, const struct firing *firing);
void heaps_advance(struct places *places, uint64_t now);
void heaps_forget(struct places *places, uint64_t process, uint64_t time, bool ends);
void heaps_finish(struct places *places, uint64_t now);

#endif
