/* SPDX-License-Identifier: BSD-2-Clause */
/* model_cycles.c: tests of pauses and of the timer samples inside them. */
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

TEST(samples_belong_to_their_threads_collection)
{
	struct synthetic synthetic;
	struct model *model;

	synthetic_program(&synthetic, 1000);
	PUT(&synthetic, thread, .id = 2, .process = 1, .tid = 101);
	cpu(&synthetic, 1999, 1);
	gc_begin(&synthetic, 2000, 1, 1);
	cpu(&synthetic, 2000, 1); /* inside */
	cpu(&synthetic, 2050, 1); /* inside */
	cpu(&synthetic, 2050, 2); /* another thread */
	cpu(&synthetic, 2099, 1); /* inside */
	gc_end(&synthetic, 2100, 1, 1);
	cpu(&synthetic, 2100, 1);
	cpu(&synthetic, 2060, 1); /* late, but inside */
	cpu(&synthetic, 1990, 1); /* late, and outside */
	gc_begin(&synthetic, 3000, 2, 1);
	cpu(&synthetic, 2010, 1); /* very late: inside the first one */
	gc_end(&synthetic, 3010, 2, 1);
	model = synthetic_loaded(&synthetic, 4000);
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
	synthetic_close(&synthetic, model);
}

/* In a collector without a minor collection before each full one. */
TEST(collections_of_any_kind_promote)
{
	struct synthetic synthetic;
	struct model *model;

	synthetic_program(&synthetic, 1000);
	for (uint64_t kind = 1; kind <= 3; kind++) {
		gc_begin(&synthetic, 2000 * kind, kind, kind);
		gc_end(&synthetic, 2000 * kind + 100, kind, kind);
	}
	model = synthetic_loaded(&synthetic, 9000);
	CHECK_EQ(model->gc.promoted_bytes, 300);
	synthetic_close(&synthetic, model);
}

static void gc_begin_in(struct synthetic *synthetic, uint64_t time, uint64_t cycle, uint64_t kind,
			uint64_t stop)
{
	PUT(synthetic, gc_begin, .time = time, .thread = 1, .heap = 1, .cycle = cycle, .kind = kind,
	    .reason = 1, .stop = stop);
}

TEST(adjacent_collections_are_one_stop)
{
	struct synthetic synthetic;
	struct model *model;

	synthetic_program(&synthetic, 1000);
	gc_begin_in(&synthetic, 2000, 1, 4, 1);
	gc_end(&synthetic, 2030, 1, 4);
	gc_begin_in(&synthetic, 2031, 2, 1, 1);
	gc_end(&synthetic, 2100, 2, 1);
	gc_begin_in(&synthetic, 2101, 3, 2, 1);
	gc_end(&synthetic, 2150, 3, 2);
	gc_begin_in(&synthetic, 2200, 4, 2, 4);
	gc_end(&synthetic, 2210, 4, 2);
	/* A collector without stop numbers. */
	gc_begin_in(&synthetic, 2300, 5, 1, 0);
	gc_end(&synthetic, 2320, 5, 1);
	gc_begin_in(&synthetic, 2321, 6, 2, 0);
	gc_end(&synthetic, 2350, 6, 2);
	model = synthetic_loaded(&synthetic, 4000);
	CHECK_EQ(model->gc.minor.count, 2);
	CHECK_EQ(model->gc.major.count, 3);
	CHECK_EQ(model->gc.others.count, 1);
	CHECK_EQ(model->gc.others.total_ns, 30);
	CHECK_EQ(model->gc.stops.count, 4);
	CHECK_EQ(model->gc.stops.max_ns, 150);
	CHECK_EQ(model->gc.stops.p50_ns, 20);
	CHECK_EQ(model->gc.stops.total_ns, 150 + 10 + 20 + 29);
	synthetic_close(&synthetic, model);
}

TEST(nested_collections_add_up)
{
	struct synthetic synthetic;
	struct model *model;

	synthetic_program(&synthetic, 1000);
	gc_begin(&synthetic, 2000, 2, 3);
	cpu(&synthetic, 2010, 1);
	gc_begin(&synthetic, 2100, 1, 1);
	cpu(&synthetic, 2110, 1);
	gc_end(&synthetic, 2200, 1, 1);
	cpu(&synthetic, 2250, 1);
	gc_end(&synthetic, 2500, 2, 3);
	model = synthetic_loaded(&synthetic, 4000);
	CHECK_EQ(model->gc.minor.total_ns, 100);
	CHECK_EQ(model->gc.major.total_ns, 400);
	CHECK_EQ(model->gc.major.cycles, 1);
	CHECK_EQ(model->cpu.gc_samples, 3);
	synthetic_close(&synthetic, model);
}

