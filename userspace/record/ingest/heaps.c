/* SPDX-License-Identifier: BSD-2-Clause */
/* heaps.c: turns firings of probed locations into events of pauses and cycles. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "firing.h"
#include "places.h"

/* What is in progress in a heap. */
struct heap {
	const struct runtime *runtime;
	struct event_header begin; /* of the pause; size 0: none */
	bool reported;             /* its begin was, with this kind */
	uint32_t kind;
	uint64_t full; /* as reported by its begin */
	uint64_t reason;
	/* In some pauses of a cycle, parts are reported before and after them rather than inside.
	 */
	bool around;
	struct event_gc_end ended; /* end of such a pause, up to the last part; size 0: none */
	uint64_t cause;            /* of the next cycle, a name; 0: unknown */
	uint64_t pauses;           /* so far */
	uint64_t before, after, committed; /* sums of bytes over the parts of the heap */
	bool swept;                        /* parts were reported after the collection */
	struct heap_areas areas; /* of the pause; in a heap without pauses: of the cycle */
	uint64_t promoted;       /* bytes, before the pause */
	/* Of parts reported outside of pauses and cycles: both may have begun before the recording.
	 */
	char collector[64];
	struct event_gc_cycle cycle; /* cycle.began 0: none */
	uint64_t cycle_ended;        /* ns; 0: in progress */
	uint64_t cycles;             /* so far */
};

/* --- pauses ------------------------------------------------------------------------------- */

/* The heap with this number; NULL: no memory, or too many. */
static struct heap *heap_at(struct places *places, const struct firing *firing, uint64_t number)
{
	const struct place_key key = {firing->event->header.process, number};
	uint64_t *value = places_value(places, places->heaps, &key);

	if (value && !*value)
		*value = (uint64_t)(uintptr_t)calloc(1, sizeof(struct heap));
	return value ? (struct heap *)(uintptr_t)*value : NULL;
}

/* Reports the begin of a pause: at once, when the collecting thread is known, or at the pause's
 * end. */
