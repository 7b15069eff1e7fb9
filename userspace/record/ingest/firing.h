/* SPDX-License-Identifier: BSD-2-Clause */
/* firing.h: shared by the files that turn firings of places into events; see places.h. */
#ifndef GCPROF_FIRING_H
#define GCPROF_FIRING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../../bpf/events.h"
#include "../../runtimes/runtime.h"
#include "../../util/map.h"
#include "../../util/process_quota.h"

#define PLACES_MAX 32768 /* heaps, processors and types together, in all processes */

struct places {
	void (*emit)(void *context, const struct event_header *event, size_t size);
	uint32_t (*user_of)(void *context, uint64_t process);
	void *context;
	struct process_quota room;             /* of the first three maps */
	struct map *heaps;                     /* struct place_key to struct heap * */
	struct map *counters;                  /* struct place_key: COUNTER to its last PERIOD */
	uint32_t pauses;                       /* of the recording, so far */
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

/* The value under this key, 0 if it is new. NULL: the process's user has too many, or no memory. */
uint64_t *places_value(struct places *places, struct map *map, const struct place_key *key);

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

/* Each text is announced before the first event that has its number; see heaps.c. */

#define NAMES_MAX 64 /* per process */

struct heap_names {
	uint64_t program;         /* when the process executed its program, ns; 0: unknown */
	uint64_t said[NAMES_MAX]; /* time of the event that announced it, ns */
	uint64_t used[NAMES_MAX]; /* time of the last event that has it, ns */
	struct event_header last; /* of that event, of any name */
	char own[NAMES_MAX][64];  /* number - GC_NAMES_FIRST */
	size_t count;
	/* What its threads are stopped for, in the pause of this heap and those inside. "": unknown
	 */
	char operation[64];
	uint64_t operation_heap;
	uint64_t before; /* pauses that began before their places reported */
};

/* The names of a process, by its index. NULL: no memory. */
struct heap_names *heap_names_of(struct places *places, uint64_t process);

/*
 * The number of this text in events of the process; a new text is announced first, in an event with
 * the header `like`. 0: no text, or too many. `text` is copied; NULL is allowed.
 */
uint64_t heap_name_number(struct places *places, const struct event_header *like, const char *text);

/* The process executed another program at `time`, ns: announces those that this program used before
 * it was heard of. */
void heap_names_again(struct places *places, uint64_t process, uint64_t time);

/* Notes what the threads are stopped for, in a pause. -ENOMEM. */
int heap_operation(struct places *places, const struct firing *firing);

/* The name of a pause without a known collector, from what its threads are stopped for, in `out`;
 * NULL: unknown. */
const char *heap_operation_name(struct places *places, const struct firing *firing, char *out,
				size_t room);

/* The named areas of a heap, as reported before and after a collection or cycle. */

struct event_header;
struct place_values;

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
