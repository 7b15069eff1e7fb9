/* SPDX-License-Identifier: BSD-2-Clause */
/* model_cycles.c: tests of pauses and of which timer samples lie inside them. */
#include "synthetic.h"

static void gc_begin(struct synthetic *synthetic, uint64_t time, uint64_t cycle, uint64_t kind)
{
	PUT(synthetic, gc_begin, .time = time, .thread = 1, .heap = 1, .cycle = cycle, .kind = kind,
	    .reason = 1);
}

static void gc_end(struct synthetic *synthetic, uint64_t time, uint64_t cycle, uint64_t kind)
{
	PUT(synthetic, gc_end, .time = time, .thread = 1, .heap = 1, .cycle = cycle, .kind = kind,
	    .has_stats = 1, .promoted_bytes = 100, .arena_bytes = 5000 * cycle);
}

static void cpu(struct synthetic *synthetic, uint64_t time, uint64_t thread)
{
	PUT(synthetic, cpu, .time = time, .thread = thread, .mode = 1);
}

TEST(a_sample_is_in_a_collection_of_its_own_thread_from_begin_to_end)
{
	struct synthetic synthetic;
	struct model *model;

	synthetic_begin(&synthetic);
	synthetic_process(&synthetic, 1000);
	PUT(&synthetic, thread, .id = 2, .process = 1, .tid = 101);
	cpu(&synthetic, 1999, 1);
	gc_begin(&synthetic, 2000, 1, 1);
	cpu(&synthetic, 2000, 1); /* in */
	cpu(&synthetic, 2050, 1); /* in */
	cpu(&synthetic, 2050, 2); /* another thread's */
	cpu(&synthetic, 2099, 1); /* in */
	gc_end(&synthetic, 2100, 1, 1);
	cpu(&synthetic, 2100, 1);
	cpu(&synthetic, 2060, 1); /* late, but in */
	cpu(&synthetic, 1990, 1); /* late, and not in */
	gc_begin(&synthetic, 3000, 2, 1);
	cpu(&synthetic, 2010, 1); /* very late: in the first one */
	gc_end(&synthetic, 3010, 2, 1);
	synthetic_end(&synthetic, 4000);
	model = synthetic_model(&synthetic);
	CHECK_EQ(model->cpu.samples, 9);
	CHECK_EQ(model->cpu.gc_samples, 5);
	CHECK_EQ(model->cpu.in_gc_ns, 5000000);
	CHECK_EQ(model->gc.minor.count, 2);
	CHECK_EQ(model->gc.minor.total_ns, 110);
	CHECK_EQ(model->gc.minor.p50_ns, 10);
	CHECK_EQ(model->gc.minor.p99_ns, 100);
	CHECK_EQ(model->gc.minor.max_ns, 100);
	CHECK_EQ(model->gc.promoted_bytes, 200);
	CHECK_EQ(model->gc.heap_peak_bytes, 10000);
	CHECK_EQ(model->gc.unpaired, 0);
	model_free(model);
	synthetic_free(&synthetic);
}

static void gc_begin_in(struct synthetic *synthetic, uint64_t time, uint64_t cycle, uint64_t kind,
			uint64_t stop)
{
	PUT(synthetic, gc_begin, .time = time, .thread = 1, .heap = 1, .cycle = cycle, .kind = kind,
	    .reason = 1, .stop = stop);
}

TEST(collections_that_follow_each_other_at_once_are_one_stop)
{
	struct synthetic synthetic;
	struct model *model;

	synthetic_begin(&synthetic);
	synthetic_process(&synthetic, 1000);
	gc_begin_in(&synthetic, 2000, 1, 4, 1);
	gc_end(&synthetic, 2030, 1, 4);
	gc_begin_in(&synthetic, 2031, 2, 1, 1);
	gc_end(&synthetic, 2100, 2, 1);
	gc_begin_in(&synthetic, 2101, 3, 2, 1);
	gc_end(&synthetic, 2150, 3, 2);
	gc_begin_in(&synthetic, 2200, 4, 2, 4);
	gc_end(&synthetic, 2210, 4, 2);
	/* Of a collector that does not tell. */
	gc_begin_in(&synthetic, 2300, 5, 1, 0);
	gc_end(&synthetic, 2320, 5, 1);
	gc_begin_in(&synthetic, 2321, 6, 2, 0);
	gc_end(&synthetic, 2350, 6, 2);
	synthetic_end(&synthetic, 4000);
	model = synthetic_model(&synthetic);
	CHECK_EQ(model->gc.minor.count, 2);
	CHECK_EQ(model->gc.major.count, 3);
	CHECK_EQ(model->gc.survey.count, 1);
	CHECK_EQ(model->gc.survey.total_ns, 30);
	CHECK_EQ(model->gc.stops.count, 4);
	CHECK_EQ(model->gc.stops.max_ns, 150);
	CHECK_EQ(model->gc.stops.p50_ns, 20);
	CHECK_EQ(model->gc.stops.total_ns, 150 + 10 + 20 + 29);
	model_free(model);
	synthetic_free(&synthetic);
}

