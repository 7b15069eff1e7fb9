/* SPDX-License-Identifier: BSD-2-Clause */
/* model_spent.c: estimates of calls where the overhead controller decides when they are traced. */
#include <math.h>

#include "model/call_windows.h"
#include "record/throttle/controller.h"
#include "test.h"

#define MS UINT64_C(1000000)

enum { SEEDS = 100, CALL = 39, COST_NS = 200, SECONDS = 60 };

/* Of a program that makes calls for a while, then none, and has a CPU all the time. */
struct pattern {
	double on_ms, off_ms, calls_ms; /* lengths vary by half; calls a ms */
};

struct program {
	struct pattern pattern;
	bool calling;
	double left_ns;
	uint64_t state; /* of the random numbers */
};

/* A recording of it. */
struct spent {
	struct call_windows windows;
	struct controller controller;
	struct record_call_cpu cpu;
	uint64_t now, since;    /* ns: of the last step; when tracing last began or ended */
	uint64_t traced, calls; /* so many were; in all */
};

static double draw(struct program *program)
{
	return (double)(test_random(&program->state) >> 11) / 9007199254740992.0;
}

/* Calls in the `ns` that follow; each takes `cost` longer. */
static uint64_t run_program(struct program *program, double ns, double cost)
{
	double calls = 0;

	while (ns > 0) {
		double part = fmin(program->left_ns, ns);

		if (program->calling)
			calls += part / (1e6 / program->pattern.calls_ms + cost) + draw(program) -
				 0.5;
		ns -= part;
		program->left_ns -= part;
		if (program->left_ns > 0)
			continue;
		program->calling = !program->calling;
		program->left_ns =
			(program->calling ? program->pattern.on_ms : program->pattern.off_ms) *
			1e6 * (0.5 + draw(program));
	}
	return (uint64_t)fmax(calls, 0);
}

/* Tracing begins or ends, or a second is over: so much is in the profile. */
static void put(struct spent *spent, bool traced)
{
	const struct record_call_window window = {
		.begin = spent->since, .end = spent->now, .call_ns = COST_NS};
	const uint64_t figures[CALL_FIGURES] = {spent->traced, 100 * spent->traced};

	*(traced ? &spent->cpu.traced_ns : &spent->cpu.untraced_ns) += spent->now - spent->since;
	CHECK_EQ(call_windows_total(&spent->windows, 1, 1, CALL, figures), 0);
	CHECK_EQ(call_windows_cpu(&spent->windows, &spent->cpu), 0);
	if (traced)
		CHECK_EQ(call_windows_add(&spent->windows, &window), 0);
	spent->since = spent->now;
}

static void step(struct spent *spent, struct program *program, uint64_t next)
{
	bool was = spent->controller.tracing;
	uint64_t calls = run_program(program, (double)(next - spent->now), was ? COST_NS : 0);

	spent->calls += calls;
	spent->traced += was ? calls : 0;
	spent->now = next;
}

/* Is the truth in the interval? The bucket is used up when the recording begins. */
static bool holds(struct pattern pattern, uint64_t seed)
{
	const struct controller_options options = {
		.rate = 0.02, .cpus = 2, .windows = true, .seed = seed * 2654435761};
	struct spent spent = {.now = 1000 * MS, .since = 1000 * MS, .cpu = {.process = 1}};
	struct program program = {.pattern = pattern, .state = seed};
	uint64_t next = spent.now, end = next + SECONDS * 1000 * MS;
	struct estimate calls;

	program.left_ns = draw(&program) * pattern.on_ms * 1e6;
	CHECK_EQ(call_windows_init(&spent.windows), 0);
	controller_begin(&spent.controller, &options, spent.now);
	spent.controller.saved = 0;
	while (spent.now < end) {
		bool was = spent.controller.tracing;
		uint64_t traced = spent.traced;

		step(&spent, &program, next);
		next = controller_step(&spent.controller, next,
				       COST_NS * (double)(spent.traced - traced), 0);
		if (was != spent.controller.tracing || spent.now >= end ||
		    (was && spent.now - spent.since >= 1000 * MS))
			put(&spent, was);
	}
	call_windows_finish(&spent.windows, spent.now);
	calls = call_windows_estimate(&spent.windows, call_windows_gaps(&spent.windows, CALL),
				      CALL_COUNT, (double)spent.traced);
	call_windows_free(&spent.windows);
	return calls.low <= (double)spent.calls && (double)spent.calls <= calls.high;
}

static unsigned count_holding(struct pattern pattern)
{
	unsigned holding = 0;

	for (uint64_t seed = 1; seed <= SEEDS; seed++)
		holding += holds(pattern, seed);
	printf("%u of %d intervals hold the truth\n", holding, SEEDS);
	return holding;
}

TEST(intervals_of_floods_and_long_bursts_hold_the_truth)
{
	CHECK(count_holding((struct pattern){1000, 0.001, 3000}) >= 93);
	CHECK(count_holding((struct pattern){20, 200, 5000}) >= 93);
	CHECK(count_holding((struct pattern){100, 1000, 3000}) >= 93);
	CHECK(count_holding((struct pattern){5000, 5000, 2000}) >= 93);
	CHECK(count_holding((struct pattern){700, 700, 2000}) >= 93);
}

/* What is left of a burst that ends a window is in the gap: the estimate is too low. */
TEST(intervals_of_bursts_that_end_windows_hold_the_truth_as_a_rule)
{
	CHECK(count_holding((struct pattern){5, 95, 5000}) >= 80);
}
