/* SPDX-License-Identifier: BSD-2-Clause */
/* model_windows.c: tests of the estimates of untraced system calls. */
#include <math.h>

#include "model/select/filter.h"
#include "synthetic.h"

#define MS UINT64_C(1000000)

enum { GETPID = 39, READ = 0, SEEDS = 200 };

/* A recording with windows, from time 0. */
struct recorded {
	struct synthetic synthetic;
	uint64_t state; /* random number state */
	uint64_t time;  /* ns: end of the recording so far */
	struct record_syscall_total total;
	struct record_call_cpu cpu;
};

static void recorded_begin(struct recorded *recorded, uint64_t seed)
{
	*recorded = (struct recorded){.state = seed, .time = 1000 * MS};
	synthetic_begin(&recorded->synthetic);
	PUT(&recorded->synthetic, stream, .stream = 4, .name = bytes_of("syscall"), .attached = 1);
	synthetic_process(&recorded->synthetic, recorded->time);
	recorded->total = (struct record_syscall_total){.process = 1, .number = GETPID};
	recorded->cpu = (struct record_call_cpu){.process = 1};
}

/* More CPU time of the program, in windows and in gaps. */
static void put_cpu(struct recorded *recorded, uint64_t traced, uint64_t untraced)
{
	struct record record = {.kind = RECORD_call_cpu};

	recorded->cpu.time = recorded->time;
	recorded->cpu.traced_ns = traced;
	recorded->cpu.untraced_ns = untraced;
	record.call_cpu = recorded->cpu;
	CHECK_EQ(profile_writer_put(recorded->synthetic.writer, &record), 0);
}

/* A gap of this length; the program was on the CPU. */
static void leave(struct recorded *recorded, uint64_t ns)
{
	recorded->time += ns;
	put_cpu(recorded, 0, ns);
}

/* A window of `ns` with `calls` traced calls; the program had that much CPU time in it. */
static void trace_on(struct recorded *recorded, uint64_t ns, uint64_t cpu, uint64_t calls,
		     uint64_t call_ns)
{
	struct record record = {.kind = RECORD_syscall_total};

	recorded->total.time = recorded->time + ns;
	recorded->total.count = calls;
	recorded->total.total_ns = 100 * calls;
	recorded->total.errors = calls / 2;
	recorded->total.gc_count = calls / 4;
	record.syscall_total = recorded->total;
	if (calls)
		CHECK_EQ(profile_writer_put(recorded->synthetic.writer, &record), 0);
	put_cpu(recorded, cpu, 0);
	PUT(&recorded->synthetic, call_window, .begin = recorded->time, .end = recorded->time + ns,
	    .call_ns = call_ns);
	recorded->time += ns;
}

static void trace(struct recorded *recorded, uint64_t ns, uint64_t calls, uint64_t call_ns)
{
	trace_on(recorded, ns, ns, calls, call_ns);
}

static struct model *recorded_end(struct recorded *recorded)
{
	struct model *model;

	model = synthetic_loaded(&recorded->synthetic, recorded->time);
	synthetic_free(&recorded->synthetic);
	return model;
}

static const struct model_syscall *only_call(const struct model *model)
{
	CHECK_EQ(model->n_syscalls, 1);
	return &model->syscalls[0];
}

static double draw(struct recorded *recorded)
{
	return (double)(test_random(&recorded->state) >> 11) / 9007199254740992.0;
}

/* Random calls, `mean` on average; uses the normal distribution where it is accurate. */
static uint64_t draw_calls(struct recorded *recorded, double mean)
{
	double calls = 0, time = 0;

	if (mean > 100) {
		double normal = sqrt(-2 * log(1 - draw(recorded))) *
				cos(6.283185307179586 * draw(recorded));

		return (uint64_t)fmax(mean + sqrt(mean) * normal + 0.5, 0);
	}
	while ((time -= log(1 - draw(recorded))) < mean)
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
	CHECK(call->count >= call->traced_count && call->count <= INT64_MAX);
}

TEST(totals_without_gaps_are_exact)
{
	struct recorded recorded;
	struct model *model;

	recorded_begin(&recorded, 1);
	for (int i = 0; i < 10; i++)
		trace(&recorded, 100 * MS, 1000, 200);
	model = recorded_end(&recorded);
	CHECK(!model->tracing.gaps);
	CHECK(model_coverage(&model->tracing) == 1);
	CHECK(!only_call(model)->estimated);
	CHECK_EQ(only_call(model)->count, 10000);
	CHECK_EQ(only_call(model)->traced_count, 10000);
	CHECK(only_call(model)->calls.low == 10000 && only_call(model)->calls.high == 10000);
	model_free(model);
}

