/* SPDX-License-Identifier: BSD-2-Clause */
/* places.c: what places in runtimes' code report, and the events that it becomes. */
#include <errno.h>

#include "test.h"
#include "../../bpf/hotspot.h"
#include "record/ingest/places.h"
#include "runtimes/runtime.h"

#define SEEN_MAX 64

/* The events that were emitted. */
static struct {
	union {
		struct event_header header;
		struct event_alloc alloc;
		struct event_period period;
		struct event_gc_begin begin;
		struct event_gc_end end;
		struct event_gc_cycle cycle;
		struct event_name name;
		struct event_freed freed;
		struct event_runtime runtime;
		char bytes[4096];
	} of[SEEN_MAX];
	size_t n;
} seen;

static struct places *places;

static void see(void *context, const struct event_header *event, size_t size)
{
	CHECK(context == &seen);
	CHECK(seen.n < SEEN_MAX && size <= sizeof(seen.of[0]));
	CHECK_EQ(event->size, size);
	memcpy(&seen.of[seen.n++], event, size);
}

static struct runtime_facts facts_of(uint32_t runtime)
{
	struct runtime_facts facts = {.runtime = runtime, .version = "17.0.1", .sampled = 0x1000};

	snprintf(facts.reasons[15], sizeof(facts.reasons[15]), "Allocation Failure");
	facts.own[0] = (struct runtime_code){0x800, 0x2000};
	facts.n_own = 1;
	return facts;
}

static void begin(void)
{
	const struct runtime_facts facts = facts_of(RUNTIME_HOTSPOT);
	const struct event_header header = {.process = 1, .time = 10};

	memset(&seen, 0, sizeof(seen));
	CHECK_EQ(places_create(see, NULL, &seen, &places), 0);
	CHECK_EQ(places_runtime(places, &header, &facts), 0);
	CHECK_EQ(seen.n, 1);
	CHECK_EQ(seen.of[0].header.code, EVENT_runtime);
	CHECK(!memcmp(seen.of[0].bytes + sizeof(struct event_runtime), "hotspot", 7));
	seen.n = 0;
}

/* The row of the first place that reports this and has the values of this heap. */
static uint16_t row_of(enum place_report report, int64_t heap)
{
	const struct runtime *runtime = runtime_get(RUNTIME_HOTSPOT);

	for (size_t i = 0; i < runtime->n_places; i++) {
		const struct runtime_place *place = &runtime->places[i];

		if (place->report != report)
			continue;
		for (size_t j = 0; j < PROBE_ARGUMENTS; j++)
			if (!heap || (place->arguments[j].value == VALUE_HEAP &&
				      place->arguments[j].number == heap))
				return (uint16_t)i;
	}
	CHECK(false);
	return 0;
}

struct firing_event {
	struct event_place place;
	char tail[512];
};

static struct firing_event event_of(enum place_report report, int64_t heap, uint64_t time)
{
	struct firing_event event = {.place = {.header = {.process = 1, .time = time, .size = 1},
					       .runtime = RUNTIME_HOTSPOT}};
	const struct runtime_place *place;

	event.place.place = row_of(report, heap);
	place = &runtime_get(RUNTIME_HOTSPOT)->places[event.place.place];
	for (size_t j = 0; j < PROBE_ARGUMENTS; j++)
		if (place->arguments[j].value == VALUE_HEAP)
			event.place.values[j] = (uint64_t)heap;
	return event;
}

static void set(struct firing_event *event, enum place_value value, uint64_t to)
{
	const struct runtime_place *place =
		&runtime_get(RUNTIME_HOTSPOT)->places[event->place.place];

	for (size_t j = 0; j < PROBE_ARGUMENTS; j++)
		if (place->arguments[j].value == value)
			event->place.values[j] = to;
}

/* Puts the texts at the begin of the tail; bytes that it has then. */
static size_t put_texts(struct firing_event *event, const char *first, const char *second)
{
	size_t a = strlen(first), b = strlen(second), padded = (a + 7) & ~(size_t)7;

	memcpy(event->tail, first, a);
	memcpy(event->tail + padded, second, b);
	event->place.text_size[0] = (uint16_t)a;
	event->place.text_size[1] = (uint16_t)b;
	return padded + ((b + 7) & ~(size_t)7);
}

static int fire(const struct firing_event *event, size_t tail)
{
	int err = places_event(places, &event->place, sizeof(event->place) + tail);

	CHECK(err <= 0 || event->place.place == row_of(PLACE_SAMPLE, 0));
	return err > 0 ? 0 : err;
}

