/* SPDX-License-Identifier: BSD-2-Clause */
/* places_exec.c: names of a process that executes its own program again. */
/*
 * The profile forgets names with the program that announced them. Records of an exec, of the new
 * program's mappings and of its collections come from different rings, in any order.
 */
#include "test.h"
#include "record/ingest/places.h"
#include "runtimes/runtime.h"

enum { EXEC = 100 }; /* its time */

static struct places *places;
static uint64_t named, typed; /* times of the last announcements */

static void see(void *context, const struct event_header *event, size_t size)
{
	(void)context;
	(void)size;
	if (event->code == EVENT_name)
		*(((const struct event_name *)event)->kind == GCPROF_NAME_GC ? &named : &typed) =
			event->time;
}

/* Go's types: offset, size, and one range of code, whose samples have theirs nearby. */
static void map(uint32_t runtime, uint64_t time)
{
	const struct runtime_facts facts = {
		.runtime = runtime, .number = 2, .constants = {0, 0, -16, 100, 1, -10, 10, 1}};
	const struct event_header header = {.process = 1, .time = time};

	CHECK_EQ(places_runtime(places, &header, &facts), 0);
}

static void begin(uint32_t runtime)
{
	named = typed = 0;
	CHECK_EQ(places_create(see, NULL, NULL, &places), 0);
	map(runtime, 10);
}

/* A collection of Python's generation 0. */
static void collects(uint64_t time)
{
	struct event_place event = {.header = {.process = 1, .time = time, .size = 1},
				    .runtime = RUNTIME_CPYTHON};

	CHECK_EQ(places_event(places, &event, sizeof(event)), 0);
}

/* A sample of a type of Go. */
static void allocates(uint64_t time)
{
	const struct runtime_place *place = &runtime_get(RUNTIME_GO)->places[0];
	struct event_place event = {.header = {.process = 1, .time = time, .size = 1},
				    .runtime = RUNTIME_GO};

	CHECK_EQ(place->report, PLACE_SAMPLE);
	for (size_t i = 0; i < PROBE_ARGUMENTS; i++)
		event.values[i] = 4096;
	CHECK_EQ(places_event(places, &event, sizeof(event)), 1);
}

TEST(a_program_announces_a_name_once)
{
	begin(RUNTIME_CPYTHON);
	collects(50);
	collects(60);
	CHECK_EQ(named, 50);
	places_free(places);
}

TEST(the_same_program_announces_its_names_again_after_an_exec)
{
	begin(RUNTIME_CPYTHON);
	collects(50);
	map(RUNTIME_CPYTHON, EXEC + 1);
	places_forget(places, 1, EXEC, false);
	collects(110);
	CHECK_EQ(named, 110);
	collects(120);
	CHECK_EQ(named, 110);
	places_free(places);
}

TEST(a_collection_from_before_an_exec_may_come_after_it)
{
	begin(RUNTIME_CPYTHON);
	places_forget(places, 1, EXEC, false);
	collects(90);
	map(RUNTIME_CPYTHON, EXEC + 1);
	collects(110);
	CHECK_EQ(named, 110);
	places_free(places);
}

TEST(a_collection_from_after_an_exec_may_come_before_it)
{
	begin(RUNTIME_CPYTHON);
	collects(50);
	map(RUNTIME_CPYTHON, EXEC + 1);
	collects(110);
	CHECK_EQ(named, 50);
	/* Its name is that of the new program from the beginning. */
	places_forget(places, 1, EXEC, false);
	CHECK_EQ(named, EXEC + 1);
	collects(120);
	CHECK_EQ(named, EXEC + 1);
	places_free(places);
}

TEST(types_are_announced_again_too)
{
	begin(RUNTIME_GO);
	allocates(50);
	allocates(60);
	CHECK_EQ(typed, 50);
	map(RUNTIME_GO, EXEC + 1);
	places_forget(places, 1, EXEC, false);
	allocates(90);
	allocates(110);
	allocates(120);
	CHECK_EQ(typed, 110);
	places_free(places);
}