/* Adjacent windows count as one; the last gap extends to the end. */
TEST(gaps_are_estimated_from_the_windows_after_them)
{
	const double truth = 6000 + 20 * 300 + 30 * 300;
	struct recorded recorded;
	struct model *model;

	recorded_begin(&recorded, 1);
	trace(&recorded, 10 * MS, 1000, 0);
	trace(&recorded, 10 * MS, 2000, 0);
	leave(&recorded, 20 * MS);
	trace(&recorded, 10 * MS, 3000, 0);
	leave(&recorded, 30 * MS);
	model = recorded_end(&recorded);
	CHECK(model->tracing.gaps);
	CHECK_EQ(model->tracing.windows, 2);
	CHECK_EQ(model->tracing.traced_ns, 30 * MS);
	CHECK_EQ(model->tracing.untraced_ns, 50 * MS);
	CHECK(is_near(model_coverage(&model->tracing), 0.375, 1e-9));
	/* Gaps have the rate of the next window, 300 per ms; the last that of the last one. */
	CHECK_EQ(only_call(model)->traced_count, 6000);
	CHECK(is_near((double)only_call(model)->count, truth, truth * 0.02));
	CHECK(is_near((double)only_call(model)->total_ns, 100 * truth, truth * 2));
	CHECK(is_near((double)only_call(model)->errors, truth / 2, truth * 0.01));
	CHECK(is_near((double)only_call(model)->in_gc_count, truth / 4, truth * 0.005));
	CHECK_EQ(model->syscall_count, only_call(model)->count);
	check_sane(only_call(model));
	model_free(model);
}

/* Random windows and gaps: the interval must hold the truth about as often as it claims. */
static unsigned count_holding(double (*rate)(uint64_t ns), unsigned windows)
{
	unsigned holding = 0;

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct recorded recorded;
		struct model *model;
		double truth = 0;

		recorded_begin(&recorded, seed);
		for (unsigned i = 0; i < 2 * windows; i++) {
			/* In slices, so that the rate may change within a window. */
			uint64_t slices = (i % 2 ? 50 : 5) + (uint64_t)(draw(&recorded) * 50);
			uint64_t calls = 0;

			for (uint64_t slice = 0; slice < slices; slice++) {
				uint64_t when = recorded.time - 1000 * MS + slice * MS / 10;

				calls += draw_calls(&recorded, rate(when) / 10);
			}
			truth += (double)calls;
			if (i % 2)
				leave(&recorded, slices * MS / 10);
			else
				trace(&recorded, slices * MS / 10, calls, 0);
		}
		model = recorded_end(&recorded);
		check_sane(only_call(model));
		holding += holds(&only_call(model)->calls, truth) &&
			   holds(&model->tracing.count, truth) &&
			   holds(&only_call(model)->time, 100 * truth);
		model_free(model);
	}
	printf("%u of %d intervals hold the truth\n", holding, SEEDS);
	return holding;
}

/* Calls per ms, by the time since the start. */
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

TEST(intervals_hold_for_a_constant_rate)
{
	CHECK(count_holding(constant, 20) >= SEEDS * 93 / 100);
	CHECK(count_holding(constant, 4) >= SEEDS * 93 / 100);
	CHECK(count_holding(seldom, 40) >= SEEDS * 93 / 100);
}

TEST(intervals_hold_for_a_changing_rate)
{
	CHECK(count_holding(phases, 60) >= SEEDS * 93 / 100);
	CHECK(count_holding(bursts, 60) >= SEEDS * 93 / 100);
}

/*
 * A loop takes 300 ns per turn, and 200 more while traced. It has half of the CPU in windows and
 * all of it in gaps. Its own CPU time must be the scale, not wall time.
 */
TEST(gaps_are_scaled_by_the_programs_own_cpu_time)
{
	const double truth = 50 * 10000 + 50 * 90e6 / 300;
	struct recorded recorded;
	struct model *model;

	recorded_begin(&recorded, 1);
	for (int i = 0; i < 50; i++) {
		trace_on(&recorded, 10 * MS, 5 * MS, 10000, 200);
		leave(&recorded, 90 * MS);
	}
	model = recorded_end(&recorded);
	CHECK(is_near((double)only_call(model)->count, truth, truth * 0.12));
	CHECK(holds(&only_call(model)->calls, truth));
	CHECK(holds(&model->tracing.count, truth));
	check_sane(only_call(model));
	model_free(model);
}