static void fire_pool(bool after, uint64_t time, const char *part, uint64_t used, uint64_t size)
{
	struct firing_event event = event_of(after ? PLACE_POOL_AFTER : PLACE_POOL_BEFORE, 1, time);
	size_t tail = put_texts(&event, "G1 Young Generation", part);

	set(&event, VALUE_USED, used);
	set(&event, VALUE_SIZE, size);
	CHECK_EQ(fire(&event, tail), 0);
}

static void fire_plain(enum place_report report, int64_t heap, uint64_t time)
{
	struct firing_event event = event_of(report, heap, time);

	CHECK_EQ(fire(&event, 0), 0);
}

TEST(a_pause_has_its_collector_its_sizes_and_its_reason)
{
	struct firing_event reason;

	begin();
	fire_plain(PLACE_PAUSE_BEGIN, 1, 100);
	CHECK_EQ(seen.n, 0);
	fire_pool(false, 101, "G1 Eden Space", 1000, 5000);
	fire_pool(false, 101, "G1 Old Gen", 30, 7000);
	fire_pool(false, 101, "Metaspace", 1 << 20, 1 << 20);
	fire_pool(true, 140, "G1 Eden Space", 0, 5000);
	fire_pool(true, 140, "G1 Old Gen", 50, 7000);
	reason = event_of(PLACE_REASON, 1, 141);
	set(&reason, VALUE_REASON, 15);
	CHECK_EQ(fire(&reason, 0), 0);
	fire_plain(PLACE_PAUSE_END, 1, 150);
	CHECK_EQ(seen.n, 10); /* with the names and figures of three areas: see heaps.c */
	CHECK_EQ(seen.of[0].header.code, EVENT_name);
	CHECK_EQ(seen.of[0].name.name_size, strlen("G1 Young Generation"));
	CHECK_EQ(seen.of[1].begin.header.time, 100);
	CHECK_EQ(seen.of[1].begin.kind, GCPROF_GC_MINOR);
	CHECK_EQ(seen.of[1].begin.name, seen.of[0].name.number);
	CHECK_EQ(seen.of[5].header.code, EVENT_name);
	CHECK_EQ(seen.of[6].header.code, EVENT_gc_end);
	CHECK_EQ(seen.of[6].end.heap_before, 1030);
	CHECK_EQ(seen.of[6].end.heap_after, 50);
	CHECK_EQ(seen.of[6].end.heap_size, 12000);
	CHECK_EQ(seen.of[6].end.reason, seen.of[5].name.number);
	places_free(places);
}

TEST(a_stop_without_a_collector_is_reported_as_it_begins)
{
	begin();
	fire_plain(PLACE_PAUSE_BEGIN, 2, 100);
	CHECK_EQ(seen.n, 2);
	fire_plain(PLACE_PAUSE_END, 2, 130);
	CHECK_EQ(seen.n, 3);
	CHECK_EQ(seen.of[1].begin.kind, GCPROF_GC_STOP);
	CHECK_EQ(seen.of[1].begin.header.time, 100);
	CHECK_EQ(seen.of[2].end.kind, GCPROF_GC_STOP);
	CHECK_EQ(seen.of[2].end.heap_before, 0);
	places_free(places);
}

TEST(an_end_without_a_begin_is_none)
{
	begin();
	fire_plain(PLACE_PAUSE_END, 1, 100);
	CHECK_EQ(seen.n, 0);
	/* Nor does a pause whose end is lost have the sizes of the next. */
	fire_plain(PLACE_PAUSE_BEGIN, 1, 110);
	fire_pool(false, 111, "G1 Old Gen", 77, 100);
	fire_plain(PLACE_PAUSE_BEGIN, 1, 200);
	fire_plain(PLACE_PAUSE_END, 1, 210);
	CHECK_EQ(seen.of[seen.n - 1].header.code, EVENT_gc_end);
	CHECK_EQ(seen.of[seen.n - 1].end.heap_before, 0);
	CHECK_EQ(seen.of[seen.n - 1].end.cycle, 2);
	places_free(places);
}

