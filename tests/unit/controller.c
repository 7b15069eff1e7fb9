/* SPDX-License-Identifier: BSD-2-Clause */
/* controller.c: tests of the overhead controller, with a clock and costs that are made up. */
#include <math.h>
#include <stdlib.h>

#include "record/throttle/controller.h"
#include "test.h"

#define SECOND UINT64_C(1000000000)
#define RATE   0.02 /* one percent of two CPUs */
#define BURST  60.0 /* seconds' worth that may be used at once */
#define DEBT   3.0  /* and that may be forgiven */
#define LEAST  0.125

/* A machine on which time passes. Costs are ns of CPU time in a ns. */
struct machine {
	struct controller controller;
	double calls;                 /* tracing system calls, while they are traced */
	double rest;                  /* what cannot be throttled */
	double kinds[THROTTLE_KINDS]; /* what each level makes half of */
	uint64_t now, begin, next;    /* ns */
	uint64_t traced, windows, changes;
	double calls_ns, rest_ns; /* used since `begin` */
	double late;              /* the most that calls took between two steps */
};

static void machine_begin(struct machine *machine, double rate, const unsigned *levels,
			  uint64_t seed)
{
	struct controller_options options = {
		.rate = rate, .cpus = 2, .windows = true, .seed = seed};

	*machine = (struct machine){.now = 5 * SECOND, .begin = 5 * SECOND, .next = 5 * SECOND};
	for (int kind = 0; levels && kind < THROTTLE_KINDS; kind++)
		options.levels[kind] = levels[kind];
	controller_begin(&machine->controller, &options, machine->now);
}

static double elapsed(const struct machine *machine)
{
	return (double)(machine->now - machine->begin);
}

static double rest_of(const struct machine *machine)
{
	double rest = machine->rest;

	for (enum throttle_kind kind = 0; kind < THROTTLE_KINDS; kind++)
		rest += machine->kinds[kind] /
			(double)(1u << controller_level(&machine->controller, kind));
	return rest;
}

/* One step, so many ns after it was due. */
static void step_late(struct machine *machine, uint64_t late)
{
	struct controller *controller = &machine->controller;
	bool was = controller->tracing;
	unsigned level = controller->level;
	uint64_t until = machine->next + late;
	double ns = (double)(until - machine->now), calls = was ? machine->calls * ns : 0;

	machine->traced += was ? until - machine->now : 0;
	machine->calls_ns += calls;
	machine->rest_ns += rest_of(machine) * ns;
	machine->late = fmax(machine->late, calls);
	machine->now = until;
	machine->next = controller_step(controller, until, calls, rest_of(machine) * ns);
	machine->windows += controller->tracing && !was;
	machine->changes += controller->level != level;
	CHECK(machine->next > until && machine->next - until <= SECOND / 5);
}

static void run(struct machine *machine, double seconds)
{
	uint64_t end = machine->now + (uint64_t)(seconds * (double)SECOND);

	while (machine->now < end)
		step_late(machine, 0);
}

/* What is counted begins anew. */
static void count_anew(struct machine *machine)
{
	machine->begin = machine->now;
	machine->traced = machine->windows = machine->changes = 0;
	machine->calls_ns = machine->rest_ns = 0;
}

/* Of what is allowed, since counting began. */
static double share(const struct machine *machine)
{
	return (machine->calls_ns + machine->rest_ns) / elapsed(machine) /
	       machine->controller.options.rate;
}

static double random_between(double low, double high)
{
	return low + (high - low) * (double)rand() / RAND_MAX;
}

static const unsigned all[THROTTLE_KINDS] = {4, 4, 3};

static unsigned level(const struct machine *machine, enum throttle_kind kind)
{
	return controller_level(&machine->controller, kind);
}

TEST(below_the_limit_nothing_is_throttled)
{
	struct machine machine;

	machine_begin(&machine, RATE, all, 1);
	machine.calls = 0.7 * RATE;
	machine.rest = 0.25 * RATE;
	run(&machine, 3600);
	CHECK_EQ(machine.changes, 0);
	CHECK_EQ(machine.traced, machine.now - machine.begin);
}

TEST(a_short_recording_is_complete)
{
	struct machine machine;

	machine_begin(&machine, RATE, all, 2);
	machine.calls = 0.5 * RATE;
	machine.rest = 1.2 * RATE;
	run(&machine, 40);
	CHECK_EQ(machine.changes, 0);
	CHECK_EQ(machine.traced, machine.now - machine.begin);
	/* The first names that are found cost some tenths of a second of CPU time. */
	machine_begin(&machine, RATE, all, 2);
	machine.rest = 0.2;
	run(&machine, 2);
	machine.rest = 0.9 * RATE;
	run(&machine, 600);
	CHECK_EQ(machine.changes, 0);
}

TEST(a_burst_of_calls_is_traced_for_a_minutes_worth)
{
	struct machine machine;

	machine_begin(&machine, RATE, NULL, 3);
	machine.calls = 0.96;
	while (machine.controller.tracing)
		step_late(&machine, 0);
	CHECK(machine.calls_ns > BURST * RATE * 1e9 && machine.calls_ns < BURST * RATE * 1.05e9);
}

