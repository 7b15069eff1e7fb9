/* SPDX-License-Identifier: BSD-2-Clause */
/* model_looks.c: tests of the estimates of system calls that nobody looked at. */
#include <math.h>

#include "model/filter.h"
#include "synthetic.h"

#define MS UINT64_C(1000000)

enum { GETPID = 39, READ = 0, SEEDS = 200 };

/* A recording of looks, from time 0 ms on. */
struct looked {
	struct synthetic synthetic;
	uint64_t state; /* of the random numbers */
	uint64_t time;  /* ns: until when the recording was made */
	struct record_syscall_total total;
};

static void looked_begin(struct looked *looked, uint64_t seed)
{
	*looked = (struct looked){.state = seed, .time = 1000 * MS};
	synthetic_begin(&looked->synthetic);
	PUT(&looked->synthetic, stream, .stream = 4, .name = bytes_of("syscall"), .attached = 1);
	synthetic_process(&looked->synthetic, looked->time);
	looked->total = (struct record_syscall_total){.process = 1, .number = GETPID};
}

/* `calls` more were seen in the `ns` that follow; of them none ran all the time. */
static void look(struct looked *looked, uint64_t ns, uint64_t calls, uint64_t call_ns)
{
	struct record record = {.kind = RECORD_syscall_total};

	looked->total.time = looked->time + ns;
	looked->total.count += calls;
	looked->total.total_ns += 100 * calls;
	looked->total.errors += calls / 2;
	looked->total.gc_count += calls / 4;
	record.syscall_total = looked->total;
	if (calls)
		CHECK_EQ(profile_writer_put(looked->synthetic.writer, &record), 0);
	PUT(&looked->synthetic, look, .begin = looked->time, .end = looked->time + ns,
	    .call_ns = call_ns);
	looked->time += ns;
}

static struct model *looked_end(struct looked *looked)
{
	struct model *model;

	synthetic_end(&looked->synthetic, looked->time);
	model = synthetic_model(&looked->synthetic);
	synthetic_free(&looked->synthetic);
	return model;
}

static const struct model_syscall *only_call(const struct model *model)
{
	CHECK_EQ(model->n_syscalls, 1);
	return &model->syscalls[0];
}

/* From 0 to 1. */
static double draw(struct looked *looked)
{
	return (double)(test_random(&looked->state) >> 11) / 9007199254740992.0;
}

/* Calls that come at random, `mean` on average: by the normal distribution where that is near. */
static uint64_t draw_calls(struct looked *looked, double mean)
{
	double calls = 0, time = 0;

	if (mean > 100) {
		double normal =
			sqrt(-2 * log(1 - draw(looked))) * cos(6.283185307179586 * draw(looked));

		return (uint64_t)fmax(mean + sqrt(mean) * normal + 0.5, 0);
	}
	while ((time -= log(1 - draw(looked))) < mean)
		calls++;
	return (uint64_t)calls;
}

static bool holds(const struct estimate *estimate, double truth)
{
	return estimate->low <= truth && truth <= estimate->high;
}

static void check_sane(const struct model_syscall *call)
{
	CHECK(isfinite(call->calls.low) && isfinite(call->calls.high));
	CHECK(isfinite(call->time.low) && isfinite(call->time.high));
	CHECK(call->calls.low >= 0 && call->calls.low <= call->calls.value);
	CHECK(call->calls.value <= call->calls.high);
	CHECK(call->time.low >= 0 && call->time.low <= call->time.value);
	CHECK(call->time.value <= call->time.high);
	CHECK(call->count >= call->seen && call->count <= INT64_MAX);
}

TEST(totals_without_gaps_are_exact)
{
	struct looked looked;
	struct model *model;

	looked_begin(&looked, 1);
	for (int i = 0; i < 10; i++)
		look(&looked, 100 * MS, 1000, 200);
	model = looked_end(&looked);
	CHECK(!model->looks.gaps);
	CHECK(model_coverage(&model->looks) == 1);
	CHECK(!only_call(model)->estimated);
	CHECK_EQ(only_call(model)->count, 10000);
	CHECK_EQ(only_call(model)->seen, 10000);
	CHECK(only_call(model)->calls.low == 10000 && only_call(model)->calls.high == 10000);
	model_free(model);
}