TEST(a_cycle_is_emitted_once_it_is_over)
{
	begin();
	fire_plain(PLACE_CYCLE_BEGIN, 1, 100);
	fire_plain(PLACE_CYCLE_END, 1, 300);
	seen.n = 0;
	places_advance(places, 1000000000);
	CHECK_EQ(seen.n, 1);
	CHECK_EQ(seen.of[0].cycle.began, 100);
	CHECK_EQ(seen.of[0].cycle.header.time, 300);
	CHECK_EQ(seen.of[0].cycle.unfinished, 0);
	places_advance(places, 2000000000);
	CHECK_EQ(seen.n, 1);
	fire_plain(PLACE_CYCLE_BEGIN, 1, 400);
	seen.n = 0;
	places_finish(places, 500);
	CHECK_EQ(seen.n, 1);
	CHECK_EQ(seen.of[0].cycle.unfinished, 1);
	CHECK_EQ(seen.of[0].cycle.cycle, 2);
	places_free(places);
}

TEST(a_process_that_ends_ends_its_cycle)
{
	begin();
	fire_plain(PLACE_CYCLE_BEGIN, 1, 100);
	fire_plain(PLACE_CYCLE_END, 1, 300);
	seen.n = 0;
	places_forget(places, 1, 305, true);
	CHECK_EQ(seen.n, 1);
	CHECK_EQ(seen.of[0].cycle.unfinished, 0);
	places_forget(places, 1, 306, true);
	CHECK_EQ(seen.n, 1);
	places_free(places);
}

/* Of a sample of HotSpot's: where the object is, where the thread's buffer begins, how many buffers
 * the thread has had since the last collection, objects outside of them, and the words that may be
 * left over. */
enum { OBJECT, BUFFER, REFILLS, SHIFT, BASE, LAYOUT = 6, LENGTH, OUTSIDE = 11, LIMIT };

/* A sample of an array: its class, layout helper and length. */
static struct firing_event sample_of(uint32_t layout, uint64_t length)
{
	struct firing_event event = event_of(PLACE_SAMPLE, 0, 50);

	set(&event, VALUE_TYPE, 0x7f00);
	set(&event, VALUE_PERIOD, 524288);
	event.place.values[BASE] = 0x800000000;
	event.place.values[LAYOUT] = layout;
	event.place.values[LENGTH] = length;
	event.place.values[OBJECT] = 0x9000;
	event.place.values[BUFFER] = 0x8000;
	return event;
}

static const struct event_alloc *last_alloc(void)
{
	CHECK(seen.n > 0);
	CHECK_EQ(seen.of[seen.n - 1].header.code, EVENT_alloc);
	return &seen.of[seen.n - 1].alloc;
}

TEST(sizes_of_objects_come_from_their_layout)
{
	struct firing_event event;

	begin();
	event = sample_of(24, 999); /* an instance */
	CHECK_EQ(fire(&event, 0), 0);
	CHECK_EQ(last_alloc()->bytes, 24);
	CHECK_EQ(last_alloc()->type, 0x7f00);
	event = sample_of(0xc0100800, 1000); /* byte[1000]: 16 bytes before the elements */
	CHECK_EQ(fire(&event, 0), 0);
	CHECK_EQ(last_alloc()->bytes, 1016);
	event = sample_of(0xc0100b03, 3); /* long[3] */
	CHECK_EQ(fire(&event, 0), 0);
	CHECK_EQ(last_alloc()->bytes, 40);
	set(&event, VALUE_PERIOD, 0);
	CHECK_EQ(fire(&event, 0), -EBADMSG);
	places_free(places);
}

/* The period of a sample of 24 bytes at the begin of a buffer. */
static uint64_t period_of_first(uint64_t refills, uint64_t outside, uint64_t limit)
{
	struct firing_event event = sample_of(24, 0);

	event.place.values[OBJECT] = event.place.values[BUFFER];
	event.place.values[REFILLS] = refills;
	event.place.values[OUTSIDE] = outside;
	event.place.values[LIMIT] = limit;
	CHECK_EQ(fire(&event, 0), 0);
	return last_alloc()->period;
}

TEST(what_was_left_over_in_a_buffer_has_a_part_in_the_sample_after_it)
{
	const struct event_header header = {.process = 1, .time = 10};
	struct runtime_facts facts = facts_of(RUNTIME_HOTSPOT);

	begin();
	CHECK_EQ(period_of_first(2, 0, 100), 524288 * 2 / 3);
	CHECK_EQ(period_of_first(2, 0, 2), 524288 * 3 / 4);
	/* Nobody knows how much was left over: the object stands for itself. */
	CHECK_EQ(period_of_first(1, 0, 100), 1);
	CHECK_EQ(period_of_first(2, 1, 100), 1);
	CHECK_EQ(period_of_first(2, 1, 2), 524288);
	/* A release that does not count it. */
	facts.constants[0] = 1;
	CHECK_EQ(places_runtime(places, &header, &facts), 0);
	CHECK_EQ(period_of_first(2, 0, 100), 524288);
	CHECK_EQ(period_of_first(1, 1, 100), 524288);
	places_free(places);
}