TEST(intervals_hold_for_a_slowed_program)
{
	unsigned holding = 0;

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct recorded recorded;
		struct model *model;
		double truth = 0, own, cost;

		recorded_begin(&recorded, seed);
		own = 500 + 5000 * draw(&recorded);
		cost = 200 * (0.7 + 0.6 * draw(&recorded)) + 0.15 * draw(&recorded) * own;
		for (int i = 0; i < 30; i++) {
			uint64_t cpu = (uint64_t)((5 + 10 * draw(&recorded)) * 1e6);
			uint64_t gap = (uint64_t)((50 + 100 * draw(&recorded)) * 1e6);
			uint64_t traced = draw_calls(&recorded, (double)cpu / (own + cost));

			trace_on(&recorded, 15 * MS, cpu, traced, 200);
			truth += (double)(traced + draw_calls(&recorded, (double)gap / own));
			leave(&recorded, gap);
		}
		model = recorded_end(&recorded);
		check_sane(only_call(model));
		holding += holds(&only_call(model)->calls, truth);
		model_free(model);
	}
	CHECK(holding >= SEEDS * 93 / 100);
}

/* Another process: calls of one kind in a window, and CPU time. */
static void put_other(struct recorded *recorded, uint64_t process, uint64_t calls, uint64_t traced,
		      uint64_t untraced)
{
	if (calls)
		PUT(&recorded->synthetic, syscall_total, .time = recorded->time, .process = process,
		    .number = READ, .count = calls);
	PUT(&recorded->synthetic, call_cpu, .time = recorded->time, .process = process,
	    .traced_ns = traced, .untraced_ns = untraced);
}

/* A process that only computes must not dilute the cost of tracing another. */
TEST(processes_are_scaled_separately)
{
	const double truth = 51 * 20000 + 50 * 90e6 / 300;
	struct recorded recorded;
	struct model *model;

	recorded_begin(&recorded, 1);
	PUT(&recorded.synthetic, process, .id = 2, .pid = 101, .time = recorded.time);
	trace(&recorded, 10 * MS, 20000, 200);
	for (int i = 0; i < 50; i++) {
		leave(&recorded, 90 * MS);
		put_other(&recorded, 2, 0, 10 * MS, 90 * MS);
		trace(&recorded, 10 * MS, 20000, 200);
	}
	model = recorded_end(&recorded);
	CHECK(is_near((double)only_call(model)->count, truth, truth * 0.12));
	CHECK(holds(&only_call(model)->calls, truth));
	model_free(model);
}

/* Windows see 10 of 100 short processes with 1000 calls each. Only these stand for the others. */
TEST(processes_in_gaps_are_estimated_from_other_new_ones)
{
	struct recorded recorded;
	struct model *model;
	uint64_t id = 2;

	recorded_begin(&recorded, 1);
	for (uint64_t i = 2; i <= 101; i++)
		PUT(&recorded.synthetic, process, .id = i, .pid = 100 + i, .time = recorded.time);
	for (int i = 0; i < 10; i++) {
		put_other(&recorded, id++, 1000, 2 * MS, 0);
		trace(&recorded, 10 * MS, 100, 0);
		for (int j = 0; j < 9; j++)
			put_other(&recorded, id++, 0, 0, 2 * MS);
		leave(&recorded, 90 * MS);
	}
	model = recorded_end(&recorded);
	CHECK_EQ(model->n_syscalls, 2);
	for (int i = 0; i < 2; i++) {
		const struct model_syscall *call = &model->syscalls[i];
		double truth = call->number == READ ? 100 * 1000 : 10 * 1000;

		CHECK(is_near((double)call->count, truth, truth * 0.03));
		CHECK(holds(&call->calls, truth));
		check_sane(call);
	}
	CHECK(is_near(model->tracing.count.value, 110000, 3300));
	model_free(model);
}

/* A process that starts when the previous one ended, with random life and rate. */
struct short_life {
	uint64_t id;
	double left, rate; /* ns of CPU time; calls per ns */
};