/* Looks that follow each other are one window; the last gap reaches to the end. */
TEST(gaps_are_estimated_from_the_windows_beside_them)
{
	struct looked looked;
	struct model *model;

	looked_begin(&looked, 1);
	look(&looked, 10 * MS, 600, 0);
	look(&looked, 10 * MS, 1400, 0);
	looked.time += 20 * MS;
	look(&looked, 10 * MS, 3000, 0);
	looked.time += 30 * MS;
	model = looked_end(&looked);
	CHECK(model->looks.gaps);
	CHECK_EQ(model->looks.windows, 2);
	CHECK_EQ(model->looks.seen_ns, 30 * MS);
	CHECK_EQ(model->looks.unseen_ns, 50 * MS);
	CHECK(is_near(model_coverage(&model->looks), 0.375, 1e-9));
	/* 100 and 300 a ms: 200 in between. */
	CHECK_EQ(only_call(model)->seen, 5000);
	CHECK_EQ(only_call(model)->count, 5000 + 20 * 200 + 30 * 300);
	CHECK_EQ(only_call(model)->total_ns, 100 * only_call(model)->count);
	CHECK_EQ(only_call(model)->errors, only_call(model)->count / 2);
	CHECK_EQ(only_call(model)->in_gc_count, only_call(model)->count / 4);
	CHECK_EQ(model->syscall_count, only_call(model)->count);
	check_sane(only_call(model));
	model_free(model);
}

/* Random windows and gaps: the interval must hold the truth as often as it says, or nearly. */
static unsigned count_holding(double (*rate)(uint64_t ns), unsigned windows)
{
	unsigned holding = 0;

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct looked looked;
		struct model *model;
		double truth = 0;

		looked_begin(&looked, seed);
		for (unsigned i = 0; i < 2 * windows; i++) {
			/* By slices, so that the rate may change within. */
			uint64_t slices = (i % 2 ? 50 : 5) + (uint64_t)(draw(&looked) * 50);
			uint64_t calls = 0;

			for (uint64_t slice = 0; slice < slices; slice++) {
				uint64_t when = looked.time - 1000 * MS + slice * MS / 10;

				calls += draw_calls(&looked, rate(when) / 10);
			}
			truth += (double)calls;
			if (i % 2)
				looked.time += slices * MS / 10;
			else
				look(&looked, slices * MS / 10, calls, 0);
		}
		model = looked_end(&looked);
		check_sane(only_call(model));
		holding += holds(&only_call(model)->calls, truth) &&
			   holds(&model->looks.count, truth) &&
			   holds(&only_call(model)->time, 100 * truth);
		model_free(model);
	}
	printf("%u of %d intervals hold the truth\n", holding, SEEDS);
	return holding;
}

/* Calls a ms, by the time since the recording began. */
static double constant(uint64_t ns)
{
	(void)ns;
	return 50;
}

static double seldom(uint64_t ns)
{
	(void)ns;
	return 0.2;
}

static double phases(uint64_t ns)
{
	return ns / (40 * MS) % 2 ? 500 : 20;
}

static double bursts(uint64_t ns)
{
	return ns / (3 * MS) % 5 ? 0 : 1000;
}

TEST(intervals_of_a_constant_rate_hold_the_truth)
{
	CHECK(count_holding(constant, 20) >= SEEDS * 9 / 10);
	CHECK(count_holding(constant, 4) >= SEEDS * 9 / 10);
	CHECK(count_holding(seldom, 40) >= SEEDS * 9 / 10);
}

TEST(intervals_of_a_changing_rate_hold_the_truth)
{
	CHECK(count_holding(phases, 60) >= SEEDS * 9 / 10);
	CHECK(count_holding(bursts, 60) >= SEEDS * 9 / 10);
}

/* Long phases are followed: what the busy one did is not laid to the quiet one. */
TEST(phases_are_followed)
{
	struct looked looked;
	struct model *model;

	looked_begin(&looked, 1);
	for (int i = 0; i < 200; i++) {
		look(&looked, MS, i < 100 ? 1000 : 0, 0);
		looked.time += 9 * MS;
	}
	model = looked_end(&looked);
	/* All but the gap in which the phase ends, half of which is laid to it. */
	CHECK_EQ(only_call(model)->count, 100 * 1000 + 99 * 9000 + 4500);
	CHECK(only_call(model)->calls.low > 800000 && only_call(model)->calls.high < 1200000);
	model_free(model);
}

