// SPDX-License-Identifier: BSD-2-Clause
/* store_summary.c: tests of collections on their way into a profile: sums, and those of a pause. */
#include "store_rig.h"

/* Of two kinds: each figure of its own, and the first and the last bucket. */
static struct event_gc_summary *summary(void)
{
	struct event_gc_summary *event_of =
		event(EVENT_gc_summary, sizeof(*event_of) + 2 * sizeof(event_of->sums[0]), 1, 100);

	event_of->heap = 3;
	event_of->begin = event_of->header.time - 900;
	event_of->cycles = 4;
	event_of->count = 2;
	for (uint64_t i = 0; i < 2; i++) {
		event_of->sums[i] = (struct gcprof_gc_sums){
			.kind = i ? GCPROF_GC_STEP : GCPROF_GC_STOPS,
			.reason = GCPROF_REASON_THRESHOLD,
			.count = 5,
			.total_ns = 900 - i,
			.max_ns = 300 + i,
			.promoted_bytes = 10 + i,
			.promoted_objects = 20 + i,
			.stop_ns = 30 + i,
			.stop_max_ns = 40 + i,
			.nursery_max = 50 + i,
			.heap_max = 60 + i,
		};
		event_of->sums[i].histogram[0] = 1;
		event_of->sums[i].histogram[GCPROF_GC_BUCKETS - 1] = 4;
	}
	return event_of;
}

TEST(sums_of_collections_have_all_figures)
{
	static const char histogram[] = {0, 1, GCPROF_GC_BUCKETS - 1, 4};
	const struct gcprof_gc_sums *from;
	uint64_t time;

	begin();
	from = summary()->sums;
	time = ((const struct event_header *)rig.room)->time;
	CHECK_EQ(send_event(), 0);
	finish();
	CHECK_EQ(count(RECORD_gc_summary), 2);
	for (uint64_t i = 0; i < 2; i++, from++) {
		const struct record_gc_summary *record = &nth(RECORD_gc_summary, i)->gc_summary;

		CHECK_EQ(record->time, time);
		CHECK_EQ(record->thread, 1);
		CHECK_EQ(record->heap, 3);
		CHECK_EQ(record->span, 900);
		CHECK_EQ(record->kind, from->kind);
		CHECK_EQ(record->reason, GCPROF_REASON_THRESHOLD);
		CHECK_EQ(record->count, 5);
		CHECK_EQ(record->total_ns, from->total_ns);
		CHECK_EQ(record->max_ns, from->max_ns);
		CHECK_EQ(record->promoted_bytes, from->promoted_bytes);
		CHECK_EQ(record->promoted_objects, from->promoted_objects);
		CHECK_EQ(record->stop_ns, from->stop_ns);
		CHECK_EQ(record->stop_max_ns, from->stop_max_ns);
		CHECK_EQ(record->nursery_max, from->nursery_max);
		CHECK_EQ(record->heap_max, from->heap_max);
		CHECK_EQ(record->cycles, i ? 0 : 4);
		CHECK_EQ(record->histogram.size, sizeof(histogram));
	}
}

/* A program may write there what it likes. */
TEST(sums_that_cannot_be_are_refused)
{
	struct event_gc_summary *event_of;

	begin();
	for (int what = 0; what < 9; what++) {
		event_of = summary();
		if (what == 0)
			event_of->count = 3;
		if (what == 1)
			event_of->count = UINT32_MAX;
		if (what == 2)
			event_of->begin = event_of->header.time + 1;
		if (what == 3)
			event_of->sums[1].kind = GCPROF_GC_FULL;
		if (what == 4)
			event_of->sums[1].kind = GCPROF_GC_STOP;
		if (what == 5)
			event_of->sums[1].count = 6;
		if (what == 6)
			event_of->sums[1].total_ns = 901;
		if (what == 7)
			event_of->sums[1].max_ns = 900;
		if (what == 8)
			event_of->sums[1] = (struct gcprof_gc_sums){.kind = GCPROF_GC_MINOR};
		CHECK_EQ(send_event(), 0);
		CHECK_EQ(store_loss(rig.store, LOSS_BAD_EVENT), what + 1);
	}
	finish();
	CHECK_EQ(count(RECORD_gc_summary), 0);
}

/* Of process 1. */
static void send_gc(bool ends, uint64_t heap, uint64_t cycle)
{
	struct event_gc_begin *gc_begin;
	struct event_gc_end *gc_end;

	if (ends) {
		gc_end = event(EVENT_gc_end, sizeof(*gc_end), 1, 100);
		gc_end->heap = heap;
		gc_end->cycle = cycle;
		gc_end->kind = GCPROF_GC_MINOR;
	} else {
		gc_begin = event(EVENT_gc_begin, sizeof(*gc_begin), 1, 100);
		gc_begin->heap = heap;
		gc_begin->cycle = cycle;
		gc_begin->kind = GCPROF_GC_MINOR;
	}
	CHECK_EQ(send_event(), 0);
}

/* One of a heap runs when the pause begins, and three of three heaps when it ends. */
TEST(collections_that_begin_in_a_pause_are_left_out_whole)
{
	begin();
	send_gc(false, 3, 1);
	CHECK_EQ(store_pause(rig.store, ++rig.clock, true), 0);
	send_gc(true, 3, 1);
	for (uint64_t heap = 3; heap < 6; heap++)
		send_gc(false, heap, 2);
	CHECK_EQ(store_pause(rig.store, ++rig.clock, false), 0);
	for (uint64_t heap = 3; heap < 6; heap++)
		send_gc(true, heap, 2);
	/* The number of one that was left out comes again. */
	send_gc(false, 5, 2);
	send_gc(true, 5, 2);
	finish();
	CHECK_EQ(count(RECORD_paused), 2);
	CHECK_EQ(count(RECORD_gc_begin), 2);
	CHECK_EQ(count(RECORD_gc_end), 2);
	CHECK_EQ(nth(RECORD_gc_end, 0)->gc_end.cycle, 1);
	CHECK_EQ(nth(RECORD_gc_end, 1)->gc_end.cycle, 2);
}