TEST(collections_nest_and_times_add_up)
{
	struct synthetic synthetic;
	struct model *model;

	synthetic_begin(&synthetic);
	synthetic_process(&synthetic, 1000);
	gc_begin(&synthetic, 2000, 2, 3);
	cpu(&synthetic, 2010, 1);
	gc_begin(&synthetic, 2100, 1, 1);
	cpu(&synthetic, 2110, 1);
	gc_end(&synthetic, 2200, 1, 1);
	cpu(&synthetic, 2250, 1);
	gc_end(&synthetic, 2500, 2, 3);
	synthetic_end(&synthetic, 4000);
	model = synthetic_model(&synthetic);
	CHECK_EQ(model->gc.minor.total_ns, 100);
	CHECK_EQ(model->gc.major.total_ns, 400);
	CHECK_EQ(model->gc.major.cycles, 1);
	CHECK_EQ(model->cpu.gc_samples, 3);
	model_free(model);
	synthetic_free(&synthetic);
}

TEST(a_lost_end_takes_no_samples_with_it)
{
	struct synthetic synthetic;
	struct model *model;

	synthetic_begin(&synthetic);
	synthetic_process(&synthetic, 1000);
	gc_begin(&synthetic, 2000, 1, 1);
	cpu(&synthetic, 2500, 1); /* nobody knows */
	gc_begin(&synthetic, 3000, 2, 1);
	cpu(&synthetic, 3010, 1);
	gc_end(&synthetic, 3020, 2, 1);
	gc_end(&synthetic, 3500, 3, 1); /* its begin was lost */
	gc_begin(&synthetic, 3900, 4, 1);
	cpu(&synthetic, 3950, 1); /* still under way at the end */
	synthetic_end(&synthetic, 4000);
	model = synthetic_model(&synthetic);
	CHECK_EQ(model->gc.minor.count, 1);
	CHECK_EQ(model->gc.minor.total_ns, 20);
	CHECK_EQ(model->cpu.gc_samples, 1);
	CHECK_EQ(model->gc.unpaired, 3);
	model_free(model);
	synthetic_free(&synthetic);
}

TEST(major_collections_in_steps_are_counted_by_their_marking)
{
	struct synthetic synthetic;
	struct model *model;

	synthetic_begin(&synthetic);
	synthetic_process(&synthetic, 1000);
	for (uint64_t i = 0; i < 6; i++) {
		gc_begin(&synthetic, 2000 + i * 100, i + 1, 2);
		if (i % 3 == 0)
			PUT(&synthetic, phase, .time = 2001 + i * 100, .thread = 1, .heap = 1,
			    .phase = 2);
		gc_end(&synthetic, 2010 + i * 100, i + 1, 2);
	}
	gc_begin(&synthetic, 3000, 7, 3);
	PUT(&synthetic, phase, .time = 3001, .thread = 1, .heap = 1, .phase = 2);
	gc_end(&synthetic, 3100, 7, 3);
	synthetic_end(&synthetic, 4000);
	model = synthetic_model(&synthetic);
	CHECK_EQ(model->gc.major.count, 7);
	CHECK_EQ(model->gc.major.cycles, 3);
	model_free(model);
	synthetic_free(&synthetic);
}

TEST(percentiles_are_exact)
{
	struct synthetic synthetic;
	struct model *model;

	synthetic_begin(&synthetic);
	synthetic_process(&synthetic, 1000);
	for (uint64_t i = 1; i <= 200; i++) {
		/* 1 to 200 in another order. */
		gc_begin(&synthetic, i * 10000, i, 1);
		gc_end(&synthetic, i * 10000 + i * 77 % 200 + 1, i, 1);
	}
	synthetic_end(&synthetic, 4000000);
	model = synthetic_model(&synthetic);
	CHECK_EQ(model->gc.minor.p50_ns, 100);
	CHECK_EQ(model->gc.minor.p99_ns, 198);
	CHECK_EQ(model->gc.minor.max_ns, 200);
	CHECK_EQ(model->gc.minor.total_ns, 200 * 201 / 2);
	model_free(model);
	synthetic_free(&synthetic);
}

/* Ten of 1000 to 1279 ns in `span` ns before `time`, and as many again below 4 ns. */
static void put_summary(struct synthetic *synthetic, uint64_t time, uint64_t kind, uint64_t span)
{
	static const char histogram[] = {1, 10, 35, 10};

	PUT(synthetic, gc_summary, .time = time, .thread = 1, .heap = 1, .span = span, .kind = kind,
	    .reason = kind ? 1 : 0, .count = 20, .total_ns = 10100, .max_ns = 1050,
	    .promoted_bytes = 70, .promoted_objects = 7, .stop_ns = 300, .stop_max_ns = 80,
	    .nursery_max = 4096, .heap_max = 90000, .cycles = kind == 2 ? 3 : 0,
	    .histogram = {histogram, sizeof(histogram)});
}

