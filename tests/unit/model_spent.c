/* SPDX-License-Identifier: BSD-2-Clause */
/* model_spent.c: tests of call estimates with windows chosen by the overhead controller. */
#include <math.h>

#include "model/system/call_windows.h"
#include "record/throttle/throttle.h"
#include "test.h"

#define MS UINT64_C(1000000)

#define CACHES 1.05 /* slowdown of the program itself while traced */

enum { SEEDS = 100, CALL = 39, COST_NS = 200 };

/* A program that always runs, and makes calls for a while, then none. */
struct pattern {
	double on_ms, off_ms, calls_ms; /* lengths vary by half; calls per ms */
	unsigned seconds;               /* length of the recording */
	bool saved;                     /* it begins with a full budget */
};

struct program {
	struct pattern pattern;
	bool calling;
	double left_ns;
	uint64_t state; /* random number state */
};

/* A recording of the program. */
struct spent {
	struct call_windows windows;
	struct controller controller;
	struct record_call_cpu cpu;
	uint64_t now, since;         /* ns: last step; last start or end of tracing */
	uint64_t traced, put, calls; /* calls traced; in the profile; in all */
};

static double draw(struct program *program)
{
	return (double)(test_random(&program->state) >> 11) / 9007199254740992.0;
}

/* Calls in the next `ns`. Tracing adds `cost` to each, which is not the program's own time. */
static uint64_t run_program(struct program *program, double ns, double cost)
{
	double calls = 0;

	while (ns > 1e-3) {
		double slower = cost > 0 ? CACHES : 1;
		double part;

		slower += program->calling ? cost * program->pattern.calls_ms / 1e6 : 0;
		part = fmin(program->left_ns, ns / slower);

		if (program->calling)
			calls += part * program->pattern.calls_ms / 1e6 + draw(program) - 0.5;
		ns -= part * slower;
		program->left_ns -= part;
		if (program->left_ns > 1e-3)
			continue;
		program->calling = !program->calling;
		program->left_ns =
			(program->calling ? program->pattern.on_ms : program->pattern.off_ms) *
			1e6 * (0.5 + draw(program));
	}
	return (uint64_t)fmax(calls, 0);
}

/* Writes what is known to the profile, when tracing starts or ends or a second has passed. */
static void put(struct spent *spent, bool traced)
{
	const struct record_call_window window = {
		.begin = spent->since, .end = spent->now, .call_ns = COST_NS};
	const double calls = (double)(spent->traced - spent->put);
	const double more[CALL_FIGURES] = {calls, 100 * calls};
	uint64_t gap;

	spent->cpu.traced_ns = traced ? spent->now - spent->since : 0;
	spent->cpu.untraced_ns = traced ? 0 : spent->now - spent->since;
	CHECK_EQ(call_windows_calls(&spent->windows, 0, 1, CALL, more), 0);
	CHECK_EQ(call_windows_cpu(&spent->windows, 0, 0, &spent->cpu), 0);
	if (traced)
		CHECK_EQ(call_windows_add(&spent->windows, &window, &gap), 0);
	spent->since = spent->now;
	spent->put = spent->traced;
}

static void step(struct spent *spent, struct program *program, uint64_t next)
{
	bool was = spent->controller.tracing;
	uint64_t calls = run_program(program, (double)(next - spent->now), was ? COST_NS : 0);

	spent->calls += calls;
	spent->traced += was ? calls : 0;
	spent->now = next;
}

/* Error and interval width of an estimate, relative to the truth. */
static double error, width;

/* Is the truth in the interval? */
static bool holds(struct pattern pattern, uint64_t seed)
{
	struct spent spent = {
		.now = 1000 * MS,
		.since = 1000 * MS,
		.cpu = {.process = 1},
		.controller = {.rate = 0.02, .cpus = 2, .windows = true},
	};
	struct program program = {.pattern = pattern, .state = seed};
	uint64_t next = spent.now, end = next + pattern.seconds * 1000 * MS;
	struct estimate calls;

	program.calling = pattern.saved;
	program.left_ns = draw(&program) * pattern.on_ms * 1e6;
	CHECK_EQ(call_windows_init(&spent.windows), 0);
	controller_begin(&spent.controller, spent.now);
	spent.controller.random[0] = (unsigned short)seed;
	if (!pattern.saved)
		spent.controller.saved = 0;
	while (spent.now < end) {
		bool was = spent.controller.tracing;
		uint64_t traced = spent.traced, before = spent.now;
		struct recording_cost cost = {0};

		step(&spent, &program, next);
		cost.calls_ns = cost.own_ns = COST_NS * (double)(spent.traced - traced);
		cost.cpu_ns = was ? (double)(next - before) : 0;
		next = controller_step(&spent.controller, next, &cost);
		if (was != spent.controller.tracing || spent.now >= end ||
		    (was && spent.now - spent.since >= 1000 * MS))
			put(&spent, was);
	}
	CHECK_EQ(call_windows_end(&spent.windows, 0, spent.now), 0);
	call_windows_finish(&spent.windows);
	/* Without a gap the figure is exact. */
	if (!call_windows_estimate(&spent.windows, CALL, CALL_COUNT, (double)spent.traced, &calls))
		calls.value = calls.low = calls.high = (double)spent.traced;
	call_windows_free(&spent.windows);
	error += calls.value / (double)spent.calls - 1;
	width += (calls.high - calls.low) / 2 / (double)spent.calls;
	return calls.low <= (double)spent.calls && (double)spent.calls <= calls.high;
}

static unsigned count_holding(struct pattern pattern)
{
	unsigned holding = 0;

	error = width = 0;
	for (uint64_t seed = 1; seed <= SEEDS; seed++)
		holding += holds(pattern, seed);
	printf("%u s, %.0f ms of %.0f: %u of %d intervals hold the truth, %+.1f %%, half width "
	       "%.0f %%\n",
	       pattern.seconds, pattern.on_ms, pattern.on_ms + pattern.off_ms, holding, SEEDS,
	       100 * error / SEEDS, 100 * width / SEEDS);
	return holding;
}

TEST(intervals_hold_for_floods_and_bursts)
{
	static const struct pattern patterns[] = {
		{1000, 0.001, 3000, 60, false},
		{2, 10, 5000, 60, false},
		{5, 95, 5000, 60, false},
		{20, 200, 5000, 60, false},
		{100, 1000, 3000, 60, false},
		{200, 200, 5000, 60, false},
		{700, 700, 2000, 60, false},
		{2000, 2000, 5000, 60, false},
		{5000, 5000, 2000, 60, false},
		/* Tracing in windows because it would slow the program down, not for the machine.
		 */
		{1000, 0.001, 3000, 1, true},
		{1000, 0.001, 3000, 5, true},
		{2, 10, 5000, 5, true},
		{20, 60, 5000, 5, true},
		{200, 200, 5000, 5, true},
		{20, 200, 5000, 10, true},
		{700, 700, 2000, 10, true},
		{1000, 0.001, 500, 10, true},
	};

	for (size_t i = 0; i < sizeof(patterns) / sizeof(*patterns); i++)
		CHECK(count_holding(patterns[i]) >= 93);
}