/* Like a safepoint that is reported at its end, long after the collection inside began. */
TEST(a_late_begin_encloses_later_collections)
{
	struct synthetic synthetic;
	struct model *model;

	synthetic_program(&synthetic, 1000);
	gc_begin(&synthetic, 2020, 1, 1);
	gc_begin(&synthetic, 2000, 1, 5);
	gc_end(&synthetic, 2100, 1, 1);
	gc_end(&synthetic, 2110, 1, 5);
	model = synthetic_loaded(&synthetic, 4000);
	CHECK_EQ(model->gc.unpaired, 0);
	CHECK_EQ(model->gc.minor.total_ns, 80);
	CHECK_EQ(model->gc.others.count, 0);
	CHECK(model->gc.around.count == 1 && model->gc.around.total_ns == 30);
	synthetic_close(&synthetic, model);
}

static void begin_on(struct synthetic *synthetic, uint64_t time, uint64_t thread, uint64_t heap,
		     uint64_t cycle)
{
	PUT(synthetic, gc_begin, .time = time, .thread = thread, .heap = heap, .cycle = cycle,
	    .kind = 1, .reason = 1);
}

static void end_on(struct synthetic *synthetic, uint64_t time, uint64_t thread, uint64_t heap,
		   uint64_t cycle)
{
	PUT(synthetic, gc_end, .time = time, .thread = thread, .heap = heap, .cycle = cycle,
	    .kind = 1);
}

TEST(any_thread_of_the_process_may_end_a_collection)
{
	struct synthetic synthetic;
	struct model *model;

	synthetic_program(&synthetic, 1000);
	PUT(&synthetic, thread, .id = 2, .process = 1, .tid = 101);
	PUT(&synthetic, process, .id = 2, .pid = 200, .time = 1000);
	PUT(&synthetic, thread, .id = 3, .process = 2, .tid = 200);
	begin_on(&synthetic, 2000, 1, 1, 1);
	begin_on(&synthetic, 2010, 2, 2, 1); /* another heap, at the same time */
	cpu(&synthetic, 2050, 1);
	end_on(&synthetic, 2060, 3, 1, 1); /* another process */
	end_on(&synthetic, 2100, 2, 1, 1);
	cpu(&synthetic, 2150, 1);
	cpu(&synthetic, 2150, 2);
	end_on(&synthetic, 2210, 1, 2, 1);
	cpu(&synthetic, 2090, 1); /* late */
	/* Only one side knows the cycle. */
	begin_on(&synthetic, 3000, 1, 1, 0);
	end_on(&synthetic, 3030, 2, 1, 7);
	model = synthetic_loaded(&synthetic, 4000);
	CHECK_EQ(model->gc.minor.count, 3);
	CHECK_EQ(model->gc.minor.total_ns, 100 + 200 + 30);
	CHECK_EQ(model->gc.stops.count, 3);
	CHECK_EQ(model->gc.unpaired, 1);
	CHECK_EQ(model->cpu.gc_samples, 3);
	synthetic_close(&synthetic, model);
}