TEST(only_releases_with_a_biased_sampler_have_a_note)
{
	struct runtime_facts facts = facts_of(RUNTIME_HOTSPOT);

	CHECK(strstr(runtime_get(RUNTIME_HOTSPOT)->note(&facts), "too few"));
	facts.constants[0] = 1;
	CHECK(!runtime_get(RUNTIME_HOTSPOT)->note(&facts));
}

/* Fires a sample of a thread that has read this period; the period that it gets. */
static uint64_t period_in_thread(uint32_t tid, uint64_t read)
{
	struct firing_event event = sample_of(24, 0);

	event.place.header.tid = tid;
	set(&event, VALUE_PERIOD, read);
	CHECK_EQ(fire(&event, 0), 0);
	return last_alloc()->period;
}

TEST(a_thread_draws_its_distance_with_the_period_of_its_last_sample)
{
	begin();
	CHECK_EQ(period_in_thread(7, 524288), 524288);
	CHECK_EQ(seen.of[seen.n - 2].header.code, EVENT_period);
	CHECK_EQ(seen.of[seen.n - 2].period.reason, GCPROF_PERIOD_START);
	CHECK_EQ(period_in_thread(7, 1048577), 524288);
	CHECK_EQ(seen.of[seen.n - 2].period.reason, GCPROF_PERIOD_CEILING);
	CHECK_EQ(period_in_thread(8, 1048577), 1048577);
	CHECK_EQ(period_in_thread(7, 1048577), 1048577);
	CHECK_EQ(period_in_thread(8, 524289), 1048577);
	CHECK_EQ(period_in_thread(7, 524289), 1048577);
	CHECK_EQ(period_in_thread(7, 524289), 524289);
	CHECK_EQ(seen.n, 10);
	places_free(places);
}

/* Fires a sample of a Go processor, of this version; false if it is none. */
static bool is_sample_of_go(uint32_t number, uint64_t processor, uint64_t rate, uint64_t period)
{
	const struct runtime *runtime = runtime_get(RUNTIME_GO);
	struct runtime_facts facts = {.runtime = RUNTIME_GO, .number = number};
	struct firing_event event = {
		.place = {.header = {.process = 2, .time = 50, .size = 1}, .runtime = RUNTIME_GO}};
	int err;

	CHECK_EQ(places_runtime(places, &event.place.header, &facts), 0);
	for (size_t i = 0; i < PROBE_ARGUMENTS; i++) {
		const enum place_value value = runtime->places[0].arguments[i].value;

		event.place.values[i] = value == VALUE_BYTES     ? 48
					: value == VALUE_PERIOD  ? rate
					: value == VALUE_COUNTER ? processor
								 : 0;
	}
	err = places_event(places, &event.place, sizeof(event.place));
	CHECK(err >= 0);
	CHECK(!err || last_alloc()->period == period);
	return err;
}

TEST(a_processor_of_go_has_samples_once_its_rate_is_set)
{
	begin();
	/* What it took because the rate was 0 before is none. */
	CHECK(!is_sample_of_go(1, 1, 65537, 0));
	CHECK(is_sample_of_go(1, 1, 65537, 65537));
	CHECK(is_sample_of_go(1, 1, 131073, 65537));
	CHECK(is_sample_of_go(1, 1, 131073, 131073));
	/* Programs that have always had a rate. */
	CHECK(is_sample_of_go(2, 2, 524288, 524288));
	CHECK(is_sample_of_go(2, 2, 65537, 524288));
	CHECK(!is_sample_of_go(2, 3, 65537, 0));
	/* A new rate forces a sample. */
	CHECK(is_sample_of_go(3, 4, 524288, 524288));
	CHECK(!is_sample_of_go(3, 4, 65537, 0));
	CHECK(is_sample_of_go(3, 4, 65537, 65537));
	places_free(places);
}

