/* SPDX-License-Identifier: BSD-2-Clause */
/* model_pauses.c: tests of the longest pauses: their causes, and the events during them. */
#include "synthetic.h"

enum { MINOR = 1, FULL = 3, FUTEX = 202 };

struct rig {
	struct synthetic synthetic;
	uint64_t cycle, sample;
	uint64_t keep, drop; /* stacks of two functions that allocate */
};

/* Two threads of one process, and one of another. */
static void rig_begin(struct rig *rig)
{
	struct synthetic *synthetic = &rig->synthetic;
	uint64_t begin;

	*rig = (struct rig){.cycle = 0};
	synthetic_program(synthetic, 1000);
	PUT(synthetic, meta, .key = bytes_of("machine"), .value = bytes_of("x86_64"));
	PUT(synthetic, thread, .id = 2, .process = 1, .tid = 101);
	PUT(synthetic, process, .id = 2, .pid = 200, .time = 1000);
	PUT(synthetic, thread, .id = 3, .process = 2, .tid = 200);
	PUT(synthetic, type, .process = 1, .type = 1, .name = synthetic_string(synthetic, "node"));
	begin = synthetic_function(synthetic, "/bin/app", 1, "main");
	rig->keep = synthetic_stack(
		synthetic,
		(uint64_t[]){begin, synthetic_function(synthetic, "/bin/app", 2, "keep"), 0});
	rig->drop = synthetic_stack(
		synthetic,
		(uint64_t[]){begin, synthetic_function(synthetic, "/bin/app", 3, "drop"), 0});
}

static struct model *rig_end(struct rig *rig, uint64_t time)
{
	synthetic_end(&rig->synthetic, time);
	return synthetic_model(&rig->synthetic);
}

static void rig_free(struct rig *rig, struct model *model)
{
	synthetic_close(&rig->synthetic, model);
}

static void gc_begin(struct rig *rig, uint64_t time, uint64_t kind)
{
	PUT(&rig->synthetic, gc_begin, .time = time, .thread = 1, .heap = 1, .cycle = ++rig->cycle,
	    .kind = kind, .reason = 1);
}

static void gc_end(struct rig *rig, uint64_t time, uint64_t kind)
{
	PUT(&rig->synthetic, gc_end, .time = time, .thread = 1, .heap = 1, .cycle = rig->cycle,
	    .kind = kind, .has_stats = 1, .promoted_bytes = 77, .stop_ns = 5);
}

/* Objects of 100000 bytes at a period of 1000 are certain to be sampled. */
static uint64_t allocate(struct rig *rig, uint64_t time, uint64_t stack)
{
	PUT(&rig->synthetic, alloc, .time = time, .thread = 2, .stack = stack,
	    .sample = ++rig->sample, .type = 1, .size = 100000, .period = 1000, .kind = 1);
	return rig->sample;
}

static void fate(struct rig *rig, uint64_t time, uint64_t sample, uint64_t outcome)
{
	PUT(&rig->synthetic, fate, .time = time, .process = 1, .sample = sample,
	    .outcome = outcome);
}

static void call(struct rig *rig, uint64_t thread, uint64_t number, uint64_t begin, uint64_t end)
{
	PUT(&rig->synthetic, syscall, .time = end, .thread = thread, .number = number,
	    .duration = end - begin);
}

TEST(the_longest_pauses_are_sorted)
{
	struct rig rig;
	struct model *model;

	rig_begin(&rig);
	for (uint64_t i = 0; i < 30; i++) {
		gc_begin(&rig, 2000 + i * 1000, MINOR);
		gc_end(&rig, 2000 + i * 1000 + 1 + i * 7 % 30, MINOR);
	}
	model = rig_end(&rig, 50000);
	CHECK_EQ(model->n_pauses, LONG_PAUSES);
	for (size_t i = 0; i < model->n_pauses; i++)
		CHECK_EQ(model->pauses[i].pause_ns, 30 - i);
	CHECK_EQ(model->pauses[0].kind, MINOR);
	CHECK_EQ(model->pauses[0].reason, 1);
	CHECK_EQ(model->pauses[0].tid, 100);
	CHECK_EQ(model->pauses[0].pid, 100);
	CHECK_EQ(model->pauses[0].promoted_bytes, 77);
	CHECK_EQ(model->pauses[0].stop_ns, 5);
	CHECK_EQ(model->pauses[0].n_sites, 0);
	rig_free(&rig, model);
}