TEST(sums_are_in_all_totals_and_percentiles)
{
	struct synthetic synthetic;
	struct model *model;

	synthetic_begin(&synthetic);
	synthetic_process(&synthetic, 1000);
	gc_begin(&synthetic, 2000, 1, 1);
	gc_end(&synthetic, 4000, 1, 1);
	cpu(&synthetic, 5000, 1);
	put_summary(&synthetic, 50000, 0, 40000);
	put_summary(&synthetic, 50000, 1, 40000);
	put_summary(&synthetic, 50000, 2, 40000);
	synthetic_end(&synthetic, 60000);
	model = synthetic_model(&synthetic);
	CHECK_EQ(model->refused, 0);
	CHECK_EQ(model->gc.minor.count, 21);
	CHECK_EQ(model->gc.minor.summed, 20);
	CHECK_EQ(model->gc.minor.total_ns, 12100);
	CHECK_EQ(model->gc.minor.p50_ns, 1050); /* the bucket's middle is more than the longest */
	CHECK_EQ(model->gc.minor.p99_ns, 2000);
	CHECK_EQ(model->gc.minor.max_ns, 2000);
	CHECK_EQ(model->gc.major.count, 20);
	CHECK_EQ(model->gc.major.p50_ns, 1);
	CHECK_EQ(model->gc.major.p99_ns, 1050);
	CHECK_EQ(model->gc.major.max_ns, 1050);
	CHECK_EQ(model->gc.major.cycles, 3);
	CHECK_EQ(model->gc.stops.count, 21);
	CHECK_EQ(model->gc.stops.max_ns, 2000);
	CHECK_EQ(model->gc.promoted_bytes, 170);
	CHECK_EQ(model->gc.promoted_objects, 7);
	CHECK_EQ(model->gc.stop_ns, 600);
	CHECK_EQ(model->gc.stop_max_ns, 80);
	CHECK_EQ(model->gc.nursery_bytes, 4096);
	CHECK_EQ(model->gc.heap_peak_bytes, 90000);
	CHECK_EQ(model->gc.reasons[1].count, 41);
	CHECK_EQ(model->gc.reasons[1].total_ns, 22200);
	CHECK_EQ(model->faults.unknown_gcs, 40);
	/* A thread takes CPU time for as long as they last. */
	CHECK_EQ(model->cpu.in_gc_ns, 20200);
	model_free(model);
	synthetic_free(&synthetic);
}

/* What they cost is charged to what was allocated before they were reported, by what was
 * promoted and by what was allocated. */
TEST(sums_are_charged_to_the_samples_before_them)
{
	struct synthetic synthetic;
	struct model *model;
	double charged = 0;

	synthetic_begin(&synthetic);
	synthetic_process(&synthetic, 1000);
	PUT(&synthetic, type, .process = 1, .type = 9,
	    .name = synthetic_string(&synthetic, "kept"));
	for (uint64_t i = 1; i <= 10; i++)
		PUT(&synthetic, alloc, .time = 2000 + i, .thread = 1, .sample = i, .type = 9,
		    .size = 64, .period = 1024, .kind = 1);
	PUT(&synthetic, fate, .time = 3000, .process = 1, .sample = 1, .outcome = 2);
	put_summary(&synthetic, 50000, 1, 40000);
	synthetic_end(&synthetic, 60000);
	model = synthetic_model(&synthetic);
	for (size_t i = 0; i < model->n_types; i++)
		charged += model->types[i].gc_ns;
	CHECK(charged > 10099.9 && charged < 10100.1);
	CHECK(model->gc.no_samples_ns == 0);
	model_free(model);
	synthetic_free(&synthetic);
}

TEST(sums_that_cannot_be_are_left_out)
{
	struct synthetic synthetic;
	struct model *model;

	synthetic_begin(&synthetic);
	synthetic_process(&synthetic, 1000);
	put_summary(&synthetic, 50000, 5, 40000);
	put_summary(&synthetic, 50000, 1, 10000); /* they took longer */
	put_summary(&synthetic, 50000, 1, 50001);
	PUT(&synthetic, gc_summary, .time = 50000, .thread = 1, .span = 100, .kind = 1, .count = 1);
	synthetic_end(&synthetic, 60000);
	model = synthetic_model(&synthetic);
	CHECK_EQ(model->refused, 4);
	CHECK_EQ(model->gc.minor.count, 0);
	model_free(model);
	synthetic_free(&synthetic);
}

TEST(collections_of_an_old_profile_are_counted_as_missing)
{
	struct synthetic synthetic;
	struct model *model;
	size_t found = 0;

	synthetic_begin(&synthetic);
	synthetic_process(&synthetic, 1000);
	PUT(&synthetic, collections, .begin = 2000, .thread = 1, .count = 40);
	PUT(&synthetic, collections, .begin = 2500, .thread = 1, .count = 2);
	synthetic_end(&synthetic, 4000);
	model = synthetic_model(&synthetic);
	for (size_t i = 0; i < model->n_losses; i++)
		if (strstr(model->losses[i].text, "only it reads")) {
			found++;
			CHECK_EQ(model->losses[i].count, 42);
			CHECK_STR(model->losses[i].stream, "gc");
		}
	CHECK_EQ(found, 1);
	model_free(model);
	synthetic_free(&synthetic);
}
