/* SPDX-License-Identifier: BSD-2-Clause */
/* heaps.c: pauses and cycles from what HotSpot's places report. */
#include "test.h"
#include "record/ingest/places.h"
#include "runtimes/runtime.h"

enum { OBJECTS = 1, THREADS = 2, MACHINE = 7, DRIVER = 8, OTHER_DRIVER = 9 };

#define SEEN_MAX 128

static struct {
	union {
		struct event_header header;
		struct event_gc_begin begin;
		struct event_gc_end end;
		struct event_gc_cycle cycle;
		struct event_name name;
		struct event_heap_area area;
		char bytes[4096];
	} of[SEEN_MAX];
	size_t n;
} seen;

static struct places *places;

static void see(void *context, const struct event_header *event, size_t size)
{
	(void)context;
	CHECK(seen.n < SEEN_MAX && size <= sizeof(seen.of[0]));
	memcpy(&seen.of[seen.n++], event, size);
}

/* The program runs since time 10; its places report since 50 if it ran before, else from there on.
 */
static void begin(bool ran)
{
	const struct event_header header = {.process = 1, .time = 10};
	struct runtime_facts facts = {
		.runtime = RUNTIME_HOTSPOT, .number = 25, .is_unprepared = ran, .reports = 50};

	snprintf(facts.reasons[3], sizeof(facts.reasons[3]), "System.gc()");
	memset(&seen, 0, sizeof(seen));
	CHECK_EQ(places_create(see, NULL, NULL, &places), 0);
	CHECK_EQ(places_runtime(places, &header, &facts), 0);
	seen.n = 0;
}

/* One of the machine's places, by its name, with texts or none. */
static void fire(const char *name, uint32_t tid, uint64_t time, const char *first,
		 const char *second, uint64_t used)
{
	const struct runtime *runtime = runtime_get(RUNTIME_HOTSPOT);
	const size_t sizes[] = {first ? strlen(first) : 0, second ? strlen(second) : 0};
	struct {
		struct event_place event;
		char tail[256];
	} place = {.event = {.header = {.process = 1, .tid = tid, .time = time, .size = 1},
			     .runtime = RUNTIME_HOTSPOT}};
	size_t row = 0, at = (sizes[0] + 7) & ~(size_t)7;

	while (row < runtime->n_places && strcmp(runtime->places[row].name, name) != 0)
		row++;
	CHECK(row < runtime->n_places);
	place.event.place = (uint16_t)row;
	for (size_t i = 0; i < PROBE_ARGUMENTS; i++) {
		const struct place_argument *argument = &runtime->places[row].arguments[i];

		if (argument->value == VALUE_HEAP)
			place.event.values[i] = (uint64_t)argument->number;
		if (argument->value == VALUE_USED || argument->value == VALUE_REASON)
			place.event.values[i] = used;
		if (argument->value == VALUE_SIZE)
			place.event.values[i] = 2 * used;
		if (argument->value == VALUE_LIMIT)
			place.event.values[i] = used == 500 ? UINT64_MAX : 900;
	}
	for (size_t i = 0; i < 2; i++)
		place.event.text_size[i] = (uint16_t)sizes[i];
	memcpy(place.tail, first ? first : "", sizes[0]);
	memcpy(place.tail + at, second ? second : "", sizes[1]);
	CHECK_EQ(places_event(places, &place.event,
			      sizeof(place.event) + at + ((sizes[1] + 7) & ~(size_t)7)),
		 0);
}

static void collect(const char *collector, uint32_t tid, uint64_t time, uint64_t before,
		    uint64_t after)
{
	fire("hotspot:mem__pool__gc__begin", tid, time, collector, "Old", before);
	fire("_ZN15GCMemoryManager6gc_endEbbbbN7GCCause5CauseEbPKc", tid, time + 5, NULL, NULL, 3);
	fire("hotspot:mem__pool__gc__end", tid, time + 5, collector, "Old", after);
}

static void safepoint(bool begins, uint64_t time)
{
	fire(begins ? "hs_private:safepoint__begin" : "hs_private:safepoint__end", MACHINE, time,
	     NULL, NULL, 0);
}

static void pause(bool begins, uint64_t time)
{
	fire(begins ? "hotspot:gc__begin" : "hotspot:gc__end", MACHINE, time, NULL, NULL, 0);
}