TEST(a_flood_is_traced_in_windows_that_hold_the_limit)
{
	static const double cpus[] = {0.3, 0.96, 2};

	for (int i = 0; i < 3; i++) {
		struct machine machine;

		machine_begin(&machine, RATE, NULL, 4);
		machine.calls = cpus[i];
		machine.rest = 0.1 * RATE;
		run(&machine, 100);
		count_anew(&machine);
		run(&machine, 100);
		CHECK(fabs(share(&machine) - 1) < 0.03);
		CHECK(machine.windows > 120 && machine.windows < 250);
	}
}

TEST(the_limit_holds_over_a_minute_and_longer)
{
	/* Opening and closing windows costs what it costs: with the smallest limits they are rare.
	 */
	static const double rates[] = {0.0002, 0.002, 0.02, 0.2, 1};

	for (int i = 0; i < 5; i++) {
		struct machine machine;

		machine_begin(&machine, rates[i], NULL, 5);
		machine.calls = 1.5;
		run(&machine, 120);
		for (int minute = 0; minute < 10; minute++) {
			count_anew(&machine);
			run(&machine, 60);
			CHECK(share(&machine) < 1.2);
		}
	}
}

TEST(gaps_between_windows_are_not_equal)
{
	uint64_t ended = 0, shortest = UINT64_MAX, longest = 0;
	struct machine machine;

	machine_begin(&machine, RATE, NULL, 6);
	machine.calls = 0.96;
	for (int i = 0; i < 50000; i++) {
		bool was = machine.controller.tracing;
		uint64_t gap;

		step_late(&machine, 0);
		if (was && !machine.controller.tracing)
			ended = machine.now;
		if (was || !machine.controller.tracing || !ended)
			continue;
		gap = machine.now - ended;
		shortest = gap < shortest ? gap : shortest;
		longest = gap > longest ? gap : longest;
	}
	CHECK(longest > 2 * shortest && longest < 10 * shortest);
}

/* With floods, pauses, bursts and steps that come late; what is used at once is the exception. */
TEST(the_limit_holds_for_any_loads)
{
	for (unsigned seed = 1; seed <= 200; seed++) {
		struct machine machine;
		double rate, most;

		srand(seed);
		rate = random_between(0.0001, 0.5);
		machine_begin(&machine, rate, NULL, seed);
		for (int i = 0; i < 20000; i++) {
			if (rand() % 50 == 0)
				machine.calls = rand() % 3 ? random_between(0, 2)
							   : random_between(0, rate);
			if (rand() % 80 == 0)
				machine.rest = random_between(0, rate * (1 - LEAST));
			step_late(&machine, rand() % 20 ? 0 : (uint64_t)random_between(0, 0.5e9));
			most = rate * (elapsed(&machine) + (BURST + DEBT) * SECOND);
			CHECK(machine.calls_ns + machine.rest_ns <= most + machine.late);
		}
		CHECK(machine.windows > 10);
	}
}

TEST(calls_have_what_the_rest_leaves_but_an_eighth_in_any_case)
{
	for (double rest = 0; rest <= 3; rest += 0.25) {
		struct machine machine;

		machine_begin(&machine, RATE, NULL, 7);
		machine.calls = 1.5;
		machine.rest = rest * RATE;
		run(&machine, 300);
		count_anew(&machine);
		run(&machine, 300);
		CHECK(fabs(machine.calls_ns / elapsed(&machine) / RATE - fmax(1 - rest, LEAST)) <
		      0.03);
	}
}

TEST(bursts_of_the_rest_are_paid_later)
{
	struct machine machine;

	machine_begin(&machine, RATE, NULL, 17);
	machine.calls = 1.5;
	run(&machine, 120);
	count_anew(&machine);
	for (int i = 0; i < 100; i++) {
		machine.rest = 10 * RATE;
		run(&machine, 0.2);
		machine.rest = 0;
		run(&machine, 3.8);
	}
	CHECK(machine.rest_ns / elapsed(&machine) / RATE > 0.4);
	CHECK(fabs(share(&machine) - 1) < 0.03);
}

TEST(a_recorder_that_is_kept_waiting_pays_before_the_next_window)
{
	struct machine machine;

	machine_begin(&machine, RATE, NULL, 8);
	machine.calls = 1;
	run(&machine, 10);
	while (!machine.controller.tracing)
		step_late(&machine, 0);
	count_anew(&machine);
	step_late(&machine, 2 * SECOND);
	CHECK(!machine.controller.tracing);
	while (!machine.controller.tracing)
		step_late(&machine, 0);
	CHECK(share(&machine) < 1.01);
	CHECK(elapsed(&machine) > 100.0 * SECOND && elapsed(&machine) < 110.0 * SECOND);
}

TEST(when_the_flood_is_over_all_calls_are_traced_again)
{
	struct machine machine;

	machine_begin(&machine, RATE, NULL, 9);
	machine.calls = 2;
	run(&machine, 20);
	machine.calls = RATE / 2;
	run(&machine, 2);
	count_anew(&machine);
	run(&machine, 300);
	CHECK_EQ(machine.traced, machine.now - machine.begin);
	/* And a minute's worth is saved up for the next one. */
	machine.calls = 1;
	count_anew(&machine);
	while (machine.controller.tracing)
		step_late(&machine, 0);
	CHECK(machine.calls_ns > BURST * RATE * 1e9);
}