/*
 * A loop whose turn takes 300 ns, and 200 more when it is looked at, a thread that waits for
 * a timer beside it.
 */
TEST(unseen_calls_of_threads_that_run_are_faster)
{
	struct looked looked;
	struct model *model;
	const struct model_syscall *loop, *timer;

	looked_begin(&looked, 1);
	for (uint64_t i = 1; i <= 50; i++) {
		PUT(&looked.synthetic, syscall_total, .time = looked.time, .process = 1,
		    .number = READ, .count = 10 * i);
		looked.total.runs = 20000 * i;
		looked.total.run_ns = 20000 * i * 500;
		look(&looked, 10 * MS, 20000, 200);
		looked.time += 90 * MS;
	}
	model = looked_end(&looked);
	CHECK_EQ(model->n_syscalls, 2);
	loop = &model->syscalls[0];
	timer = &model->syscalls[1];
	CHECK_EQ(loop->number, GETPID);
	CHECK_EQ(timer->count, 50 * 10 * 10);
	CHECK(is_near((double)loop->count, 50 * 20000 + 50 * 90e6 / 300, 1));
	CHECK(holds(&loop->calls, 50 * 20000 + 50 * 90e6 / 310));
	check_sane(loop);
	check_sane(timer);
	model_free(model);
}

/* One run in 32 is measured at random, and stands for all of them. */
TEST(sampled_runs_are_right_on_average)
{
	struct looked looked;
	struct model *model;

	looked_begin(&looked, 1);
	for (int i = 0; i < 400; i++) {
		for (int call = 0; call < 500; call++) {
			uint64_t ns = 400 + test_random(&looked.state) % 201;

			if (test_random(&looked.state) % 32)
				continue;
			looked.total.runs += 32;
			looked.total.run_ns += 32 * ns;
		}
		look(&looked, 250000, 500, 200);
		looked.time += 10 * MS;
	}
	model = looked_end(&looked);
	CHECK(is_near((double)only_call(model)->count, 400 * 500 + 400 * 10e6 / 300, 0.05 * 13e6));
	CHECK(holds(&only_call(model)->calls, 400 * 500 + 400 * 10e6 / 300));
	model_free(model);
}

/* The turns of a loop with two calls are one: both become faster alike. */
TEST(calls_of_a_loop_become_faster_together)
{
	struct looked looked;
	struct model *model;

	looked_begin(&looked, 1);
	for (uint64_t i = 1; i <= 50; i++) {
		PUT(&looked.synthetic, syscall_total, .time = looked.time, .process = 1,
		    .number = READ, .count = 1000 * i, .runs = 1000 * i, .run_ns = 700000 * i);
		looked.total.runs = 1000 * i;
		looked.total.run_ns = 300000 * i;
		look(&looked, MS, 1000, 200);
		looked.time += 9 * MS;
	}
	model = looked_end(&looked);
	CHECK_EQ(model->n_syscalls, 2);
	for (size_t i = 0; i < 2; i++)
		CHECK(is_near((double)model->syscalls[i].count,
			      50 * 1000 + 50 * 9000 * 1000.0 / 600, 1));
	model_free(model);
}

/* One window tells nothing about how different windows are. */
TEST(one_window_leaves_much_open)
{
	struct looked looked;
	struct model *model;

	looked_begin(&looked, 1);
	look(&looked, 10 * MS, 1000, 0);
	looked.time += 90 * MS;
	model = looked_end(&looked);
	CHECK_EQ(only_call(model)->count, 10000);
	CHECK(only_call(model)->calls.low < 4000 && only_call(model)->calls.low >= 1000);
	CHECK(only_call(model)->calls.high > 30000);
	model_free(model);
}