/* The `n`th event of this kind. */
static size_t nth(uint16_t code, size_t n)
{
	for (size_t i = 0; i < seen.n; i++)
		if (seen.of[i].header.code == code && !n--)
			return i;
	CHECK(false);
	return 0;
}

static const struct event_gc_end *end(size_t n)
{
	return &seen.of[nth(EVENT_gc_end, n)].end;
}

static const struct event_gc_begin *begun(size_t n)
{
	return &seen.of[nth(EVENT_gc_begin, n)].begin;
}

static void check_name(uint64_t number, const char *text)
{
	for (size_t i = 0; i < seen.n; i++)
		if (seen.of[i].header.code == EVENT_name && seen.of[i].name.number == number) {
			CHECK_EQ(seen.of[i].name.name_size, strlen(text));
			CHECK(!memcmp(seen.of[i].bytes + sizeof(struct event_name), text,
				      strlen(text)));
			return;
		}
	CHECK(false);
}

TEST(each_collection_in_a_pause_has_its_own_kind_sizes_and_time)
{
	begin(false);
	pause(true, 100);
	collect("Copy", MACHINE, 110, 500, 600);
	collect("MarkSweepCompact", MACHINE, 120, 600, 200);
	pause(false, 130);
	CHECK_EQ(begun(0)->kind, GCPROF_GC_MINOR);
	CHECK_EQ(begun(0)->header.time, 100);
	CHECK_EQ(end(0)->heap_before, 500);
	CHECK_EQ(end(0)->heap_after, 600);
	CHECK_EQ(end(0)->header.time, 120);
	CHECK_EQ(begun(1)->kind, GCPROF_GC_FULL);
	CHECK_EQ(begun(1)->header.time, 120);
	CHECK_EQ(end(1)->heap_before, 600);
	CHECK_EQ(end(1)->heap_after, 200);
	CHECK_EQ(end(1)->header.time, 130);
	check_name(end(1)->reason, "System.gc()");
	places_free(places);
}

/* The `n`th event of an area, which has this name. */
static const struct event_heap_area *area(size_t n, const char *name)
{
	const struct event_heap_area *found = &seen.of[nth(EVENT_heap_area, n)].area;

	check_name(found->name, name);
	return found;
}

TEST(areas_have_what_a_collection_left_in_each_and_follow_its_end)
{
	begin(false);
	pause(true, 100);
	fire("hotspot:mem__pool__gc__begin", MACHINE, 101, "Copy", "CodeHeap 'nmethods'", 7);
	fire("hotspot:mem__pool__gc__begin", MACHINE, 101, "Copy", "Metaspace", 70);
	fire("hotspot:mem__pool__gc__begin", MACHINE, 101, "Copy", "Eden Space", 400);
	fire("hotspot:mem__pool__gc__begin", MACHINE, 101, "Copy", "Tenured Gen", 300);
	fire("hotspot:mem__pool__gc__end", MACHINE, 109, "Copy", "CodeHeap 'nmethods'", 7);
	fire("hotspot:mem__pool__gc__end", MACHINE, 109, "Copy", "Metaspace", 60);
	fire("hotspot:mem__pool__gc__end", MACHINE, 109, "Copy", "Eden Space", 0);
	fire("hotspot:mem__pool__gc__end", MACHINE, 109, "Copy", "Tenured Gen", 500);
	/* Another collection in the same pause. */
	collect("MarkSweepCompact", MACHINE, 120, 500, 200);
	pause(false, 130);
	CHECK_EQ(nth(EVENT_heap_area, 0), nth(EVENT_gc_end, 0) + 1);
	CHECK_EQ(area(0, "Metaspace")->flags,
		 HEAP_AREA_BEFORE | HEAP_AREA_AFTER | HEAP_AREA_BESIDE);
	CHECK_EQ(area(0, "Metaspace")->before, 70);
	CHECK_EQ(area(1, "Eden Space")->before, 400);
	CHECK_EQ(area(1, "Eden Space")->after, 0);
	CHECK_EQ(area(1, "Eden Space")->limit, 900);
	CHECK_EQ(area(2, "Tenured Gen")->flags, HEAP_AREA_BEFORE | HEAP_AREA_AFTER);
	CHECK_EQ(area(2, "Tenured Gen")->before, 300);
	CHECK_EQ(area(2, "Tenured Gen")->after, 500);
	CHECK_EQ(area(2, "Tenured Gen")->size, 1000);
	CHECK_EQ(area(2, "Tenured Gen")->limit, 0);
	CHECK_EQ(area(2, "Tenured Gen")->cycle, end(0)->cycle);
	CHECK_EQ(area(2, "Tenured Gen")->header.time, end(0)->header.time);
	/* What lies beside the heap is not in its sums. */
	CHECK_EQ(end(0)->heap_before, 700);
	CHECK_EQ(end(0)->heap_after, 500);
	CHECK_EQ(end(0)->heap_size, 1000);
	CHECK_EQ(area(3, "Old")->after, 200);
	CHECK_EQ(area(3, "Old")->cycle, end(1)->cycle);
	places_free(places);
}

