/* SPDX-License-Identifier: BSD-2-Clause */
/* probe_cycles.c: tests of pairing the begins and ends of concurrent cycles. */
#include <errno.h>

#include "record/ingest/places.h"
#include "test.h"

enum { HEAPS = 16 }; /* with cycles in progress, of a process */

static struct {
	struct event_gc_cycle of[64];
	size_t n;
} seen;

static struct places *places;

static void see(void *context, const struct event_header *event, size_t size)
{
	CHECK(context == &seen && seen.n < 64);
	CHECK(event->code == EVENT_gc_cycle && size == sizeof(seen.of[0]) && event->size == size);
	memcpy(&seen.of[seen.n++], event, size);
}

static int fire(uint8_t provider, uint64_t heap, uint64_t cycle, uint64_t began, uint64_t time)
{
	const struct event_gc_cycle event = {
		.header = {.process = 1, .time = time, .provider = provider},
		.heap = heap,
		.cycle = cycle,
		.began = began,
		.heap_before = began ? 800 : 0,
		.heap_after = began ? 0 : 600,
		.unfinished = began != 0,
	};

	return places_cycle(places, &event, sizeof(event));
}

static void begin(void)
{
	memset(&seen, 0, sizeof(seen));
	CHECK_EQ(places_create(see, NULL, &seen, &places), 0);
}

TEST(probes_of_cycles_are_paired)
{
	const struct event_gc_cycle *cycle = &seen.of[0];

	begin();
	CHECK_EQ(places_cycle(places, cycle, sizeof(*cycle) - 1), -EBADMSG);
	/* It began before the recording. */
	CHECK_EQ(fire(1, 1, 7, 0, 100), 0);
	/* Heaps of two providers, and an end of another cycle. */
	CHECK_EQ(fire(1, 1, 8, 200, 200), 0);
	CHECK_EQ(fire(2, 1, 8, 210, 210), 0);
	CHECK_EQ(fire(1, 1, 9, 0, 220), 0);
	CHECK_EQ(seen.n, 0);
	CHECK_EQ(fire(1, 1, 8, 0, 230), 0);
	CHECK_EQ(seen.n, 1);
	CHECK(cycle->header.time == 230 && cycle->header.provider == 1);
	CHECK(cycle->began == 200 && !cycle->unfinished);
	CHECK(cycle->heap_before == 800 && cycle->heap_after == 600);
	/* Nothing is known about the end of the cycle before. */
	CHECK_EQ(fire(2, 1, 9, 300, 300), -ENOENT);
	CHECK_EQ(seen.n, 1);
	places_finish(places, 400);
	CHECK_EQ(seen.n, 2);
	CHECK(seen.of[1].cycle == 9 && seen.of[1].unfinished && seen.of[1].header.time == 400);
	places_free(places);
}

TEST(cycles_end_with_their_process)
{
	begin();
	for (uint64_t heap = 1; heap <= HEAPS; heap++)
		CHECK_EQ(fire(1, heap, 1, 300, 300), 0);
	CHECK_EQ(fire(1, HEAPS + 1, 1, 300, 300), -ENOENT);
	/* They are of the program that was executed then. */
	places_forget(places, 1, 299, false);
	places_forget(places, 2, 400, true);
	CHECK_EQ(seen.n, 0);
	places_forget(places, 1, 400, true);
	CHECK_EQ(seen.n, HEAPS);
	for (size_t i = 0; i < seen.n; i++)
		CHECK(seen.of[i].unfinished && seen.of[i].header.time == 400);
	places_finish(places, 500);
	CHECK_EQ(seen.n, HEAPS);
	places_free(places);
}