TEST(objects_whose_class_pointer_is_not_compressed_are_left_out)
{
	struct firing_event event;

	begin();
	event = sample_of(24, 0);
	for (uint64_t i = 0; i < 2; i++) {
		event.place.values[BASE] = -i;
		CHECK_EQ(fire(&event, 0), 0);
	}
	event.place.values[BASE] = 0x800000000; /* a compact header of release 24 */
	event.place.values[SHIFT] = 10;
	CHECK_EQ(fire(&event, 0), 0);
	/* The profile says why, once. */
	CHECK_EQ(seen.n, 1);
	CHECK_EQ(seen.of[0].header.code, EVENT_runtime);
	CHECK(((const struct event_runtime *)&seen.of[0])->unsampled);
	places_free(places);
}

static void check_type(const char *text, const char *name)
{
	struct firing_event event = sample_of(24, 0);
	size_t tail = put_texts(&event, text, "");

	seen.n = 0;
	CHECK_EQ(fire(&event, tail), 0);
	CHECK_EQ(seen.n, 2);
	CHECK_EQ(seen.of[0].header.code, EVENT_name);
	CHECK_EQ(seen.of[0].name.number, 0x7f00);
	CHECK_EQ(seen.of[0].name.name_size, strlen(name));
	CHECK(!memcmp(seen.of[0].bytes + sizeof(struct event_name), name, strlen(name)));
}

TEST(classes_are_named_as_in_programs)
{
	begin();
	period_in_thread(1, 524288);
	check_type("java/util/HashMap$Node", "java.util.HashMap$Node");
	check_type("[B", "byte[]");
	check_type("[[J", "long[][]");
	check_type("[[Ljava/lang/String;", "java.lang.String[][]");
	check_type("B", "B");
	places_free(places);
}

TEST(a_stack_begins_where_the_program_allocates)
{
	/* The place, two functions of the runtime, a stub, and the program's method. */
	const struct event_native frames[] = {{0x5000, 8},
					      {0x5100, 16},
					      {0x5800, 24},
					      {hotspot_code(0x900000, 0), 32},
					      {hotspot_code(0x900100, 7), 40},
					      {0x5100, 48}};
	struct firing_event event;
	const struct event_native *left;

	begin();
	event = sample_of(24, 0);
	event.place.stack.n_user = 6;
	memcpy(event.tail, frames, sizeof(frames));
	CHECK_EQ(fire(&event, sizeof(frames)), 0);
	CHECK_EQ(last_alloc()->stack.n_user, 2);
	left = (const void *)(seen.of[seen.n - 1].bytes + sizeof(struct event_alloc));
	CHECK_EQ(left[0].ip, hotspot_code(0x900100, 7));
	CHECK_EQ(left[1].frame, 48);
	/* A stack that is the runtime's own throughout stays. */
	event.place.stack.n_user = 3;
	CHECK_EQ(fire(&event, 3 * sizeof(frames[0])), 0);
	CHECK_EQ(last_alloc()->stack.n_user, 3);
	places_free(places);
}

TEST(what_makes_no_sense_is_refused)
{
	struct firing_event event;

	begin();
	event = sample_of(24, 0);
	event.place.text_size[0] = 100;
	CHECK_EQ(fire(&event, 96), -EBADMSG);
	event = sample_of(24, 0);
	event.place.place = 1000;
	CHECK_EQ(fire(&event, 0), -EBADMSG);
	event = sample_of(24, 0);
	event.place.runtime = 999;
	CHECK_EQ(fire(&event, 0), -EBADMSG);
	CHECK_EQ(places_event(places, &event.place, sizeof(event.place) - 1), -EBADMSG);
	CHECK_EQ(seen.n, 0);
	places_free(places);
}

/* The first place of a runtime that reports this with such a value. */
static void fire_value(uint32_t number, enum place_report report, enum place_value value,
		       uint64_t to, uint64_t time)
{
	struct firing_event event = {.place = {.header = {.process = 3, .time = time, .size = 1},
					       .runtime = (uint16_t)number}};
	const struct runtime *runtime = runtime_get(number);
	const struct runtime_place *place = runtime->places;

	while (place->report != report || !runtime_place_has(place, value))
		place++;
	event.place.place = (uint16_t)(place - runtime->places);
	for (size_t j = 0; j < PROBE_ARGUMENTS; j++)
		if (place->arguments[j].value == value)
			event.place.values[j] = to;
	CHECK_EQ(fire(&event, 0), 0);
}