static void live(struct recorded *recorded, struct short_life *life, double ns, bool traced,
		 double times, double *truth)
{
	while (ns > 0) {
		double part = fmin(life->left, ns);
		uint64_t calls = draw_calls(recorded, life->rate * part);

		*truth += (double)calls;
		put_other(recorded, life->id, traced ? calls : 0, traced ? (uint64_t)part : 0,
			  traced ? 0 : (uint64_t)part);
		ns -= part;
		life->left -= part;
		if (life->left <= 0)
			*life = (struct short_life){.id = life->id + 1,
						    .left = (2 + 6 * draw(recorded)) * 1e6,
						    .rate = times * (20 + 200 * draw(recorded)) /
							    1e6};
	}
}

/* Most processes are in no window. Later, some make more calls, and windows are shorter. */
TEST(intervals_hold_for_short_processes)
{
	unsigned holding = 0;

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct short_life life = {.id = 1};
		struct recorded recorded;
		struct model *model;
		double truth = 0;

		recorded_begin(&recorded, seed);
		for (uint64_t i = 2; i <= 2000; i++)
			PUT(&recorded.synthetic, process, .id = i, .pid = 100 + i,
			    .time = recorded.time);
		for (int i = 0; i < 60; i++) {
			double gap = (50 + 100 * draw(&recorded)) * 1e6;
			double more = i < 30 || seed % 2 ? 1 : 4;
			double window = (5 + 5 * draw(&recorded)) * 1e6 / more;

			live(&recorded, &life, gap, false, more, &truth);
			recorded.time += (uint64_t)gap;
			live(&recorded, &life, window, true, more, &truth);
			PUT(&recorded.synthetic, call_window, .begin = recorded.time,
			    .end = recorded.time + (uint64_t)window);
			recorded.time += (uint64_t)window;
		}
		model = recorded_end(&recorded);
		check_sane(only_call(model));
		holding += holds(&only_call(model)->calls, truth);
		model_free(model);
	}
	CHECK(holding >= SEEDS * 93 / 100);
}

/* As written by old recorders: CPU time in gaps is unknown. */
TEST(gaps_without_cpu_time_are_not_estimated)
{
	struct recorded recorded;
	struct model *model;

	recorded_begin(&recorded, 1);
	trace(&recorded, 10 * MS, 1000, 200);
	recorded.time += 90 * MS;
	trace(&recorded, 10 * MS, 1000, 200);
	model = recorded_end(&recorded);
	CHECK(model->tracing.gaps);
	CHECK(!model->tracing.estimated);
	CHECK_EQ(model->tracing.untraced_ns, 90 * MS);
	CHECK(!only_call(model)->estimated);
	CHECK_EQ(only_call(model)->count, 2000);
	model_free(model);
}

/* One window contains no information about the variation between windows. */
TEST(one_window_gives_a_wide_interval)
{
	struct recorded recorded;
	struct model *model;

	recorded_begin(&recorded, 1);
	trace(&recorded, 10 * MS, 1000, 0);
	leave(&recorded, 90 * MS);
	model = recorded_end(&recorded);
	CHECK_EQ(only_call(model)->count, 10000);
	CHECK(only_call(model)->calls.low < 4000 && only_call(model)->calls.low >= 1000);
	CHECK(only_call(model)->calls.high > 30000);
	model_free(model);
}

TEST(impossible_windows_are_refused)
{
	struct recorded recorded;
	struct model *model;

	recorded_begin(&recorded, 1);
	trace(&recorded, 10 * MS, 1000, 0);
	PUT(&recorded.synthetic, call_window, .begin = 1005 * MS, .end = 1020 * MS); /* overlaps */
	PUT(&recorded.synthetic, call_window, .begin = 1, .end = 2);                 /* goes back */
	PUT(&recorded.synthetic, call_window, .begin = 1020 * MS, .end = 1020 * MS); /* no time */
	PUT(&recorded.synthetic, call_window, .begin = 1030 * MS, .end = 1020 * MS); /* reversed */
	leave(&recorded, 10 * MS);
	trace(&recorded, 10 * MS, 1000, 0);
	model = recorded_end(&recorded);
	CHECK_EQ(model->refused, 4);
	CHECK_EQ(only_call(model)->count, 3000);
	check_sane(only_call(model));
	model_free(model);
}