TEST(a_lost_end_is_detected_when_its_thread_allocates_or_ends)
{
	struct synthetic synthetic;
	struct model *model;

	synthetic_program(&synthetic, 1000);
	PUT(&synthetic, thread, .id = 2, .process = 1, .tid = 101);
	gc_begin(&synthetic, 2000, 1, 3);
	PUT(&synthetic, alloc, .time = 2000, .thread = 2, .sample = 1, .type = 9, .size = 64,
	    .period = 1000, .kind = 1); /* another thread */
	gc_begin(&synthetic, 2100, 2, 1);
	PUT(&synthetic, alloc, .time = 2150, .thread = 1, .sample = 2, .type = 9, .size = 64,
	    .period = 1000, .kind = 4); /* malloc() by the collector */
	gc_end(&synthetic, 2200, 2, 1);
	PUT(&synthetic, alloc, .time = 2300, .thread = 1, .sample = 3, .type = 9, .size = 64,
	    .period = 1000, .kind = 1);
	cpu(&synthetic, 2400, 1);
	gc_begin(&synthetic, 2500, 3, 1); /* not nested */
	gc_end(&synthetic, 2600, 3, 1);
	begin_on(&synthetic, 2700, 2, 2, 1);
	/* A program may end in a stop. */
	PUT(&synthetic, gc_begin, .time = 2750, .thread = 2, .heap = 3, .kind = 5);
	PUT(&synthetic, exit, .time = 2800, .thread = 2);
	end_on(&synthetic, 2900, 1, 2, 1);
	model = synthetic_loaded(&synthetic, 4000);
	CHECK_EQ(model->gc.minor.count, 2);
	CHECK_EQ(model->gc.minor.total_ns, 200);
	CHECK_EQ(model->gc.stops.count, 1);
	CHECK_EQ(model->cpu.gc_samples, 0);
	CHECK_EQ(model->gc.unpaired, 3);
	synthetic_close(&synthetic, model);
}

TEST(an_end_of_a_later_cycle_leaves_both_unpaired)
{
	struct synthetic synthetic;
	struct model *model;

	synthetic_program(&synthetic, 1000);
	gc_begin(&synthetic, 2000, 1, 1);
	gc_end(&synthetic, 3000, 2, 1);
	cpu(&synthetic, 3500, 1);
	gc_begin(&synthetic, 3600, 3, 1);
	gc_end(&synthetic, 3700, 3, 1);
	model = synthetic_loaded(&synthetic, 4000);
	CHECK_EQ(model->gc.minor.count, 1);
	CHECK_EQ(model->gc.stops.count, 1);
	CHECK_EQ(model->gc.unpaired, 2);
	synthetic_close(&synthetic, model);
}

static void name_gc(struct synthetic *synthetic, uint64_t process, uint64_t number,
		    const char *name)
{
	PUT(synthetic, gc_name, .process = process, .number = number,
	    .name = synthetic_string(synthetic, name));
}

static void named_pause(struct synthetic *synthetic, uint64_t time, uint64_t kind, uint64_t name,
			uint64_t reason)
{
	PUT(synthetic, gc_begin, .time = time, .thread = 1, .heap = 1, .kind = kind, .name = name);
	PUT(synthetic, gc_end, .time = time + 100, .thread = 1, .heap = 1, .kind = kind,
	    .reason = reason, .heap_before = 5000, .heap_after = 3000, .heap_size = 8000);
}

TEST(pauses_and_reasons_have_the_runtimes_names)
{
	struct synthetic synthetic;
	struct model *model;

	synthetic_program(&synthetic, 1000);
	name_gc(&synthetic, 1, 16, "young");
	name_gc(&synthetic, 1, 17, "nursery is full");
	name_gc(&synthetic, 2, 17, "another process's");
	named_pause(&synthetic, 2000, 1, 16, 17);
	named_pause(&synthetic, 3000, 5, 18, 0);
	named_pause(&synthetic, 3500, 1, 16, 17);
	name_gc(&synthetic, 1, 18, "safepoint"); /* defined later */
	gc_begin(&synthetic, 3700, 9, 3);
	gc_end(&synthetic, 3710, 9, 3);
	model = synthetic_loaded(&synthetic, 4000);
	CHECK_EQ(model->refused, 0);
	CHECK_EQ(model->gc.n_named, 2);
	CHECK_STR(model->gc.named[0].name, "young");
	CHECK_EQ(model->gc.named[0].kind, 1);
	CHECK_EQ(model->gc.named[0].pauses.count, 2);
	CHECK_EQ(model->gc.named[0].pauses.p99_ns, 100);
	CHECK_STR(model->gc.named[1].name, "safepoint");
	CHECK_EQ(model->gc.named[1].kind, 5);
	CHECK_EQ(model->gc.n_named_reasons, 1);
	CHECK_STR(model->gc.named_reasons[0].name, "nursery is full");
	CHECK_EQ(model->gc.named_reasons[0].total_ns, 200);
	CHECK_EQ(model->gc.reasons[0].count, 0);
	CHECK_EQ(model->gc.others.count, 1);
	CHECK_EQ(model->gc.stops.count, 4);
	CHECK_EQ(model->gc.heap_peak_bytes, 45000);
	CHECK_EQ(model_gc_count(&model->gc), 4);
	CHECK_STR(model->pauses[0].name, "young");
	CHECK_STR(model->pauses[0].named_reason, "nursery is full");
	CHECK_EQ(model->pauses[0].heap_before, 5000);
	synthetic_close(&synthetic, model);
}