static void report_begin(struct places *places, const struct firing *firing, struct heap *heap,
			 const char *collector)
{
	struct event_gc_begin event = {.header = heap->begin};
	const char *name = NULL, *operation;
	char text[64];

	if (heap->reported)
		return;
	if (firing->runtime->kind_name)
		name = firing->runtime->kind_name(firing->facts, heap->full, collector,
						  &heap->kind);
	operation = collector ? NULL : heap_operation_name(places, firing, text, sizeof(text));
	event.heap = firing->values.of[VALUE_HEAP];
	event.cycle = heap->pauses;
	event.kind = heap->kind;
	event.name = heap_name_number(places, &heap->begin, operation ? operation : name);
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

/* Emits the end of the pause, with the sums of the parts. */
static void emit_end(struct places *places, struct heap *heap)
{
	struct event_gc_end *event = &heap->ended;

	if (!event->header.size)
		return;
	event->heap_before += heap->before;
	event->heap_after += heap->after;
	event->heap_size += heap->committed;
	places_put(places, &event->header, EVENT_gc_end, sizeof(*event));
	heap_areas_emit(places, &heap->areas, &event->header, event->heap, event->cycle, 0);
	event->header.size = 0;
	heap->around = false;
}

static void forget_parts(struct heap *heap)
{
	heap->before = heap->after = heap->committed = 0;
	heap->areas.n = 0;
}

static void open_pause(struct places *places, const struct firing *firing, struct heap *heap)
{
	emit_end(places, heap);
	heap->runtime = firing->runtime;
	heap->begin = firing->event->header;
	heap->reported = heap->swept = false;
	heap->kind = GCPROF_GC_STOP;
	heap->reason = 0;
	if (!heap->around)
		forget_parts(heap);
	heap->pauses++;
}

/* If the previous pause's end was lost, the new one ends it (bpf/pauses.h). */
static int pause_begin(struct places *places, const struct firing *firing, struct heap *heap)
{
	char text[64];

	open_pause(places, firing, heap);
	heap->full = firing->values.of[VALUE_KIND];
	if (runtime_place_has(firing->place, VALUE_REASON))
		heap->reason = firing->values.of[VALUE_REASON] + 1;
	heap->promoted = firing->values.of[VALUE_PROMOTED];
	places_text(firing, 0, text, sizeof(text));
	if (!waits_for_parts(firing))
		report_begin(places, firing, heap, *text ? text : NULL);
	return 0;
}

/* Why the pause was: as reported in it, or what its threads were stopped for, which is over then.
 */
static uint64_t pause_reason(struct places *places, const struct firing *firing,
			     const struct heap *heap, const struct event_header *like)
{
	struct heap_names *names = heap_names_of(places, like->process);
	uint64_t number;

	if (heap->reason && firing->runtime->reason_name)
		return heap_name_number(
			places, like,
			firing->runtime->reason_name(firing->facts, heap->reason - 1));
	if (!names || names->operation_heap != firing->values.of[VALUE_HEAP])
		return 0;
	number = heap_name_number(places, like, names->operation);
	names->operation[0] = '\0';
	return number;
}

/* Completes the end of the pause, which has some figures already, and emits it. */
static void close_pause(struct places *places, const struct firing *firing, struct heap *heap,
			struct event_gc_end *event)
{
	report_begin(places, firing, heap, NULL);
	event->heap = firing->values.of[VALUE_HEAP];
	event->cycle = heap->pauses;
	event->kind = heap->kind;
	event->rss_bytes = firing->event->rss_bytes;
	event->recording_ns = firing->event->recording;
	event->late = 1; /* page faults are unknown */
	event->reason = pause_reason(places, firing, heap, &event->header);
	heap->ended = *event;
	heap->begin.size = 0;
	if (!heap->around)
		emit_end(places, heap);
}

/*
 * The first end that a running program reports may be that of a pause that began before: it counts
 * since its places report. A later one was around it, so it began before that.
 */
static void begin_before(struct places *places, const struct firing *firing, struct heap *heap)
{
	const struct heap parts = *heap;
	struct heap_names *names = heap_names_of(places, firing->event->header.process);

	if (!names || heap->pauses || !firing->facts->is_unprepared || !firing->facts->reports ||
	    firing->facts->reports >= firing->event->header.time)
		return;
	open_pause(places, firing, heap);
	heap->begin.time = firing->facts->reports - names->before++;
	heap->after = parts.after;
	heap->committed = parts.committed;
	heap->areas = parts.areas;
	heap->reason = parts.reason;
	report_begin(places, firing, heap, parts.collector[0] ? parts.collector : NULL);
}

static int pause_end(struct places *places, const struct firing *firing, struct heap *heap)
{
	struct event_gc_end event = {.header = firing->event->header,
				     .heap_before = firing->values.of[VALUE_BEFORE],
				     .heap_after = firing->values.of[VALUE_USED],
				     .heap_size = firing->values.of[VALUE_SIZE],
				     .unreachable = firing->values.of[VALUE_UNREACHABLE]};

	if (!heap->begin.size)
		begin_before(places, firing, heap);
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
	open_pause(places, firing, heap);
}

/* --- cycles ------------------------------------------------------------------------------- */

/* Emits a cycle that ended, or that ends `now` because nothing reports its end. */
static void cycle_emit(struct places *places, struct heap *heap, uint64_t now, bool unfinished)
{
	struct event_gc_cycle event = heap->cycle;

	emit_end(places, heap);
	if (!event.began)
		return;
	event.header.time = heap->cycle_ended ? heap->cycle_ended : now;
	event.unfinished = unfinished && !heap->cycle_ended;
	heap->cycle.began = heap->cycle_ended = 0;
	places_put(places, &event.header, EVENT_gc_cycle, sizeof(event));
	if (!heap->pauses)
		heap_areas_emit(places, &heap->areas, &event.header, event.heap, event.cycle,
				HEAP_AREA_CYCLE);
}

/* The reason, if the place reports it; else 0. */
static uint64_t reason_number(struct places *places, const struct firing *firing)
{
	const char *name = NULL;

	if (runtime_place_has(firing->place, VALUE_REASON) && firing->runtime->reason_name)
		name = firing->runtime->reason_name(firing->facts, firing->values.of[VALUE_REASON]);
	return heap_name_number(places, &firing->event->header, name);
}

/* A cycle begins, the `number`th of its heap. */
static void open_cycle(struct places *places, const struct firing *firing, struct heap *heap,
		       uint64_t number)
{
	const struct event_header *header = &firing->event->header;

	/* Where nothing reports its end, the next cycle's begin ends it. */
	cycle_emit(places, heap, header->time, false);
	heap->cycle = (struct event_gc_cycle){.header = *header,
					      .heap = firing->values.of[VALUE_HEAP],
					      .cycle = number,
					      .began = header->time};
}

static int cycle_begin(struct places *places, const struct firing *firing, struct heap *heap)
{
	open_cycle(places, firing, heap, ++heap->cycles);
	heap->cycle.heap_before = firing->values.of[VALUE_USED];
	heap->cycle.name = heap_name_number(places, &firing->event->header, firing->place->title);
	heap->cycle.reason = reason_number(places, firing);
	if (!heap->cycle.reason)
		heap->cycle.reason = heap->cause;
	heap->cause = 0;
	return 0;
}

static int cycle_end(struct places *places, const struct firing *firing, struct heap *heap)
{
	if (!heap->cycle.began)
		return 0;
	if (runtime_place_has(firing->place, VALUE_USED))
		heap->cycle.heap_after = firing->values.of[VALUE_USED];
	heap->cycle.live = firing->values.of[VALUE_LIVE];
	heap->cycle.growth = firing->values.of[VALUE_GROWTH];
	heap->cycle.limit = firing->values.of[VALUE_LIMIT];
	if (!heap->cycle.reason)
		heap->cycle.reason = reason_number(places, firing);
	heap->cycle_ended = firing->event->header.time;
	/* The later reports on parts of the heap have nothing to add. */
	if (heap->cycle.heap_after)
		cycle_emit(places, heap, heap->cycle_ended, false);
	return 0;
}

/* --- parts of the heap -------------------------------------------------------------------- */

/* Is it a report of the thread that has stopped the others? */
static bool is_pausing(const struct firing *firing, const struct heap *heap)
{
	return heap->begin.size && heap->begin.tid == firing->event->header.tid;
}

/*
 * Where reports on parts of the heap belong that come outside of pauses. With a cycle in progress
 * that functions report, or that has just ended, it is that; such a cycle may have begun before the
 * recording. Otherwise they make a cycle, one in each thread: a minor one may come and go during a
 * major one.
 */
static struct heap *cycle_of(struct places *places, const struct firing *firing, struct heap *heap,
			     const char *collector)
{
	const char *of_functions = firing->runtime->cycle_collector;

	if (heap->cycle.began || (of_functions && strcmp(collector, of_functions) == 0))
		return heap;
	return heap_at(places, firing,
		       firing->values.of[VALUE_HEAP] | (uint64_t)firing->event->header.tid << 32);
}

static void part_before(struct places *places, const struct firing *firing, struct heap *heap,
			struct heap *own, const char *collector)
{
	const char *name = collector;
	uint32_t kind = 0;

	if (!own->cycle.began || own->cycle_ended) {
		open_cycle(places, firing, own, ++heap->cycles);
		if (firing->runtime->kind_name)
			name = firing->runtime->kind_name(firing->facts, 0, collector, &kind);
		own->cycle.name = heap_name_number(places, &firing->event->header, name);
	}
	own->cycle.heap_before += firing->values.of[VALUE_USED];
}

static void part_after(const struct firing *firing, struct heap *heap, struct heap *own,
		       const char *collector)
{
	if (own->cycle.began) {
		own->cycle.heap_after += firing->values.of[VALUE_USED];
		own->cycle_ended = firing->event->header.time;
		return;
	}
	snprintf(heap->collector, sizeof(heap->collector), "%s", collector);
	heap->after += firing->values.of[VALUE_USED];
	heap->committed += firing->values.of[VALUE_SIZE];
}

/* A part of a pause that begins next, or that has just ended. As below. */
static struct heap *part_around(struct places *places, const struct firing *firing,
				struct heap *heap, bool after)
{
	if (after && !heap->ended.header.size)
		return NULL;
	if (!after)
		emit_end(places, heap);
	if (!after && !heap->around)
		forget_parts(heap);
	heap->around = true;
	*(after ? &heap->after : &heap->before) += firing->values.of[VALUE_USED];
	heap->committed += after ? firing->values.of[VALUE_SIZE] : 0;
	return heap;
}

/*
 * A part outside of pauses. Returns the heap whose areas include it; NULL: none has. During a cycle
 * that functions report, parts are those of a pause in it.
 */
static struct heap *part_of_cycle(struct places *places, const struct firing *firing,
				  struct heap *heap, struct heap *own, const char *collector,
				  bool after)
{
	if (own == heap)
		return part_around(places, firing, heap, after);
	if (after)
		part_after(firing, heap, own, collector);
	else
		part_before(places, firing, heap, own, collector);
	return own->cycle.began ? own : heap;
}

static void part_of_pause(struct places *places, const struct firing *firing, struct heap *heap,
			  const char *collector, bool after)
{
	if (heap->swept && !after)
		next_collection(places, firing, heap);
	if (heap->around)
		forget_parts(heap);
	heap->around = false;
	report_begin(places, firing, heap, collector);
	*(after ? &heap->after : &heap->before) += firing->values.of[VALUE_USED];
	heap->swept = after;
	heap->committed += after ? firing->values.of[VALUE_SIZE] : 0;
}

static int pool(struct places *places, const struct firing *firing, struct heap *heap, bool after)
{
	struct firing part = *firing; /* of the sums */
	char collector[64], name[64];
	bool pausing = is_pausing(firing, heap);
	enum runtime_area area;
	struct heap *own;

	places_text(firing, 0, collector, sizeof(collector));
	own = pausing ? heap : cycle_of(places, firing, heap, collector);
	if (!own)
		return -ENOMEM;
	places_text(firing, 1, name, sizeof(name));
	area = firing->runtime->area ? firing->runtime->area(name) : AREA_HEAP;
	if (area == AREA_OTHER)
		return 0;
	if (area == AREA_BESIDE)
		part.values.of[VALUE_USED] = part.values.of[VALUE_SIZE] = 0;
	if (pausing)
		part_of_pause(places, &part, heap, collector, after);
	else
		own = part_of_cycle(places, &part, heap, own, collector, after);
	if (own)
		heap_areas_note(&own->areas, heap_name_number(places, &firing->event->header, name),
				(after ? HEAP_AREA_AFTER : HEAP_AREA_BEFORE) |
					(area == AREA_BESIDE ? HEAP_AREA_BESIDE : 0),
				&firing->values);
	if (after && heap_areas_complete(&heap->areas))
		emit_end(places, heap);
	return 0;
}

static int reason(struct places *places, const struct firing *firing, struct heap *heap)
{
	struct heap *own = is_pausing(firing, heap) ? NULL : cycle_of(places, firing, heap, "");

	if (own && own->cycle.began && !own->cycle_ended) {
		if (!own->cycle.reason)
			own->cycle.reason = reason_number(places, firing);
	} else {
		heap->reason = firing->values.of[VALUE_REASON] + 1;
	}
	return 0;
}

/* --- firings ------------------------------------------------------------------------------ */

int heaps_event(struct places *places, const struct firing *firing)
{
	struct heap *heap = heap_at(places, firing, firing->values.of[VALUE_HEAP]);

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
		return reason(places, firing, heap);
	case PLACE_OPERATION:
		/* Others run while the program does. */
		return heap->begin.size ? heap_operation(places, firing) : 0;
	case PLACE_CYCLE_DECIDED:
		heap->cause = reason_number(places, firing);
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

void heaps_advance(struct places *places, uint64_t now)
{
	struct finish finish = {places, now, 0, true};

	map_filter(places->heaps, flush_heap, &finish);
}

/* Its cycle ends with the program. Of the next one, events may have come already. */
static bool is_other_heap(void *context, const void *key, uint64_t *value)
{
	const struct finish *finish = context;
	struct heap *heap = (struct heap *)(uintptr_t)*value;

	if (((const struct place_key *)key)->process != finish->process)
		return true;
	if (heap && !finish->ends &&
	    (heap->begin.time >= finish->now || heap->cycle.began >= finish->now))
		return true;
	if (heap)
		cycle_emit(finish->places, heap, finish->now, true);
	free(heap);
	return false;
}

void heaps_forget(struct places *places, uint64_t process, uint64_t time, bool ends)
{
	struct finish finish = {places, time, process, ends};

	if (map_count(places->heaps))
		map_filter(places->heaps, is_other_heap, &finish);
	if (!ends && map_get(places->runtimes, &process))
		heap_names_again(places, process, time);
}

/* A pause in progress counts up to now. */
static void finish_pause(struct places *places, uint64_t number, struct heap *heap, uint64_t now)
{
	const struct event_place last = {.header = heap->begin};
	struct firing firing = {
		.event = &last,
		.runtime = heap->runtime,
		.facts = places_facts(places, heap->begin.process, heap->runtime->id)};
	struct event_gc_end event = {.header = heap->begin};

	firing.values.of[VALUE_HEAP] = number;
	event.header.time = now;
	close_pause(places, &firing, heap, &event);
}

/* The pause that began last. */
struct innermost {
	struct heap *heap;
	uint64_t number;
};

static bool find_innermost(void *context, const void *key, uint64_t *value)
{
	struct heap *heap = (struct heap *)(uintptr_t)*value;
	struct innermost *found = context;

	if (heap && heap->begin.size &&
	    (!found->heap || heap->begin.time >= found->heap->begin.time))
		*found = (struct innermost){heap, ((const struct place_key *)key)->number};
	return true;
}

static bool finish_cycle(void *context, const void *key, uint64_t *value)
{
	const struct finish *finish = context;

	(void)key;
	if (*value)
		cycle_emit(finish->places, (struct heap *)(uintptr_t)*value, finish->now, true);
	return true;
}

void heaps_finish(struct places *places, uint64_t now)
{
	struct finish finish = {places, now, 0, true};
	struct innermost last;

	map_filter(places->heaps, finish_cycle, &finish);
	do {
		last = (struct innermost){NULL, 0};
		map_filter(places->heaps, find_innermost, &last);
		if (last.heap)
			finish_pause(places, last.number, last.heap, now);
	} while (last.heap);
}