TEST(a_collection_has_a_limited_number_of_areas)
{
	char name[32];

	begin(false);
	pause(true, 100);
	for (int i = 0; i < 40; i++) {
		snprintf(name, sizeof(name), "area %d", i);
		fire("hotspot:mem__pool__gc__begin", MACHINE, 101, "Copy", name, 10);
	}
	pause(false, 130);
	CHECK_EQ(end(0)->heap_before, 400);
	area(15, "area 15");
	CHECK_EQ(seen.of[seen.n - 1].area.name, area(15, "area 15")->name);
	places_free(places);
}

TEST(cycles_of_two_threads_overlap_and_have_sizes_and_reasons_of_their_own)
{
	begin(false);
	fire("hotspot:mem__pool__gc__begin", DRIVER, 100, "ZGC Major Cycles", "Old", 500);
	/* One of the other thread, in a pause of the first. */
	pause(true, 105);
	collect("ZGC Minor Cycles", OTHER_DRIVER, 110, 600, 300);
	pause(false, 118);
	fire("hotspot:mem__pool__gc__end", DRIVER, 120, "ZGC Major Cycles", "Old", 250);
	places_finish(places, 1000);
	for (size_t i = 0; i < 2; i++) {
		const struct event_gc_cycle *cycle = &seen.of[nth(EVENT_gc_cycle, i)].cycle;
		bool major = cycle->began == 100;

		CHECK_EQ(cycle->header.time, major ? 120 : 115);
		CHECK_EQ(cycle->heap_before, major ? 500 : 600);
		CHECK_EQ(cycle->heap_after, major ? 250 : 300);
		CHECK_EQ(cycle->reason != 0, !major);
		check_name(cycle->name, major ? "ZGC major cycle" : "ZGC minor cycle");
		CHECK_EQ(area(i, "Old")->flags,
			 HEAP_AREA_BEFORE | HEAP_AREA_AFTER | HEAP_AREA_CYCLE);
		CHECK_EQ(area(i, "Old")->cycle, cycle->cycle);
		CHECK_EQ(area(i, "Old")->after, cycle->heap_after);
	}
	CHECK_EQ(end(0)->heap_before, 0);
	places_free(places);
}

TEST(a_cycle_has_the_reason_of_the_pause_that_decided_on_it_and_its_pauses_have_the_sizes)
{
	const char *begins = "_ZN16G1ConcurrentMark22concurrent_cycle_startEv",
		   *ends = "_ZN16G1ConcurrentMark20concurrent_cycle_endEv";

	begin(false);
	pause(true, 100);
	fire("_ZN16G1ConcurrentMark20pre_concurrent_startEN7GCCause5CauseE", MACHINE, 101, NULL,
	     NULL, 3);
	pause(false, 110);
	fire(begins, DRIVER, 120, NULL, NULL, 0);
	/* Remark and Cleanup since release 20: parts come before and after the pause. */
	for (uint64_t time = 130; time < 150; time += 10) {
		fire("hotspot:mem__pool__gc__begin", MACHINE, time, "G1 Concurrent GC", "Old", 70);
		pause(true, time + 1);
		pause(false, time + 2);
		fire("hotspot:mem__pool__gc__end", MACHINE, time + 3, "G1 Concurrent GC", "Old",
		     60);
	}
	fire(ends, DRIVER, 160, NULL, NULL, 0);
	fire(begins, DRIVER, 220, NULL, NULL, 0);
	places_finish(places, 1000);
	for (size_t i = 1; i < 3; i++) {
		CHECK_EQ(end(i)->header.time, 122 + 10 * i);
		CHECK_EQ(end(i)->heap_before, 70);
		CHECK_EQ(end(i)->heap_after, 60);
		CHECK_EQ(area(i - 1, "Old")->cycle, end(i)->cycle);
		CHECK_EQ(area(i - 1, "Old")->flags, HEAP_AREA_BEFORE | HEAP_AREA_AFTER);
	}
	check_name(seen.of[nth(EVENT_gc_cycle, 0)].cycle.reason, "System.gc()");
	CHECK_EQ(seen.of[nth(EVENT_gc_cycle, 0)].cycle.header.time, 160);
	CHECK_EQ(seen.of[nth(EVENT_gc_cycle, 0)].cycle.heap_before, 0);
	CHECK_EQ(seen.of[nth(EVENT_gc_cycle, 0)].cycle.heap_after, 0);
	CHECK_EQ(seen.of[nth(EVENT_gc_cycle, 1)].cycle.reason, 0);
	places_free(places);
}