TEST(extreme_windows_do_not_break_estimates)
{
	struct recorded recorded;
	struct model *model;

	recorded_begin(&recorded, 1);
	trace(&recorded, 1, UINT64_MAX / 8, UINT64_MAX);
	leave(&recorded, UINT64_MAX / 2);
	trace(&recorded, 1, 1, UINT64_MAX);
	recorded.total.wait_ns = recorded.total.gc_ns = UINT64_MAX;
	trace(&recorded, 1, UINT64_MAX / 2, UINT64_MAX);
	leave(&recorded, UINT64_MAX / 4);
	trace(&recorded, UINT64_MAX - 1 - recorded.time, 1, UINT64_MAX);
	model = recorded_end(&recorded);
	CHECK_EQ(model->refused, 0);
	CHECK(model->tracing.gaps);
	CHECK(model_coverage(&model->tracing) >= 0 && model_coverage(&model->tracing) <= 1);
	CHECK(only_call(model)->count <= INT64_MAX);
	CHECK(isfinite(only_call(model)->calls.high) && isfinite(only_call(model)->time.high));
	CHECK(only_call(model)->calls.low >= 0 && only_call(model)->time.low >= 0);
	model_free(model);
}

TEST(a_million_windows_are_fast)
{
	struct recorded recorded;
	struct model *model;

	recorded_begin(&recorded, 1);
	for (int i = 0; i < 1000000; i++) {
		trace(&recorded, 10, 10, 0);
		leave(&recorded, 10);
	}
	model = recorded_end(&recorded);
	CHECK_EQ(model->tracing.windows, 1000000);
	CHECK_EQ(only_call(model)->count, 20000000);
	check_sane(only_call(model));
	model_free(model);
}

/* Without totals there is nothing to estimate from. */
TEST(calls_without_totals_are_not_estimated)
{
	struct recorded recorded;
	struct model *model;

	recorded_begin(&recorded, 1);
	trace(&recorded, 10 * MS, 0, 0);
	recorded.time += 10 * MS;
	PUT(&recorded.synthetic, syscall, .time = recorded.time, .thread = 1, .number = GETPID,
	    .duration = 5);
	model = recorded_end(&recorded);
	CHECK(model->tracing.gaps);
	CHECK(!only_call(model)->estimated);
	CHECK_EQ(only_call(model)->count, 1);
	model_free(model);
}

/* The selected part of a profile with two recorded calls, a window and a gap. */
static struct model *select_of(const char *term)
{
	struct filter filter = {.count = 0};
	struct model_view view = {.frames = MODEL_FRAMES_ALL};
	struct source *sources[2];
	struct recorded recorded;
	struct model *model;
	char fault[200];

	recorded_begin(&recorded, 1);
	PUT(&recorded.synthetic, thread, .id = 2, .process = 1, .tid = 101);
	for (uint64_t i = 0; i < 50; i++)
		PUT(&recorded.synthetic, syscall, .time = recorded.time + i,
		    .thread = i < 40 ? 1 : 2, .number = GETPID, .duration = 5, .stands = 2);
	trace(&recorded, 10 * MS, 100, 0);
	leave(&recorded, 10 * MS);
	synthetic_end(&recorded.synthetic, recorded.time);
	CHECK_EQ(filter_add(&filter, term, fault, sizeof(fault)), 0);
	for (int i = 0; i < 2; i++)
		CHECK_EQ(source_memory_open(recorded.synthetic.data, recorded.synthetic.size,
					    &sources[i]),
			 0);
	CHECK_EQ(model_load_filtered(sources, "x", &filter, &view, &model), 0);
	CHECK(model->tracing.gaps);
	CHECK_EQ(model->tracing.untraced_ns, 10 * MS);
	synthetic_free(&recorded.synthetic);
	return model;
}

TEST(selections_get_their_share_of_untraced_calls)
{
	struct model *model = select_of("thread=101");

	CHECK(only_call(model)->estimated);
	CHECK_EQ(only_call(model)->count, 40);
	CHECK_EQ(only_call(model)->traced_count, 10);
	CHECK(holds(&only_call(model)->calls, 30) && holds(&only_call(model)->calls, 60));
	CHECK(model->calls_left_out == 0);
	model_free(model);
}

/* The times of calls in a gap are unknown. */
TEST(untraced_time_is_left_out)
{
	struct model *model = select_of("time=5ms..15ms");

	CHECK_EQ(model->n_syscalls, 0);
	CHECK_EQ(model->syscall_count, 0);
	CHECK(model->calls_untraced);
	model_free(model);
	model = select_of("time=..5ms");
	CHECK(!model->calls_untraced);
	CHECK_EQ(only_call(model)->count, 100);
	model_free(model);
}
