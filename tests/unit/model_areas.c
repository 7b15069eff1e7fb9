/* SPDX-License-Identifier: BSD-2-Clause */
/* model_areas.c: the named areas of heaps. */
#include "synthetic.h"
#include "test.h"

/* Takes 100 ns. */
static void collection(struct synthetic *synthetic, uint64_t time, uint64_t cycle)
{
	PUT(synthetic, gc_begin, .time = time, .thread = 1, .heap = 1, .cycle = cycle, .kind = 1);
	PUT(synthetic, gc_end, .time = time + 100, .thread = 1, .heap = 1, .cycle = cycle,
	    .kind = 1);
}

static void area(struct synthetic *synthetic, uint64_t time, uint64_t cycle, uint64_t name,
		 uint64_t flags, uint64_t before, uint64_t after)
{
	PUT(synthetic, heap_area, .time = time, .process = 1, .heap = 1, .cycle = cycle,
	    .name = name, .flags = flags, .before = before, .after = after, .size = 1000,
	    .limit = 5000);
}

TEST(areas_have_what_pauses_moved_and_what_the_last_one_left)
{
	struct synthetic synthetic;
	struct model *model;

	synthetic_program(&synthetic, 1000);
	PUT(&synthetic, gc_name, .process = 1, .number = 16,
	    .name = synthetic_string(&synthetic, "Metaspace"));
	PUT(&synthetic, gc_name, .process = 1, .number = 17,
	    .name = synthetic_string(&synthetic, "Eden"));
	collection(&synthetic, 2000, 1);
	area(&synthetic, 2100, 1, 16, 1 | 2 | 8, 90, 90);
	area(&synthetic, 2100, 1, 17, 1 | 2, 700, 100);
	collection(&synthetic, 3000, 2);
	area(&synthetic, 3100, 2, 17, 1 | 2, 200, 350);
	/* The begin was before the recording; and in a cycle the program allocates. */
	area(&synthetic, 3200, 9, 17, 2, 0, 800);
	PUT(&synthetic, gc_cycle, .time = 3300, .process = 1, .heap = 1, .cycle = 1, .span = 100);
	area(&synthetic, 3300, 1, 17, 1 | 2 | 4, 900, 300);
	PUT(&synthetic, heap_area, .time = 3400, .process = 7, .name = 17, .flags = 2);
	model = synthetic_loaded(&synthetic, 4000);
	CHECK_EQ(model->refused, 1);
	CHECK_EQ(model->n_heap_areas, 2);
	CHECK_STR(model->heap_areas[0].name, "Eden");
	CHECK_EQ(model->heap_areas[0].collections, 4);
	CHECK_EQ(model->heap_areas[0].peak_bytes, 900);
	CHECK_EQ(model->heap_areas[0].used_bytes, 300);
	CHECK_EQ(model->heap_areas[0].pauses, true);
	CHECK_EQ(model->heap_areas[0].left_bytes, 600);
	CHECK_EQ(model->heap_areas[0].came_bytes, 150);
	CHECK_EQ(model->heap_areas[0].max_bytes, 5000);
	CHECK(!model->heap_areas[1].in_heap);
	synthetic_close(&synthetic, model);
}
