/* SPDX-License-Identifier: BSD-2-Clause */
/* places.c: turns firings of probed locations in runtimes' code into events. */
#include "places.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "firing.h"

#define NAMES_MAX 64 /* per process */

/* What is in progress in a heap. */
struct heap {
	struct event_header begin; /* of the pause; size 0: none */
	bool reported;             /* its begin was, with this kind */
	uint32_t kind;
	uint64_t full; /* as reported by its begin */
	uint64_t reason;
	uint64_t pauses;                   /* so far */
	uint64_t before, after, committed; /* sums of bytes over the parts of the heap */
	bool swept;                        /* parts were reported after the collection */
	uint64_t promoted;                 /* bytes, before the pause */
	struct event_gc_cycle cycle;       /* cycle.began 0: none */
	uint64_t coming;                   /* bytes in use before the next cycle */
	uint64_t cycle_ended;              /* ns; 0: in progress */
	uint64_t cycles;                   /* so far */
};

/* The runtime of a process. */
struct known {
	struct runtime_facts facts;
	uint64_t since; /* when it was mapped, ns */
};

/* A process's own names of kinds and reasons of collections. */
struct names {
	uint64_t program;         /* when the process executed its program, ns; 0: unknown */
	uint64_t said[NAMES_MAX]; /* time of the event that announced it, ns */
	char own[NAMES_MAX][64];  /* number - GC_NAMES_FIRST */
	size_t count;
};

