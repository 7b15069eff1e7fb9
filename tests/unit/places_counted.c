/* SPDX-License-Identifier: BSD-2-Clause */
/* places_counted.c: weights of samples where the runtime counts what each thread allocates. */
#include "test.h"
#include "record/ingest/places.h"
#include "runtimes/runtime.h"

enum { PERIOD = 512 << 10, SHIFT = 3, BASE, LAYOUT = 6 }; /* of its arguments */

static struct places *places;
static uint64_t period; /* of the last sample */

static void see(void *context, const struct event_header *event, size_t size)
{
	(void)context;
	(void)size;
	if (event->code == EVENT_alloc)
		period = ((const struct event_alloc *)event)->period;
}

static void begin(void)
{
	const struct runtime_facts facts = {.runtime = RUNTIME_HOTSPOT};
	const struct event_header header = {.process = 1, .time = 10};

	CHECK_EQ(places_create(see, NULL, NULL, &places), 0);
	CHECK_EQ(places_runtime(places, &header, &facts), 0);
}

/* Up to release 24: of an instance of so many bytes. */
static void sample(uint32_t tid, uint64_t bytes, uint64_t counted)
{
	const struct runtime_place *place = runtime_get(RUNTIME_HOTSPOT)->places;
	struct event_place event = {.header = {.process = 1, .tid = tid, .time = 50, .size = 1},
				    .runtime = RUNTIME_HOTSPOT};

	CHECK_EQ(place->report, PLACE_SAMPLE);
	for (size_t i = 0; i < PROBE_ARGUMENTS; i++)
		event.values[i] = place->arguments[i].value == VALUE_PERIOD    ? PERIOD
				  : place->arguments[i].value == VALUE_COUNTED ? counted
				  : place->arguments[i].value == VALUE_OBJECT  ? 0x9000
									       : 0x1000;
	event.values[SHIFT] = 0;
	event.values[BASE] = UINT64_C(1) << 35;
	event.values[LAYOUT] = bytes;
	CHECK_EQ(places_event(places, &event, sizeof(event)), 1);
}

/* The weight of a small sample, in percent of the period. */
static uint64_t percent(uint32_t tid, uint64_t counted)
{
	sample(tid, 24, counted);
	return (period * 100 + PERIOD / 2) / PERIOD;
}

TEST(samples_stand_for_what_their_threads_have_allocated)
{
	uint64_t counted = UINT64_C(1) << 40;

	begin();
	CHECK_EQ(percent(7, 0), 100);
	CHECK_EQ(percent(7, counted), 100);
	/* A tenth more than the sampler says, counted with each fourth. */
	for (int i = 1; i <= 1000; i++)
		sample(7, 24, counted += i % 4 ? 0 : PERIOD * UINT64_C(44) / 10);
	CHECK_EQ(percent(7, counted), 110);
	/* Others of the process have the same ratio. What they allocated before is not known. */
	CHECK_EQ(percent(8, UINT64_C(1) << 50), 110);
	/* No samples were taken, or another thread has the id. */
	CHECK_EQ(percent(7, counted += UINT64_C(1) << 30), 110);
	CHECK_EQ(percent(7, 4096), 110);
	/* Of a pause nothing counts. */
	for (uint64_t i = 1; i <= 1000; i++) {
		places_resume(places);
		sample(7, 24, 4096 + i * 30 * PERIOD);
	}
	CHECK_EQ(percent(7, 4096 + 30001 * (uint64_t)PERIOD), 110);
	places_free(places);
}

TEST(a_program_that_counts_wrongly_bends_its_weights_within_limits)
{
	begin();
	for (uint64_t i = 1; i <= 1000; i++)
		sample(7, 24, i * PERIOD * 30);
	CHECK_EQ(percent(7, 1001 * PERIOD * UINT64_C(30)), 400);
	places_free(places);
	begin();
	for (uint64_t i = 1; i <= 1000; i++)
		sample(7, 24, 1);
	CHECK_EQ(percent(7, 1), 25);
	places_free(places);
}

TEST(objects_that_a_point_never_misses_stand_for_themselves)
{
	begin();
	for (uint64_t i = 1; i <= 100; i++) {
		sample(7, 100 << 20, i);
		CHECK_EQ(period, PERIOD);
	}
	places_free(places);
}