TEST(a_pause_has_what_its_own_ends_report)
{
	const struct event_gc_end *end;

	begin();
	fire_value(RUNTIME_OCAML, PLACE_PAUSE_BEGIN, VALUE_PROMOTED, 1000, 20);
	fire_value(RUNTIME_OCAML, PLACE_PAUSE_END, VALUE_PROMOTED, 1800, 30);
	end = &seen.of[seen.n - 1].end;
	CHECK(end->has_stats);
	CHECK_EQ(end->stats.promoted_bytes, 800);
	/* Of a program that lies nothing is known. */
	fire_value(RUNTIME_OCAML, PLACE_PAUSE_BEGIN, VALUE_PROMOTED, 1000, 40);
	fire_value(RUNTIME_OCAML, PLACE_PAUSE_END, VALUE_PROMOTED, 999, 50);
	end = &seen.of[seen.n - 1].end;
	CHECK(!end->has_stats);
	CHECK_EQ(end->stats.promoted_bytes, 0);
	/* A reason is one of the pause in which it was reported. */
	seen.n = 0;
	fire_value(RUNTIME_V8, PLACE_PAUSE_BEGIN, VALUE_REASON, 21, 60);
	fire_value(RUNTIME_V8, PLACE_PAUSE_END, VALUE_BEFORE, 4096, 70);
	end = &seen.of[seen.n - 1].end;
	CHECK(end->reason);
	CHECK_EQ(end->heap_before, 4096);
	fire_value(RUNTIME_V8, PLACE_PAUSE_BEGIN, VALUE_REASON, 100000, 80);
	fire_value(RUNTIME_V8, PLACE_PAUSE_END, VALUE_BEFORE, 4096, 90);
	CHECK(!seen.of[seen.n - 1].end.reason);
	places_free(places);
}

TEST(names_are_made_known_once)
{
	begin();
	for (uint64_t i = 0; i < 3; i++) {
		fire_plain(PLACE_PAUSE_BEGIN, 1, 100 * i + 100);
		fire_pool(false, 100 * i + 101, "G1 Old Gen", 1, 1);
		fire_plain(PLACE_PAUSE_END, 1, 100 * i + 150);
	}
	CHECK_EQ(seen.n, 11); /* two names, three begins, ends and areas */
	places_free(places);
}

/* A sample of an allocator that only says what it weighs; its period. */
static uint64_t weigh(uint64_t bytes, uint64_t weight)
{
	const struct runtime *runtime = runtime_get(RUNTIME_OTEL_MEMORY);
	struct firing_event event = {.place = {.header = {.process = 1, .time = 20, .size = 1},
					       .runtime = RUNTIME_OTEL_MEMORY}};

	CHECK_EQ(runtime->places[0].report, PLACE_SAMPLE);
	for (size_t i = 0; i < PROBE_ARGUMENTS; i++) {
		if (runtime->places[0].arguments[i].value == VALUE_BYTES)
			event.place.values[i] = bytes;
		if (runtime->places[0].arguments[i].value == VALUE_WEIGHT)
			event.place.values[i] = weight;
	}
	seen.n = 0;
	CHECK_EQ(places_event(places, &event.place, sizeof(event.place)), 1);
	CHECK_EQ(seen.of[seen.n - 1].header.code, EVENT_alloc);
	return seen.of[seen.n - 1].alloc.period;
}

TEST(the_period_of_a_weight_is_what_all_weights_have_in_common)
{
	const struct runtime_facts facts = facts_of(RUNTIME_OTEL_MEMORY);
	const struct event_header header = {.process = 1, .time = 10};

	begin();
	CHECK_EQ(places_runtime(places, &header, &facts), 0);
	/* The first one is large: 6 points; then it becomes clear what the period is. */
	CHECK_EQ(weigh(400000, 6 << 16), 2 << 16);
	CHECK_EQ(weigh(300000, 5 << 16), 1 << 16);
	CHECK_EQ(weigh(100, 1 << 16), 1 << 16);
	/* Two points in a small object are rare, twice in a row they are another period. */
	CHECK_EQ(weigh(100, 2 << 16), 1 << 16);
	CHECK_EQ(weigh(100, 1 << 16), 1 << 16);
	CHECK_EQ(weigh(100, 2 << 16), 1 << 16);
	CHECK_EQ(weigh(100, 2 << 16), 2 << 16);
	/* So are more points than an object has room for, and what is no multiple. */
	CHECK_EQ(weigh(100000, 100 << 16), 100 << 16);
	CHECK_EQ(weigh(100, 100001), 100001);
}