TEST(minor_pauses_show_sites_of_promoted_objects)
{
	struct rig rig;
	struct model *model;
	const struct model_pause *pause;
	uint64_t kept[2];

	rig_begin(&rig);
	allocate(&rig, 1100, rig.keep); /* previous cycle: belongs to another pause */
	gc_begin(&rig, 1200, MINOR);
	gc_end(&rig, 1201, MINOR);
	kept[0] = allocate(&rig, 1300, rig.keep);
	allocate(&rig, 1310, rig.drop);
	allocate(&rig, 1320, rig.drop);
	kept[1] = allocate(&rig, 1330, rig.keep);
	gc_begin(&rig, 2000, MINOR);
	fate(&rig, 2090, kept[0], 2);
	fate(&rig, 2090, kept[1], 2);
	gc_end(&rig, 2100, MINOR);
	model = rig_end(&rig, 5000);
	CHECK_EQ(model->n_pauses, 2);
	pause = &model->pauses[0];
	CHECK_EQ(pause->pause_ns, 100);
	CHECK(!pause->walked);
	CHECK_EQ(pause->n_sites, 2);
	CHECK_STR(pause->sites[0].functions[0], "keep");
	CHECK_STR(pause->sites[0].functions[1], "main");
	CHECK_STR(pause->sites[0].type, "node");
	CHECK_EQ(pause->sites[0].kept_bytes, 200000);
	CHECK_EQ(pause->sites[0].samples, 2);
	CHECK_STR(pause->sites[1].functions[0], "drop");
	CHECK_EQ(pause->sites[1].kept_bytes, 0);
	CHECK_EQ(pause->sites[1].bytes, 200000);
	CHECK_EQ(pause->sampled_bytes, 400000);
	CHECK_EQ(pause->kept_bytes, 200000);
	CHECK_EQ(pause->samples, 4);
	CHECK_EQ(pause->kept_samples, 2);
	CHECK(pause->fates);
	rig_free(&rig, model);
}

TEST(full_pauses_show_sites_of_old_objects)
{
	struct rig rig;
	struct model *model;
	const struct model_pause *pause;
	uint64_t early, late, stays, after;

	rig_begin(&rig);
	early = allocate(&rig, 1100, rig.drop);
	late = allocate(&rig, 1110, rig.keep);
	stays = allocate(&rig, 1120, rig.keep);
	gc_begin(&rig, 1200, MINOR);
	for (uint64_t sample = early; sample <= stays; sample++)
		fate(&rig, 1205, sample, 2);
	gc_end(&rig, 1210, MINOR);
	gc_begin(&rig, 1300, FULL);
	fate(&rig, 1310, early, 4); /* found dead: not walked in the next pause */
	gc_end(&rig, 1320, FULL);
	gc_begin(&rig, 2000, FULL);
	gc_end(&rig, 2900, FULL);
	after = allocate(&rig, 3000, rig.drop);
	gc_begin(&rig, 3100, MINOR);
	fate(&rig, 3105, after, 2);
	gc_end(&rig, 3110, MINOR);
	gc_begin(&rig, 3200, FULL);
	fate(&rig, 3210, late, 4);
	gc_end(&rig, 3220, FULL);
	model = rig_end(&rig, 5000);
	pause = &model->pauses[0];
	CHECK_EQ(pause->pause_ns, 900);
	CHECK_EQ(pause->kind, FULL);
	CHECK(pause->walked);
	CHECK_EQ(pause->n_sites, 1);
	CHECK_STR(pause->sites[0].functions[0], "keep");
	CHECK_EQ(pause->sites[0].kept_bytes, 200000);
	CHECK_EQ(pause->kept_samples, 2);
	rig_free(&rig, model);
}