TEST(looks_that_cannot_be_are_refused)
{
	struct looked looked;
	struct model *model;

	looked_begin(&looked, 1);
	look(&looked, 10 * MS, 1000, UINT64_MAX);
	PUT(&looked.synthetic, look, .begin = 1005 * MS, .end = 1020 * MS); /* overlaps */
	PUT(&looked.synthetic, look, .begin = 1, .end = 2);                 /* goes back */
	PUT(&looked.synthetic, look, .begin = 1020 * MS, .end = 1020 * MS); /* no time */
	PUT(&looked.synthetic, look, .begin = 1030 * MS, .end = 1020 * MS); /* the wrong way */
	looked.time += 10 * MS;
	look(&looked, 10 * MS, 1000, UINT64_MAX);
	model = looked_end(&looked);
	CHECK_EQ(model->refused, 4);
	CHECK_EQ(only_call(model)->count, 3000);
	check_sane(only_call(model));
	model_free(model);
}

TEST(extreme_looks_do_not_upset_the_estimates)
{
	struct looked looked;
	struct model *model;

	looked_begin(&looked, 1);
	look(&looked, 1, UINT64_MAX / 8, UINT64_MAX);
	looked.total.runs = looked.total.run_ns = UINT64_MAX;
	looked.time += UINT64_MAX / 2;
	look(&looked, 1, 1, UINT64_MAX);
	looked.total.wait_ns = looked.total.gc_ns = UINT64_MAX;
	looked.total.count = looked.total.total_ns = 3; /* shrinks */
	look(&looked, 1, UINT64_MAX / 2, UINT64_MAX);
	looked.time += UINT64_MAX / 4;
	look(&looked, UINT64_MAX - 1 - looked.time, 1, UINT64_MAX);
	model = looked_end(&looked);
	CHECK_EQ(model->refused, 0);
	CHECK(model->looks.gaps);
	CHECK(model_coverage(&model->looks) >= 0 && model_coverage(&model->looks) <= 1);
	CHECK(only_call(model)->count <= INT64_MAX);
	CHECK(isfinite(only_call(model)->calls.high) && isfinite(only_call(model)->time.high));
	CHECK(only_call(model)->calls.low >= 0 && only_call(model)->time.low >= 0);
	model_free(model);
}

TEST(a_million_windows_are_no_burden)
{
	struct looked looked;
	struct model *model;

	looked_begin(&looked, 1);
	for (int i = 0; i < 1000000; i++) {
		look(&looked, 10, 10, 0);
		looked.time += 10;
	}
	model = looked_end(&looked);
	CHECK_EQ(model->looks.windows, 1000000);
	CHECK_EQ(only_call(model)->count, 20000000);
	check_sane(only_call(model));
	model_free(model);
}

/* A call of which no total tells: there is nothing to estimate from. */
TEST(calls_without_totals_are_not_estimated)
{
	struct looked looked;
	struct model *model;

	looked_begin(&looked, 1);
	look(&looked, 10 * MS, 0, 0);
	looked.time += 10 * MS;
	PUT(&looked.synthetic, syscall, .time = looked.time, .thread = 1, .number = GETPID,
	    .duration = 5);
	model = looked_end(&looked);
	CHECK(model->looks.gaps);
	CHECK(!only_call(model)->estimated);
	CHECK_EQ(only_call(model)->count, 1);
	model_free(model);
}

/* Who selects a part gets what was seen of it, and is told that this is not all. */
TEST(a_selection_is_not_estimated)
{
	struct filter filter = {.count = 0};
	struct model_view view = {.frames = MODEL_FRAMES_ALL};
	struct source *sources[2];
	struct looked looked;
	struct model *model;
	char fault[200];

	looked_begin(&looked, 1);
	PUT(&looked.synthetic, syscall, .time = looked.time, .thread = 1, .number = GETPID,
	    .duration = 5);
	look(&looked, 10 * MS, 100, 0);
	looked.time += 10 * MS;
	synthetic_end(&looked.synthetic, looked.time);
	CHECK_EQ(filter_add(&filter, "time=0s..20ms", fault, sizeof(fault)), 0);
	for (int i = 0; i < 2; i++)
		CHECK_EQ(source_memory_open(looked.synthetic.data, looked.synthetic.size,
					    &sources[i]),
			 0);
	CHECK_EQ(model_load_filtered(sources, "x", &filter, &view, &model), 0);
	CHECK(model->looks.gaps);
	CHECK_EQ(model->looks.unseen_ns, 10 * MS);
	CHECK(!only_call(model)->estimated);
	CHECK_EQ(only_call(model)->count, 1);
	model_free(model);
	synthetic_free(&looked.synthetic);
}