TEST(less_is_recorded_in_order_and_no_less_than_is_needed)
{
	struct machine machine;

	machine_begin(&machine, RATE, all, 10);
	machine.kinds[THROTTLE_CALLS] = machine.kinds[THROTTLE_SAMPLES] = 0.4 * RATE;
	machine.kinds[THROTTLE_TICKS] = 0.4 * RATE;
	run(&machine, 1000);
	CHECK_EQ(level(&machine, THROTTLE_CALLS), 1);
	CHECK_EQ(level(&machine, THROTTLE_SAMPLES), 0);
	machine.kinds[THROTTLE_SAMPLES] = 0.8 * RATE;
	machine.kinds[THROTTLE_CALLS] = 0.1 * RATE;
	run(&machine, 1000);
	CHECK_EQ(level(&machine, THROTTLE_CALLS), 4);
	CHECK_EQ(level(&machine, THROTTLE_SAMPLES), 1);
	CHECK_EQ(level(&machine, THROTTLE_TICKS), 0);
	machine.kinds[THROTTLE_TICKS] = 1.6 * RATE;
	run(&machine, 1000);
	CHECK_EQ(level(&machine, THROTTLE_SAMPLES), 4);
	CHECK_EQ(level(&machine, THROTTLE_TICKS), 1);
	CHECK(rest_of(&machine) < RATE);
	CHECK_EQ(machine.traced, machine.now - machine.begin);
}

/* Only then totals become estimates. */
TEST(windows_begin_when_all_levels_are_taken)
{
	struct machine machine;

	machine_begin(&machine, RATE, all, 11);
	machine.calls = 0.3 * RATE;
	machine.rest = 1.5 * RATE;
	while (machine.controller.tracing)
		step_late(&machine, 0);
	CHECK_EQ(machine.controller.level, 11);
	count_anew(&machine);
	run(&machine, 300);
	CHECK(fabs(machine.calls_ns / elapsed(&machine) / RATE - LEAST) < 0.02);
}

TEST(a_flood_of_calls_alone_takes_no_levels)
{
	struct machine machine;

	machine_begin(&machine, RATE, all, 12);
	machine.calls = 2;
	machine.rest = 0.4 * RATE;
	run(&machine, 300);
	CHECK_EQ(machine.changes, 0);
	machine.rest = 1.5 * RATE;
	run(&machine, 300);
	CHECK_EQ(machine.controller.level, 11);
}

TEST(far_above_the_limit_levels_come_fast)
{
	struct machine machine;

	machine_begin(&machine, RATE, all, 13);
	machine.kinds[THROTTLE_CALLS] = machine.kinds[THROTTLE_SAMPLES] = 5 * RATE;
	machine.kinds[THROTTLE_TICKS] = 5 * RATE;
	while (machine.changes == 0)
		step_late(&machine, 0);
	run(&machine, 6);
	CHECK_EQ(machine.controller.level, 11);
}

TEST(what_the_user_asked_for_is_not_throttled)
{
	static const unsigned only[THROTTLE_KINDS] = {[THROTTLE_SAMPLES] = 4};
	struct machine machine;

	machine_begin(&machine, RATE, only, 14);
	machine.rest = 3 * RATE;
	run(&machine, 100);
	CHECK_EQ(level(&machine, THROTTLE_CALLS), 0);
	CHECK_EQ(level(&machine, THROTTLE_SAMPLES), 4);
	CHECK_EQ(level(&machine, THROTTLE_TICKS), 0);
	machine_begin(&machine, RATE, NULL, 14);
	machine.controller.options.windows = false;
	machine.calls = 2;
	run(&machine, 100);
	CHECK_EQ(machine.traced, machine.now - machine.begin);
	CHECK_EQ(machine.controller.level, 0);
}

TEST(when_the_load_is_gone_all_is_recorded_again)
{
	struct machine machine;

	machine_begin(&machine, RATE, all, 15);
	machine.rest = 10 * RATE;
	run(&machine, 300);
	CHECK_EQ(machine.controller.level, 11);
	machine.rest = 0.2 * RATE;
	run(&machine, 90);
	CHECK_EQ(machine.controller.level, 0);
	CHECK(machine.controller.tracing);
}

/* What a level less makes too much again is tried now and then, and the limit holds all the same.
 */
TEST(levels_change_seldom)
{
	static const unsigned one[THROTTLE_KINDS] = {1};
	struct machine machine;

	machine_begin(&machine, RATE, one, 16);
	run(&machine, 1);
	for (int i = 0; i < 20000; i++) {
		if (i == 10000)
			count_anew(&machine);
		machine.rest = (machine.controller.level ? 0.3 : 1.5) * RATE;
		step_late(&machine, 0);
	}
	CHECK((double)machine.changes / elapsed(&machine) * 1e9 < 0.06);
	CHECK(share(&machine) < 1.02);
}