TEST(calls_of_other_threads_count_by_overlap)
{
	struct rig rig;
	struct model *model;
	const struct model_pause *pause;

	rig_begin(&rig);
	call(&rig, 2, 0, 1500, 1999); /* ended before */
	gc_begin(&rig, 2000, MINOR);
	call(&rig, 2, 1, 1950, 2010);  /* 10 */
	call(&rig, 2, 2, 2020, 2040);  /* 20 */
	call(&rig, 3, 0, 2000, 2050);  /* another process */
	call(&rig, 1, 28, 2045, 2055); /* the collecting thread: 10 and 20 */
	call(&rig, 1, 11, 2060, 2080);
	gc_end(&rig, 2100, MINOR);
	call(&rig, 2, FUTEX, 1990, 2110); /* 100, but counted separately */
	call(&rig, 2, 0, 1000, 2500);     /* 100 of 1500 */
	call(&rig, 2, 3, 2100, 2200);     /* begins afterwards */
	model = rig_end(&rig, 5000);
	CHECK_EQ(model->n_pauses, 1);
	pause = &model->pauses[0];
	CHECK_EQ(pause->sums.calls, 4);
	CHECK_EQ(pause->sums.call_ns, 230);
	CHECK_EQ(pause->sums.futex_calls, 1);
	CHECK_EQ(pause->sums.futex_ns, 100);
	CHECK_EQ(pause->sums.own_call_ns, 30);
	CHECK_STR(pause->own_call.text, "munmap(...) = 0");
	CHECK_EQ(pause->own_call.overlap_ns, 20);
	CHECK_EQ(pause->sums.traced_ns, 0);
	CHECK_EQ(pause->n_longest, 1); /* of a thread */
	CHECK_STR(pause->longest[0].text, "read(...) = 0");
	CHECK_EQ(pause->longest[0].start, 1000);
	CHECK_EQ(pause->longest[0].duration_ns, 1500);
	CHECK_EQ(pause->longest[0].overlap_ns, 100);
	CHECK_EQ(pause->longest[0].tid, 101);
	rig_free(&rig, model);
}

TEST(pauses_separate_the_collecting_thread_from_others)
{
	struct rig rig;
	struct model *model;
	const struct model_pause *pause;
	static const uint64_t ticks[][2] = {{1, 1999}, {1, 2000}, {1, 2050}, {2, 2060}, {3, 2070}};

	rig_begin(&rig);
	PUT(&rig.synthetic, cpu, .time = ticks[0][1], .thread = ticks[0][0], .mode = 1);
	gc_begin(&rig, 2000, MINOR);
	for (size_t i = 1; i < sizeof(ticks) / sizeof(*ticks); i++)
		PUT(&rig.synthetic, cpu, .time = ticks[i][1], .thread = ticks[i][0], .mode = 1);
	PUT(&rig.synthetic, wait, .time = 2070, .thread = 1, .duration = 40, .reason = 2);
	PUT(&rig.synthetic, wait, .time = 2080, .thread = 2, .duration = 15, .reason = 2);
	gc_end(&rig, 2100, MINOR);
	PUT(&rig.synthetic, cpu, .time = 2090, .thread = 2, .mode = 1); /* late */
	PUT(&rig.synthetic, cpu, .time = 2100, .thread = 1, .mode = 1);
	PUT(&rig.synthetic, wait, .time = 2300, .thread = 2, .duration = 220, .reason = 0,
	    .flags = 1); /* in a call */
	model = rig_end(&rig, 5000);
	pause = &model->pauses[0];
	CHECK_EQ(pause->own_cpu_ns, 2000000);
	CHECK_EQ(pause->cpu_ns, 2000000);
	CHECK_EQ(pause->sums.own_wait_ns, 40);
	CHECK_EQ(pause->own_wait.overlap_ns, 40);
	CHECK_STR(pause->own_wait.text, "preempted");
	CHECK_EQ(pause->own_wait.tid, 100);
	CHECK_EQ(pause->sums.wait_ns, 15 + 20);
	CHECK_EQ(pause->n_longest, 1);
	CHECK(!pause->longest[0].is_call);
	CHECK_STR(pause->longest[0].text, "preempted");
	CHECK_EQ(pause->longest[0].overlap_ns, 15);
	rig_free(&rig, model);
}

