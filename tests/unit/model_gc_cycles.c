/* SPDX-License-Identifier: BSD-2-Clause */
/* model_gc_cycles.c: tests of cycles of concurrent collectors. */
#include "synthetic.h"

/* A stop of this thread in this heap, until `end`, with its `cycle`th pause. */
static void pause_of(struct synthetic *synthetic, uint64_t thread, uint64_t heap, uint64_t cycle,
		     uint64_t time, uint64_t end)
{
	PUT(synthetic, gc_begin, .time = time, .thread = thread, .heap = heap, .cycle = cycle,
	    .kind = 5);
	PUT(synthetic, gc_end, .time = end, .thread = thread, .heap = heap, .cycle = cycle,
	    .kind = 5);
}

static void short_pause(struct synthetic *synthetic, uint64_t time, uint64_t heap, uint64_t cycle)
{
	pause_of(synthetic, 1, heap, cycle, time, time + 10);
}

static void put_cycle(struct synthetic *synthetic, uint64_t begin, uint64_t end, uint64_t heap)
{
	PUT(synthetic, gc_cycle, .time = end, .process = 1, .heap = heap, .span = end - begin);
}

TEST(concurrent_cycles_count_their_pauses)
{
	struct synthetic synthetic;
	struct model *model;

	synthetic_program(&synthetic, 1000);
	PUT(&synthetic, process, .id = 2, .pid = 200, .time = 1000);
	PUT(&synthetic, thread, .id = 3, .process = 2, .tid = 200);
	PUT(&synthetic, gc_name, .process = 1, .number = 16,
	    .name = synthetic_string(&synthetic, "heap has grown"));
	pause_of(&synthetic, 1, 1, 1, 1900, 2000);
	pause_of(&synthetic, 1, 1, 2, 2000, 2100);
	pause_of(&synthetic, 3, 1, 1, 2150, 2160);
	pause_of(&synthetic, 1, 1, 3, 2900, 3000);
	PUT(&synthetic, gc_cycle, .time = 3000, .process = 1, .heap = 1, .cycle = 1, .span = 1000,
	    .reason = 16, .heap_before = 9000, .heap_after = 7000, .live = 4000);
	/* It begins in a pause. */
	pause_of(&synthetic, 1, 1, 4, 3450, 3550);
	PUT(&synthetic, gc_cycle, .time = 4000, .process = 1, .heap = 1, .cycle = 2, .span = 500,
	    .unfinished = 1);
	PUT(&synthetic, gc_cycle, .time = 4000, .process = 9, .span = 500);
	PUT(&synthetic, gc_cycle, .time = 4000, .process = 1, .span = 5000);
	model = synthetic_loaded(&synthetic, 4000);
	CHECK_EQ(model->refused, 2);
	CHECK_EQ(model->n_gc_cycles, 2);
	CHECK_EQ(model->gc_cycles[0].start_ns, 2000);
	CHECK_EQ(model->gc_cycles[0].pauses, 2);
	CHECK_EQ(model->gc_cycles[0].pause_ns, 200);
	CHECK_STR(model->gc_cycles[0].named_reason, "heap has grown");
	CHECK_EQ(model->gc_cycles[1].pauses, 1);
	CHECK_EQ(model->gc_cycles[1].pause_ns, 100);
	CHECK(model->gc_cycles[1].unfinished);
	CHECK_EQ(model->gc.concurrent.count, 1);
	CHECK_EQ(model->gc.concurrent.max_ns, 1000);
	CHECK_EQ(model->gc.heap_peak_bytes, 9000);
	synthetic_close(&synthetic, model);
}

TEST(a_pause_belongs_to_one_cycle)
{
	static const uint64_t pauses[] = {1, 2, 1, 2, 0};
	struct synthetic synthetic;
	struct model *model;

	synthetic_program(&synthetic, 1000);
	/* Of the cycles from 2000 on: a major one, a minor one within, two that overlap, and one in
	 * another heap. */
	short_pause(&synthetic, 2100, 1, 1);
	short_pause(&synthetic, 2300, 1, 2); /* in the minor one */
	short_pause(&synthetic, 2350, 1, 3); /* likewise */
	short_pause(&synthetic, 2380, 2, 1); /* of no cycle: that of its heap begins later */
	put_cycle(&synthetic, 2000, 2200, 1);
	put_cycle(&synthetic, 2250, 2400, 1);
	short_pause(&synthetic, 2450, 1, 4);
	put_cycle(&synthetic, 2240, 2500, 1);
	short_pause(&synthetic, 2550, 1, 5);
	short_pause(&synthetic, 2650, 1, 6);
	put_cycle(&synthetic, 2470, 2700, 1);
	put_cycle(&synthetic, 2400, 2800, 2);
	model = synthetic_loaded(&synthetic, 4000);
	CHECK_EQ(model->refused, 0);
	CHECK_EQ(model->n_gc_cycles, 5);
	for (size_t i = 0; i < 5; i++) {
		CHECK_EQ(model->gc_cycles[i].pauses, pauses[i]);
		CHECK_EQ(model->gc_cycles[i].pause_ns, 10 * pauses[i]);
	}
	synthetic_close(&synthetic, model);
}

/* In HotSpot, all threads stop, and one of them collects. A full collection contains a minor one.
 */
TEST(only_pauses_of_the_heap_count_and_each_with_its_own_time)
{
	struct synthetic synthetic;
	struct model *model;

	synthetic_program(&synthetic, 1000);
	PUT(&synthetic, gc_begin, .time = 2000, .thread = 1, .heap = 2, .cycle = 7, .kind = 5);
	short_pause(&synthetic, 2020, 1, 1);
	PUT(&synthetic, gc_end, .time = 2100, .thread = 1, .heap = 2, .cycle = 7, .kind = 5);
	put_cycle(&synthetic, 2000, 2200, 1);
	PUT(&synthetic, gc_begin, .time = 3000, .thread = 1, .heap = 1, .cycle = 8, .kind = 3);
	short_pause(&synthetic, 3020, 1, 2);
	PUT(&synthetic, gc_end, .time = 3100, .thread = 1, .heap = 1, .cycle = 8, .kind = 3);
	put_cycle(&synthetic, 3000, 3200, 1);
	model = synthetic_loaded(&synthetic, 6000);
	CHECK_EQ(model->gc_cycles[0].pauses, 1);
	CHECK_EQ(model->gc_cycles[0].pause_ns, 10);
	CHECK_EQ(model->gc_cycles[1].pauses, 2);
	CHECK_EQ(model->gc_cycles[1].pause_ns, 100);
	synthetic_close(&synthetic, model);
}

TEST(sums_count_all_their_collections_in_the_cycle)
{
	static const char histogram[] = {10, (char)0xe8, 7}; /* 1000 in bucket 10 */
	struct synthetic synthetic;
	struct model *model;

	synthetic_program(&synthetic, 1000);
	PUT(&synthetic, gc_summary, .time = 50000, .thread = 1, .heap = 1, .span = 40000, .kind = 1,
	    .reason = 1, .count = 1000, .total_ns = 6400, .max_ns = 10,
	    .histogram = {histogram, sizeof(histogram)});
	put_cycle(&synthetic, 9000, 51000, 1);
	model = synthetic_loaded(&synthetic, 60000);
	CHECK_EQ(model->refused, 0);
	CHECK_EQ(model->gc_cycles[0].pauses, 1000);
	CHECK_EQ(model->gc_cycles[0].pause_ns, 6400);
	synthetic_close(&synthetic, model);
}