TEST(pauses_of_a_cycle_that_began_before_the_recording_make_no_cycle)
{
	begin(true);
	fire("hotspot:mem__pool__gc__end", MACHINE, 100, "G1 Concurrent GC", "Old", 60);
	fire("hotspot:mem__pool__gc__begin", MACHINE, 130, "G1 Concurrent GC", "Old", 70);
	pause(true, 131);
	pause(false, 132);
	fire("hotspot:mem__pool__gc__end", MACHINE, 133, "G1 Concurrent GC", "Old", 60);
	fire("_ZN16G1ConcurrentMark20concurrent_cycle_endEv", DRIVER, 160, NULL, NULL, 0);
	places_finish(places, 1000);
	for (size_t i = 0; i < seen.n; i++)
		CHECK(seen.of[i].header.code != EVENT_gc_cycle);
	CHECK_EQ(end(0)->header.time, 132);
	CHECK_EQ(end(0)->heap_before, 70);
	CHECK_EQ(end(0)->heap_after, 60);
	places_free(places);
}

TEST(operations_name_pauses_and_are_the_reasons_of_stops)
{
	begin(false);
	fire("hotspot:vmops__begin", MACHINE, 90, "HandshakeAllThreads", NULL, 0); /* no stop */
	safepoint(true, 100);
	fire("hotspot:vmops__begin", MACHINE, 101, "ZMarkStartYoung", NULL, 0);
	pause(true, 102);
	pause(false, 108);
	safepoint(false, 110);
	safepoint(true, 200);
	safepoint(false, 210);
	check_name(begun(0)->name, "safepoint");
	check_name(begun(1)->name, "Mark Start Young");
	CHECK_EQ(end(0)->heap, OBJECTS);
	CHECK_EQ(end(1)->heap, THREADS);
	check_name(end(1)->reason, "ZMarkStartYoung");
	CHECK_EQ(end(2)->reason, 0);
	places_free(places);
}

TEST(a_pause_counts_for_the_part_of_it_that_is_recorded)
{
	begin(true);
	fire("hotspot:mem__pool__gc__end", MACHINE, 100, "MarkSweepCompact", "Old", 70);
	pause(false, 101);
	safepoint(false, 102);
	CHECK_EQ(begun(0)->header.time, 50);
	CHECK_EQ(begun(0)->kind, GCPROF_GC_FULL);
	CHECK_EQ(end(0)->heap_after, 70);
	CHECK_EQ(area(0, "Old")->flags, HEAP_AREA_AFTER);
	CHECK_EQ(area(0, "Old")->cycle, end(0)->cycle);
	/* The stop was around it. */
	CHECK_EQ(begun(1)->header.time, 49);
	CHECK_EQ(end(1)->header.time, 102);
	safepoint(true, 200);
	pause(true, 201);
	places_finish(places, 300);
	/* The inner one ends first. */
	CHECK_EQ(end(2)->heap, OBJECTS);
	CHECK_EQ(end(2)->header.time, 300);
	CHECK_EQ(end(3)->heap, THREADS);
	CHECK_EQ(end(3)->header.time, 300);
	places_free(places);
	/* In a program that was recorded from its start, a begin is lost. */
	begin(false);
	pause(false, 101);
	CHECK_EQ(seen.n, 0);
	places_free(places);
}