/* Thread 1 begins the pause and waits for thread 2, which collects; thread 4 is delayed. */
TEST(threads_that_collect_are_part_of_the_pause_and_not_delayed_by_it)
{
	struct rig rig;
	struct synthetic *synthetic = &rig.synthetic;
	const struct model_pause *pause;
	struct model *model;
	uint64_t stack;

	rig_begin(&rig);
	PUT(synthetic, thread, .id = 4, .process = 1, .tid = 102);
	PUT(synthetic, runtime, .process = 1, .name = synthetic_string(synthetic, "machine"),
	    .collector = synthetic_string(synthetic, "collect"));
	stack = synthetic_stack(
		synthetic,
		(uint64_t[]){synthetic_function(synthetic, "/bin/app", 9, "collect"), 0});
	gc_begin(&rig, 2000, MINOR);
	PUT(synthetic, cpu, .time = 2050, .thread = 2, .mode = 1, .stack = stack);
	PUT(synthetic, cpu, .time = 2060, .thread = 4, .mode = 1, .stack = rig.keep);
	PUT(synthetic, wait, .time = 2045, .thread = 2, .duration = 40, .reason = 2);
	/* It could run from 1995 on. */
	PUT(synthetic, wait, .time = 2005, .thread = 2, .duration = 500, .reason = 0, .queued = 10,
	    .number = FUTEX, .flags = 1);
	call(&rig, 2, 24, 2070, 2090);
	call(&rig, 4, 0, 2080, 2090);
	gc_end(&rig, 2100, MINOR);
	PUT(synthetic, wait, .time = 2110, .thread = 1, .duration = 105, .reason = 0, .queued = 12,
	    .number = FUTEX, .flags = 1);
	model = rig_end(&rig, 5000);
	pause = &model->pauses[0];
	CHECK_EQ(pause->workers, 1);
	CHECK_EQ(pause->own_cpu_ns, 1000000);
	CHECK_EQ(pause->cpu_ns, 1000000);
	CHECK_EQ(pause->sums.ready_ns, 40 + 5 + 2);
	CHECK_EQ(pause->sums.calls, 1);
	CHECK_EQ(pause->sums.wait_ns, 0);
	CHECK_EQ(pause->n_longest, 1);
	CHECK_EQ(pause->longest[0].tid, 102);
	rig_free(&rig, model);
}

/* More threads than are kept apart: what the others did is in the sums, and the longest call is
 * shown. */
TEST(events_of_many_threads_are_summed_up)
{
	struct rig rig;
	struct model *model;

	rig_begin(&rig);
	for (uint64_t i = 10; i < 110; i++)
		PUT(&rig.synthetic, thread, .id = i, .process = 1, .tid = 100 + i);
	gc_begin(&rig, 2000, MINOR);
	for (uint64_t i = 10; i < 110; i++)
		call(&rig, i, 0, 2000, 2000 + i - 9);
	gc_end(&rig, 2100, MINOR);
	model = rig_end(&rig, 5000);
	CHECK_EQ(model->pauses[0].sums.calls, 100);
	CHECK_EQ(model->pauses[0].sums.call_ns, 100 * 101 / 2);
	CHECK_EQ(model->pauses[0].longest[0].tid, 209);
	rig_free(&rig, model);
}