TEST(samples_in_unpaired_collections_are_not_counted)
{
	struct synthetic synthetic;
	struct model *model;

	synthetic_program(&synthetic, 1000);
	gc_begin(&synthetic, 2000, 1, 1);
	cpu(&synthetic, 2500, 1); /* unknown */
	gc_begin(&synthetic, 3000, 2, 1);
	cpu(&synthetic, 3010, 1);
	gc_end(&synthetic, 3020, 2, 1);
	gc_end(&synthetic, 3500, 3, 1); /* its begin was lost */
	gc_begin(&synthetic, 3900, 4, 1);
	cpu(&synthetic, 3950, 1); /* still in progress at the end */
	model = synthetic_loaded(&synthetic, 4000);
	CHECK_EQ(model->gc.minor.count, 1);
	CHECK_EQ(model->gc.minor.total_ns, 20);
	CHECK_EQ(model->cpu.gc_samples, 1);
	CHECK_EQ(model->gc.unpaired, 3);
	synthetic_close(&synthetic, model);
}

TEST(major_collections_in_steps_are_counted_by_their_marking)
{
	struct synthetic synthetic;
	struct model *model;

	synthetic_program(&synthetic, 1000);
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
	model = synthetic_loaded(&synthetic, 4000);
	CHECK_EQ(model->gc.major.count, 7);
	CHECK_EQ(model->gc.major.cycles, 3);
	synthetic_close(&synthetic, model);
}

TEST(percentiles_are_exact)
{
	struct synthetic synthetic;
	struct model *model;

	synthetic_program(&synthetic, 1000);
	for (uint64_t i = 1; i <= 200; i++) {
		/* 1 to 200, in another order. */
		gc_begin(&synthetic, i * 10000, i, 1);
		gc_end(&synthetic, i * 10000 + i * 77 % 200 + 1, i, 1);
	}
	model = synthetic_loaded(&synthetic, 4000000);
	CHECK_EQ(model->gc.minor.p50_ns, 100);
	CHECK_EQ(model->gc.minor.p99_ns, 198);
	CHECK_EQ(model->gc.minor.max_ns, 200);
	CHECK_EQ(model->gc.minor.total_ns, 200 * 201 / 2);
	synthetic_close(&synthetic, model);
}

/* Ten pauses of 1000 to 1279 ns within `span` ns before `time`, and ten more below 4 ns. */
static void put_summary(struct synthetic *synthetic, uint64_t time, uint64_t kind, uint64_t span)
{
	static const char histogram[] = {1, 10, 35, 10};

	PUT(synthetic, gc_summary, .time = time, .thread = 1, .heap = 1, .span = span, .kind = kind,
	    .reason = kind ? 1 : 0, .count = 20, .total_ns = 10100, .max_ns = 1050,
	    .promoted_bytes = 70, .promoted_objects = 7, .stop_ns = 300, .stop_max_ns = 80,
	    .nursery_max = 4096, .heap_max = 90000, .cycles = kind == 2 ? 3 : 0,
	    .histogram = {histogram, sizeof(histogram)});
}