int places_create(places_emit *emit, void *context, struct places **out)
{
	struct places *places = calloc(1, sizeof(*places));

	if (!places)
		return -ENOMEM;
	places->emit = emit;
	places->context = context;
	places->heaps = map_create(sizeof(struct place_key));
	places->counters = map_create(sizeof(struct place_key));
	places->types = map_create(sizeof(struct place_key));
	places->names = map_create(sizeof(uint64_t));
	places->runtimes = map_create(sizeof(uint64_t));
	places->cycles = map_create(sizeof(uint64_t));
	if (!places->heaps || !places->counters || !places->types || !places->names ||
	    !places->runtimes || !places->cycles) {
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
	free(places);
}

void places_put(struct places *places, struct event_header *event, uint16_t code, size_t size)
{
	event->code = code;
	event->size = (uint32_t)size;
	places->emit(places->context, event, size);
}

const char *places_text(const struct firing *firing, size_t number, char *out, size_t room)
{
	size_t size = firing->event->text_size[number];

	snprintf(out, room, "%.*s", (int)size, size ? firing->texts[number] : "");
	return out;
}

/* --- names of kinds and reasons ----------------------------------------------------------- */

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

bool places_is_stale(const struct places *places, const struct event_header *event, uint64_t said)
{
	uint64_t process = event->process;
	const uint64_t *value = map_get(places->names, &process);
	uint64_t program = value && *value ? ((struct names *)(uintptr_t)*value)->program : 0;

	return said < program && event->time >= program;
}

/* Announces a name that the process has. Returns its number. */
static uint64_t announce(struct places *places, const struct event_header *like,
			 struct names *names, size_t i)
{
	names->said[i] = like->time;
	emit_name(places, like, GC_NAMES_FIRST + i, names->own[i]);
	return GC_NAMES_FIRST + i;
}

/*
 * The number of this text in events of the process; a new text is announced first. 0: no text, or
 * too many. `text` is copied; NULL is allowed.
 */
static uint64_t number_of(struct places *places, const struct event_header *like, const char *text)
{
	struct names *names = text && *text ? names_of(places, like->process) : NULL;

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

/* --- pauses ------------------------------------------------------------------------------- */

/* The heap of the firing. NULL: no memory, or too many. */
static struct heap *heap_of(struct places *places, const struct firing *firing)
{
	const struct place_key key = {firing->event->header.process, firing->values.of[VALUE_HEAP]};
	uint64_t *value = map_get(places->heaps, &key);

	if (!value && map_count(places->heaps) < PLACES_MAX)
		value = map_put(places->heaps, &key, NULL);
	if (value && !*value)
		*value = (uint64_t)(uintptr_t)calloc(1, sizeof(struct heap));
	return value ? (struct heap *)(uintptr_t)*value : NULL;
}

/* Reports the begin of a pause: at once, when the collecting thread is known, or at the pause's
 * end. */
static void report_begin(struct places *places, const struct firing *firing, struct heap *heap,
			 const char *text)
{
	struct event_gc_begin event = {.header = heap->begin};
	const char *name = NULL;

	if (heap->reported)
		return;
	if (firing->runtime->kind_name)
		name = firing->runtime->kind_name(firing->facts, heap->full, text, &heap->kind);
	event.heap = firing->values.of[VALUE_HEAP];
	event.cycle = heap->pauses;
	event.kind = heap->kind;
	event.name = number_of(places, &heap->begin, name);
	places_put(places, &event.header, EVENT_gc_begin, sizeof(event));
	heap->reported = true;
}

/* Do reports on parts of the heap follow, which reveal the collecting thread? */
static bool waits_for_parts(const struct firing *firing)
{
	for (size_t i = 0; i < firing->runtime->n_places; i++)
		if (firing->runtime->places[i].report == PLACE_POOL_BEFORE)
			return firing->place->flags & PLACE_PAUSES;
	return false;
}

static void open_pause(const struct firing *firing, struct heap *heap)
{
	heap->begin = firing->event->header;
	heap->reported = heap->swept = false;
	heap->kind = GCPROF_GC_STOP;
	heap->reason = 0;
	heap->before = heap->after = heap->committed = 0;
	heap->pauses++;
}

/* If the previous pause's end was lost, the new one ends it (bpf/pauses.h). */
static int pause_begin(struct places *places, const struct firing *firing, struct heap *heap)
{
	char text[64];

	open_pause(firing, heap);
	heap->full = firing->values.of[VALUE_KIND];
	if (runtime_place_has(firing->place, VALUE_REASON))
		heap->reason = firing->values.of[VALUE_REASON] + 1;
	heap->promoted = firing->values.of[VALUE_PROMOTED];
	places_text(firing, 0, text, sizeof(text));
	if (!waits_for_parts(firing))
		report_begin(places, firing, heap, *text ? text : NULL);
	return 0;
}

/* Emits the end of the pause, with the sums of the parts and what `event` has already. */
static void close_pause(struct places *places, const struct firing *firing, struct heap *heap,
			struct event_gc_end *event)
{
	report_begin(places, firing, heap, NULL);
	event->heap = firing->values.of[VALUE_HEAP];
	event->cycle = heap->pauses;
	event->kind = heap->kind;
	event->heap_before += heap->before;
	event->heap_after += heap->after;
	event->heap_size += heap->committed;
	event->rss_bytes = firing->event->rss_bytes;
	event->late = 1; /* page faults are unknown */
	if (heap->reason && firing->runtime->reason_name)
		event->reason =
			number_of(places, &event->header,
				  firing->runtime->reason_name(firing->facts, heap->reason - 1));
	places_put(places, &event->header, EVENT_gc_end, sizeof(*event));
	heap->begin.size = 0;
}

static int pause_end(struct places *places, const struct firing *firing, struct heap *heap)
{
	struct event_gc_end event = {.header = firing->event->header,
				     .heap_before = firing->values.of[VALUE_BEFORE],
				     .heap_after = firing->values.of[VALUE_USED],
				     .heap_size = firing->values.of[VALUE_SIZE],
				     .unreachable = firing->values.of[VALUE_UNREACHABLE]};

	if (!heap->begin.size)
		return 0;
	if (firing->values.of[VALUE_TIME] >= heap->begin.time &&
	    firing->values.of[VALUE_TIME] < event.header.time)
		event.header.time = firing->values.of[VALUE_TIME];
	/* It only grows, unless the program lies. */
	if (runtime_place_has(firing->place, VALUE_PROMOTED) &&
	    firing->values.of[VALUE_PROMOTED] >= heap->promoted) {
		event.has_stats = 1;
		event.stats.promoted_bytes = firing->values.of[VALUE_PROMOTED] - heap->promoted;
	}
	close_pause(places, firing, heap, &event);
	return 0;
}

/* Another collection begins in the same pause, such as a full one because the young one was not
 * enough: each has a pause of its own. */
static void next_collection(struct places *places, const struct firing *firing, struct heap *heap)
{
	struct event_gc_end event = {.header = firing->event->header};

	close_pause(places, firing, heap, &event);
	open_pause(firing, heap);
}

/* Which sum a part belongs to that is reported outside of pauses: before a cycle, during it, or
 * right after its end. */
static uint64_t *cycle_sum(struct heap *heap, bool after)
{
	if (after)
		return &heap->cycle.heap_after;
	return heap->cycle.began && !heap->cycle_ended ? &heap->cycle.heap_before : &heap->coming;
}

static int pool(struct places *places, const struct firing *firing, struct heap *heap, bool after)
{
	char collector[64], part[64];

	places_text(firing, 0, collector, sizeof(collector));
	places_text(firing, 1, part, sizeof(part));
	if (firing->runtime->is_heap && !firing->runtime->is_heap(part))
		return 0;
	if (heap->begin.size && heap->swept && !after)
		next_collection(places, firing, heap);
	if (heap->begin.size)
		report_begin(places, firing, heap, collector);
	else
		*cycle_sum(heap, after) += firing->values.of[VALUE_USED];
	*(after ? &heap->after : &heap->before) += firing->values.of[VALUE_USED];
	heap->swept = after;
	heap->committed += after ? firing->values.of[VALUE_SIZE] : 0;
	return 0;
}

/* --- cycles ------------------------------------------------------------------------------- */

/* Emits a cycle that ended, or that ends `now` because nothing reports its end. */
static void cycle_emit(struct places *places, struct heap *heap, uint64_t now, bool unfinished)
{
	struct event_gc_cycle event = heap->cycle;

	if (!event.began)
		return;
	event.header.time = heap->cycle_ended ? heap->cycle_ended : now;
	event.unfinished = unfinished && !heap->cycle_ended;
	heap->cycle.began = heap->cycle_ended = 0;
	places_put(places, &event.header, EVENT_gc_cycle, sizeof(event));
}

/* The reason, if the place reports it; else 0. */
static uint64_t reason_number(struct places *places, const struct firing *firing)
{
	const char *name = NULL;

	if (runtime_place_has(firing->place, VALUE_REASON) && firing->runtime->reason_name)
		name = firing->runtime->reason_name(firing->facts, firing->values.of[VALUE_REASON]);
	return number_of(places, &firing->event->header, name);
}

static int cycle_begin(struct places *places, const struct firing *firing, struct heap *heap)
{
	const struct event_header *header = &firing->event->header;

	/* Where nothing reports its end, the next cycle's begin ends it. */
	cycle_emit(places, heap, header->time, false);
	heap->cycle = (struct event_gc_cycle){.header = *header,
					      .heap = firing->values.of[VALUE_HEAP],
					      .cycle = ++heap->cycles,
					      .began = header->time,
					      .heap_before =
						      firing->values.of[VALUE_USED] + heap->coming};
	heap->coming = 0;
	heap->cycle.name = number_of(places, header, firing->place->title);
	heap->cycle.reason = reason_number(places, firing);
	return 0;
}

static int cycle_end(struct places *places, const struct firing *firing, struct heap *heap)
{
	if (!heap->cycle.began)
		return 0;
	if (runtime_place_has(firing->place, VALUE_USED))
		heap->cycle.heap_after = firing->values.of[VALUE_USED];
	heap->cycle.live = firing->values.of[VALUE_LIVE];
	if (!heap->cycle.reason)
		heap->cycle.reason = reason_number(places, firing);
	heap->cycle_ended = firing->event->header.time;
	/* The later reports on parts of the heap have nothing to add. */
	if (heap->cycle.heap_after)
		cycle_emit(places, heap, heap->cycle_ended, false);
	return 0;
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

struct finish {
	struct places *places;
	uint64_t now;
	uint64_t process; /* that ends, or executes another program; else 0 */
	bool ends;
};

/* Reports so soon after the end of a cycle belong to it. */
#define CYCLE_TAIL_NS UINT64_C(20000000)

static bool flush_heap(void *context, const void *key, uint64_t *value)
{
	struct heap *heap = (struct heap *)(uintptr_t)*value;
	const struct finish *finish = context;

	(void)key;
	if (heap && heap->cycle_ended && heap->cycle_ended + CYCLE_TAIL_NS < finish->now)
		cycle_emit(finish->places, heap, finish->now, false);
	return true;
}

void places_advance(struct places *places, uint64_t now)
{
	struct finish finish = {places, now, 0, false};

	map_filter(places->heaps, flush_heap, &finish);
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
	struct heap *heap = NULL;

	if (firing->place->report == PLACE_SAMPLE)
		return places_sample(places, firing);
	if (firing->place->report == PLACE_FREED)
		return places_freed(places, firing);
	if (firing->place->report == PLACE_THREAD)
		return thread_name(places, firing);
	heap = heap_of(places, firing);
	if (!heap)
		return -ENOMEM;
	switch (firing->place->report) {
	case PLACE_PAUSE_BEGIN:
		return pause_begin(places, firing, heap);
	case PLACE_PAUSE_END:
		return pause_end(places, firing, heap);
	case PLACE_POOL_BEFORE:
		return pool(places, firing, heap, false);
	case PLACE_POOL_AFTER:
		return pool(places, firing, heap, true);
	case PLACE_REASON:
		heap->reason = firing->values.of[VALUE_REASON] + 1;
		return 0;
	case PLACE_CYCLE_BEGIN:
		return cycle_begin(places, firing, heap);
	case PLACE_CYCLE_USED:
		heap->cycle.heap_after = firing->values.of[VALUE_USED];
		return 0;
	case PLACE_CYCLE_END:
		return cycle_end(places, firing, heap);
	default:
		return -EBADMSG;
	}
}

static const struct runtime_facts *facts_of(const struct places *places,
					    const struct event_place *event)
{
	uint64_t process = event->header.process;
	const uint64_t *value = map_get(places->runtimes, &process);
	const struct known *known = value ? (const struct known *)(uintptr_t)*value : NULL;

	return known && known->facts.runtime == event->runtime ? &known->facts
							       : &places->latest[event->runtime];
}

/* Copies a text, or NULL, to *at, padded. Returns its length. */
static uint16_t put_text(char **at, const char *text)
{
	size_t size = text ? strnlen(text, NAME_BYTES_MAX - 8) : 0;

	if (size)
		memcpy(*at, text, size);
	*at += (size + 7) & ~(size_t)7;
	return (uint16_t)size;
}

static void emit_runtime(struct places *places, const struct event_header *header,
			 const struct runtime_facts *facts)
{
	const struct runtime *runtime = runtime_get(facts->runtime);
	struct {
		struct event_runtime event;
		char text[5 * NAME_BYTES_MAX];
	} known = {.event = {.header = *header}};
	char *at = known.text;

	known.event.name_size = put_text(&at, runtime->name);
	known.event.version_size = put_text(&at, facts->version);
	known.event.note_size = put_text(&at, runtime->note ? runtime->note(facts) : NULL);
	known.event.collector_size = put_text(&at, runtime->collector);
	known.event.compiler_size = put_text(&at, runtime->compiler);
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
	is_new = memcmp(&known->facts, facts, sizeof(*facts)) != 0;
	*known = (struct known){*facts, header->time};
	places->latest[facts->runtime] = *facts;
	if (is_new)
		emit_runtime(places, header, facts);
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
	firing.facts = facts_of(places, event);
	take_values(&firing);
	return act(places, &firing);
}

static bool is_other(void *context, const void *key, uint64_t *value)
{
	const struct finish *finish = context;

	(void)value;
	return ((const struct place_key *)key)->process != finish->process;
}

/* Is the type of another process, or did the program that is executed announce it? */
static bool is_other_type(void *context, const void *key, uint64_t *value)
{
	const struct finish *finish = context;

	return is_other(context, key, value) || (!finish->ends && *value >= finish->now);
}

/* Its cycle ends with the program. Of the next one, events may have come already. */
static bool is_other_heap(void *context, const void *key, uint64_t *value)
{
	const struct finish *finish = context;
	struct heap *heap = (struct heap *)(uintptr_t)*value;

	if (is_other(context, key, value))
		return true;
	if (heap && !finish->ends &&
	    (heap->begin.time >= finish->now || heap->cycle.began >= finish->now))
		return true;
	if (heap)
		cycle_emit(finish->places, heap, finish->now, true);
	free(heap);
	return false;
}

static void forget(struct map *map, uint64_t process)
{
	uint64_t *value = map_get(map, &process);

	if (!value)
		return;
	free((void *)(uintptr_t)*value);
	map_remove(map, &process);
}

void places_forget(struct places *places, uint32_t process, uint64_t time, bool ends)
{
	struct finish finish = {places, time, process, ends};
	const uint64_t *value = map_get(places->runtimes, &finish.process);
	const struct known *known = value ? (const struct known *)(uintptr_t)*value : NULL;
	struct names *names = known && !ends ? names_of(places, process) : NULL;

	places_end_cycles(places, process, time, ends);
	if (map_count(places->heaps))
		map_filter(places->heaps, is_other_heap, &finish);
	map_filter(places->counters, is_other, &finish);
	map_filter(places->types, is_other_type, &finish);
	if (names)
		names->program = time;
	if (ends)
		forget(places->names, process);
	if (ends || (known && known->since < time))
		forget(places->runtimes, process);
}

static bool finish_heap(void *context, const void *key, uint64_t *value)
{
	struct finish *finish = context;

	(void)key;
	if (*value)
		cycle_emit(finish->places, (struct heap *)(uintptr_t)*value, finish->now, true);
	return true;
}

void places_finish(struct places *places, uint64_t now)
{
	struct finish finish = {places, now, 0, true};

	map_filter(places->heaps, finish_heap, &finish);
	places_finish_cycles(places, now);
}