/* Tracing windows: one ends inside the pause, another after it. */
TEST(pauses_show_their_traced_time)
{
	struct rig rig;
	struct model *model;

	rig_begin(&rig);
	gc_begin(&rig, 2000, MINOR);
	PUT(&rig.synthetic, call_window, .begin = 1900, .end = 2010);
	gc_end(&rig, 2100, MINOR);
	PUT(&rig.synthetic, call_window, .begin = 2080, .end = 2200);
	PUT(&rig.synthetic, call_window, .begin = 2300, .end = 2400);
	model = rig_end(&rig, 5000);
	CHECK(model->tracing.gaps);
	CHECK_EQ(model->pauses[0].sums.traced_ns, 10 + 20);
	CHECK(model->pauses[0].own_call.text == NULL);
	rig_free(&rig, model);
}

TEST(events_in_nested_pauses_count_in_both)
{
	struct rig rig;
	struct model *model;

	rig_begin(&rig);
	PUT(&rig.synthetic, gc_begin, .time = 2000, .thread = 1, .heap = 1, .cycle = 9,
	    .kind = FULL);
	gc_begin(&rig, 2010, MINOR);
	call(&rig, 2, 0, 2020, 2030);
	gc_end(&rig, 2040, MINOR);
	PUT(&rig.synthetic, gc_end, .time = 2100, .thread = 1, .heap = 1, .cycle = 9, .kind = FULL);
	model = rig_end(&rig, 5000);
	CHECK_EQ(model->n_pauses, 2);
	CHECK_EQ(model->pauses[0].kind, FULL);
	CHECK_EQ(model->pauses[0].pause_ns, 70);
	CHECK_EQ(model->pauses[0].sums.calls, 1);
	CHECK_EQ(model->pauses[1].sums.calls, 1);
	rig_free(&rig, model);
}

/* Its end was lost. The next one of its kind replaces it, and so do too many others. */
TEST(collections_without_an_end_are_dropped)
{
	struct rig rig;
	struct model *model;

	rig_begin(&rig);
	for (uint64_t heap = 1; heap < 200; heap++)
		PUT(&rig.synthetic, gc_begin, .time = 1000 + heap, .thread = 2, .heap = heap,
		    .cycle = 1, .kind = MINOR);
	gc_begin(&rig, 1500, MINOR);
	gc_begin(&rig, 2000, MINOR);
	call(&rig, 2, 0, 2005, 2015);
	gc_end(&rig, 2020, MINOR);
	model = rig_end(&rig, 5000);
	CHECK_EQ(model->n_pauses, 1);
	CHECK_EQ(model->pauses[0].pause_ns, 20);
	CHECK_EQ(model->pauses[0].sums.calls, 1);
	rig_free(&rig, model);
}

/*
 * More stacks than are kept separately: the totals include them all, and the largest is still
 * first.
 */
TEST(the_largest_of_many_stacks_is_kept)
{
	struct rig rig;
	struct model *model;
	const struct model_pause *pause;
	uint64_t frame;

	rig_begin(&rig);
	frame = synthetic_function(&rig.synthetic, "/bin/app", 9, "many");
	for (uint64_t i = 0; i < 20000; i++) {
		uint64_t stack = synthetic_stack(
			&rig.synthetic,
			(uint64_t[]){synthetic_function(&rig.synthetic, "/bin/app", 100 + i, NULL),
				     frame, 0});

		fate(&rig, 1100, allocate(&rig, 1100, stack), 2);
		if (i % 4 == 0)
			fate(&rig, 1100, allocate(&rig, 1100, rig.keep), 2);
	}
	gc_begin(&rig, 2000, MINOR);
	gc_end(&rig, 2100, MINOR);
	model = rig_end(&rig, 5000);
	pause = &model->pauses[0];
	CHECK_EQ(pause->kept_samples, 25000);
	CHECK_EQ(pause->kept_bytes, 2500000000.0);
	CHECK_STR(pause->sites[0].functions[0], "keep");
	CHECK_EQ(pause->sites[0].kept_bytes, 500000000);
	CHECK_EQ(pause->n_sites, PAUSE_SITES);
	rig_free(&rig, model);
}