TEST(summaries_count_in_totals_and_percentiles)
{
	struct synthetic synthetic;
	struct model *model;

	synthetic_program(&synthetic, 1000);
	gc_begin(&synthetic, 2000, 1, 1);
	gc_end(&synthetic, 4000, 1, 1);
	cpu(&synthetic, 5000, 1);
	put_summary(&synthetic, 50000, 0, 40000);
	put_summary(&synthetic, 50000, 1, 40000);
	put_summary(&synthetic, 50000, 2, 40000);
	model = synthetic_loaded(&synthetic, 60000);
	CHECK_EQ(model->refused, 0);
	CHECK_EQ(model->gc.minor.count, 21);
	CHECK_EQ(model->gc.minor.summed, 20);
	CHECK_EQ(model->gc.minor.total_ns, 12100);
	CHECK_EQ(model->gc.minor.p50_ns, 1050); /* the middle of the bucket exceeds the maximum */
	CHECK_EQ(model->gc.minor.p99_ns, 2000);
	CHECK_EQ(model->gc.minor.max_ns, 2000);
	CHECK_EQ(model->gc.major.count, 20);
	CHECK_EQ(model->gc.major.p50_ns, 1);
	CHECK_EQ(model->gc.major.p99_ns, 1050);
	CHECK_EQ(model->gc.major.max_ns, 1050);
	CHECK_EQ(model->gc.major.cycles, 3);
	CHECK_EQ(model->gc.stops.count, 21);
	CHECK_EQ(model->gc.stops.max_ns, 2000);
	CHECK_EQ(model->gc.promoted_bytes, 240);
	CHECK_EQ(model->gc.promoted_objects, 14);
	CHECK_EQ(model->gc.stop_ns, 600);
	CHECK_EQ(model->gc.stop_max_ns, 80);
	CHECK_EQ(model->gc.nursery_bytes, 4096);
	CHECK_EQ(model->gc.heap_peak_bytes, 90000);
	CHECK_EQ(model->gc.reasons[1].count, 41);
	CHECK_EQ(model->gc.reasons[1].total_ns, 22200);
	CHECK_EQ(model->faults.unknown_gcs, 40);
	/* The thread is on a CPU during all of them. */
	CHECK_EQ(model->cpu.in_gc_ns, 20200);
	synthetic_close(&synthetic, model);
}

TEST(sums_have_the_runtimes_reasons)
{
	static const char histogram[] = {1, 10, 35, 10};
	struct synthetic synthetic;
	struct model *model;

	synthetic_program(&synthetic, 1000);
	name_gc(&synthetic, 1, 17, "stall");
	PUT(&synthetic, gc_summary, .time = 50000, .thread = 1, .heap = 1, .span = 40000, .kind = 1,
	    .reason = 17, .count = 20, .total_ns = 10100, .max_ns = 1050,
	    .histogram = {histogram, sizeof(histogram)});
	model = synthetic_loaded(&synthetic, 60000);
	CHECK_EQ(model->refused, 0);
	CHECK_EQ(model->gc.n_named_reasons, 1);
	CHECK_STR(model->gc.named_reasons[0].name, "stall");
	CHECK_EQ(model->gc.named_reasons[0].count, 20);
	CHECK_EQ(model->gc.named_reasons[0].total_ns, 10100);
	CHECK_EQ(model->gc.reasons[0].count, 0);
	synthetic_close(&synthetic, model);
}

/* They are charged to the samples before the summary, by promoted and by allocated bytes. */
TEST(summaries_are_charged_to_earlier_samples)
{
	struct synthetic synthetic;
	struct model *model;
	double charged = 0;

	synthetic_program(&synthetic, 1000);
	PUT(&synthetic, type, .process = 1, .type = 9,
	    .name = synthetic_string(&synthetic, "kept"));
	for (uint64_t i = 1; i <= 10; i++)
		PUT(&synthetic, alloc, .time = 2000 + i, .thread = 1, .sample = i, .type = 9,
		    .size = 64, .period = 1024, .kind = 1);
	PUT(&synthetic, fate, .time = 3000, .process = 1, .sample = 1, .outcome = 2);
	put_summary(&synthetic, 50000, 1, 40000);
	model = synthetic_loaded(&synthetic, 60000);
	for (size_t i = 0; i < model->n_types; i++)
		charged += model->types[i].gc_ns.value;
	CHECK(charged > 10099.9 && charged < 10100.1);
	CHECK(model->gc.unattributed_ns == 0);
	synthetic_close(&synthetic, model);
}

TEST(impossible_summaries_are_refused)
{
	struct synthetic synthetic;
	struct model *model;

	synthetic_program(&synthetic, 1000);
	put_summary(&synthetic, 50000, 5, 40000);
	put_summary(&synthetic, 50000, 1, 10000); /* longer than their span */
	put_summary(&synthetic, 50000, 1, 50001);
	PUT(&synthetic, gc_summary, .time = 50000, .thread = 1, .span = 100, .kind = 1, .count = 1);
	model = synthetic_loaded(&synthetic, 60000);
	CHECK_EQ(model->refused, 4);
	CHECK_EQ(model->gc.minor.count, 0);
	synthetic_close(&synthetic, model);
}
