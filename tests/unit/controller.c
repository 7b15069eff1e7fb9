/* SPDX-License-Identifier: BSD-2-Clause */
/* controller.c: tests of the overhead controller, with a clock and costs that are made up. */
#include <math.h>
#include <stdlib.h>

#include "record/throttle/throttle.h"
#include "test.h"

#define SECOND UINT64_C(1000000000)
#define RATE   0.02 /* one percent of two CPUs */
#define BURST  45.0 /* seconds' worth that may be used at once */
#define DEBT   6.0  /* and that may be forgiven */
#define LEAST  0.085
#define LEVELS 11

/* A machine on which time passes. Costs are ns of CPU time in a ns. */
struct machine {
	struct controller controller;
	double calls;              /* tracing system calls, while they are traced */
	double own;                /* the part of it that is of recorded programs */
	double rest;               /* what cannot be throttled */
	double kinds[LEVELS];      /* what each level takes away */
	uint64_t now, begin, next; /* ns */
	uint64_t traced, windows, changes;
	double calls_ns, rest_ns; /* used since `begin` */
	double cpu;               /* used by the programs; 0: unknown */
	double late;              /* the most that calls took between two steps */
};

static void machine_begin(struct machine *machine, double rate, unsigned levels, uint64_t seed)
{
	*machine = (struct machine){
		.now = 5 * SECOND,
		.begin = 5 * SECOND,
		.next = 5 * SECOND,
		.controller = {.rate = rate, .cpus = 2, .levels = levels, .windows = true},
		.cpu = 1000, /* tracing hardly slows them */
		.own = 1,
	};
	controller_begin(&machine->controller, machine->now);
	machine->controller.random[0] = (unsigned short)seed;
}

static double elapsed(const struct machine *machine)
{
	return (double)(machine->now - machine->begin);
}

static double rest_of(const struct machine *machine)
{
	double rest = machine->rest;

	for (unsigned level = machine->controller.level; level < LEVELS; level++)
		rest += machine->kinds[level];
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
	struct recording_cost cost;

	machine->traced += was ? until - machine->now : 0;
	machine->calls_ns += calls;
	machine->rest_ns += rest_of(machine) * ns;
	machine->late = fmax(machine->late, calls);
	machine->now = until;
	cost = (struct recording_cost){calls, calls * machine->own, rest_of(machine) * ns,
				       was ? machine->cpu * ns : 0};
	machine->next = controller_step(controller, until, &cost);
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
	return (machine->calls_ns + machine->rest_ns) / elapsed(machine) / machine->controller.rate;
}

static double random_between(double low, double high)
{
	return low + (high - low) * (double)rand() / RAND_MAX;
}

TEST(below_the_limit_nothing_is_throttled)
{
	struct machine machine;

	machine_begin(&machine, RATE, LEVELS, 1);
	machine.calls = 0.7 * RATE;
	machine.rest = 0.25 * RATE;
	run(&machine, 3600);
	CHECK_EQ(machine.changes, 0);
	CHECK_EQ(machine.traced, machine.now - machine.begin);
}

TEST(a_short_recording_is_complete)
{
	struct machine machine;

	machine_begin(&machine, RATE, LEVELS, 2);
	machine.calls = 0.5 * RATE;
	machine.rest = 1.2 * RATE;
	run(&machine, 40);
	CHECK_EQ(machine.changes, 0);
	CHECK_EQ(machine.traced, machine.now - machine.begin);
	/* The first names that are found cost some tenths of a second of CPU time. */
	machine_begin(&machine, RATE, LEVELS, 2);
	machine.rest = 0.2;
	run(&machine, 2);
	machine.rest = 0.9 * RATE;
	run(&machine, 600);
	CHECK_EQ(machine.changes, 0);
}

TEST(a_burst_of_calls_is_traced_for_a_minutes_worth)
{
	struct machine machine;

	machine_begin(&machine, RATE, 0, 3);
	machine.calls = 0.96;
	while (machine.controller.tracing)
		step_late(&machine, 0);
	CHECK(machine.calls_ns > BURST * RATE * 1e9 && machine.calls_ns < 75 * RATE * 1e9);
}

TEST(a_flood_is_traced_in_windows_that_hold_the_limit)
{
	static const double cpus[] = {0.3, 0.96, 2};

	for (int i = 0; i < 3; i++) {
		struct machine machine;

		machine_begin(&machine, RATE, 0, 4);
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

		machine_begin(&machine, rates[i], 0, 5);
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

	machine_begin(&machine, RATE, 0, 6);
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
	CHECK(longest > 2 * shortest && longest < 30 * shortest);
}

/* With floods, pauses, bursts and steps that come late; what is used at once is the exception. */
TEST(the_limit_holds_for_any_loads)
{
	uint64_t windows = 0;

	for (unsigned seed = 1; seed <= 200; seed++) {
		struct machine machine;
		double rate, most;

		srand(seed);
		rate = random_between(0.0001, 0.5);
		machine_begin(&machine, rate, 0, seed);
		for (int i = 0; i < 20000; i++) {
			if (rand() % 50 == 0)
				machine.calls = rand() % 3 ? random_between(0, 2)
							   : random_between(0, rate);
			if (rand() % 80 == 0)
				machine.rest = random_between(0, rate * 0.875);
			step_late(&machine, rand() % 20 ? 0 : (uint64_t)random_between(0, 0.5e9));
			most = rate * (elapsed(&machine) + (75 + DEBT) * SECOND);
			CHECK(machine.calls_ns + machine.rest_ns <= most + machine.late);
		}
		windows += machine.windows;
	}
	CHECK(windows > 200 * 10);
}

TEST(calls_have_what_the_rest_leaves_but_an_eighth_in_any_case)
{
	for (double rest = 0; rest <= 3; rest += 0.25) {
		struct machine machine;

		machine_begin(&machine, RATE, 0, 7);
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

	machine_begin(&machine, RATE, 0, 17);
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

	machine_begin(&machine, RATE, 0, 8);
	machine.calls = 1;
	run(&machine, 10);
	while (!machine.controller.tracing)
		step_late(&machine, 0);
	count_anew(&machine);
	step_late(&machine, 2 * SECOND);
	CHECK(!machine.controller.tracing);
	while (!machine.controller.tracing)
		step_late(&machine, 0);
	CHECK(share(&machine) < 1.25);
	CHECK(elapsed(&machine) > 80.0 * SECOND && elapsed(&machine) < 105.0 * SECOND);
}

TEST(when_the_flood_is_over_all_calls_are_traced_again)
{
	struct machine machine;

	machine_begin(&machine, RATE, 0, 9);
	machine.calls = 2;
	run(&machine, 20);
	machine.calls = RATE / 2;
	run(&machine, 30);
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

TEST(no_more_levels_are_taken_than_are_needed)
{
	struct machine machine;

	machine_begin(&machine, RATE, LEVELS, 10);
	for (int level = 0; level < LEVELS; level++)
		machine.kinds[level] = 0.11 * RATE;
	run(&machine, 1000);
	CHECK(machine.controller.level >= 2 && machine.controller.level <= 4);
	CHECK(rest_of(&machine) < RATE);
	machine.rest = 0.5 * RATE;
	run(&machine, 1000);
	CHECK(machine.controller.level >= 7 && machine.controller.level <= 9);
	CHECK(rest_of(&machine) < RATE);
	CHECK_EQ(machine.traced, machine.now - machine.begin);
}

/* Only then totals become estimates. */
TEST(windows_begin_when_all_levels_are_taken)
{
	struct machine machine;

	machine_begin(&machine, RATE, LEVELS, 11);
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

	machine_begin(&machine, RATE, LEVELS, 12);
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

	machine_begin(&machine, RATE, LEVELS, 13);
	for (int level = 0; level < LEVELS; level++)
		machine.kinds[level] = 1.5 * RATE;
	while (machine.changes == 0)
		step_late(&machine, 0);
	run(&machine, 6);
	CHECK_EQ(machine.controller.level, 11);
}

TEST(what_cannot_be_throttled_is_not)
{
	struct machine machine;

	machine_begin(&machine, RATE, 0, 14);
	machine.controller.windows = false;
	controller_begin(&machine.controller, machine.now);
	machine.calls = 2;
	machine.rest = 3 * RATE;
	run(&machine, 100);
	CHECK_EQ(machine.traced, machine.now - machine.begin);
	CHECK_EQ(machine.controller.level, 0);
}

TEST(when_the_load_is_gone_all_is_recorded_again)
{
	struct machine machine;

	machine_begin(&machine, RATE, LEVELS, 15);
	machine.rest = 10 * RATE;
	run(&machine, 300);
	CHECK_EQ(machine.controller.level, 11);
	machine.rest = 0.2 * RATE;
	run(&machine, 100);
	CHECK_EQ(machine.controller.level, 0);
	CHECK(machine.controller.tracing);
}

/* What a level less makes too much again is tried now and then, and the limit holds all the same.
 */
TEST(levels_change_seldom)
{
	struct machine machine;

	machine_begin(&machine, RATE, 1, 16);
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

/* A program that uses one CPU, nearly half of it for being traced. */
TEST(a_program_is_not_slowed_beyond_what_nobody_notices)
{
	struct machine machine;

	machine_begin(&machine, RATE, 0, 1);
	machine.cpu = 1;
	machine.calls = 0.04;
	run(&machine, 10);
	CHECK_EQ(machine.traced, machine.now - machine.begin);
	machine.calls = 0.4;
	count_anew(&machine);
	run(&machine, 10);
	CHECK(machine.windows > 50);
	CHECK(machine.calls_ns < 1.0 * SECOND);
	count_anew(&machine);
	run(&machine, 10);
	CHECK(machine.windows > 50);
	CHECK(share(&machine) * RATE > 0.04 && share(&machine) * RATE < 0.06);
	/* Rare calls again. */
	machine.calls = 0.01;
	run(&machine, 20);
	count_anew(&machine);
	run(&machine, 10);
	CHECK_EQ(machine.traced, machine.now - machine.begin);
}

/* Of a program that makes few calls all are traced, until those of others cost the machine too
 * much. */
TEST(calls_of_others_slow_no_recorded_program)
{
	struct machine machine;

	machine_begin(&machine, RATE, 0, 1);
	machine.cpu = 1;
	machine.calls = 0.2;
	machine.own = 0.01;
	run(&machine, 4);
	CHECK_EQ(machine.traced, machine.now - machine.begin);
	run(&machine, 60);
	CHECK(machine.windows > 5 && !machine.controller.slowing);
	count_anew(&machine);
	run(&machine, 60);
	CHECK(share(&machine) < 1.1);
}

TEST(samples_become_rarer_once_there_are_enough_and_sooner_where_they_cost_too_much)
{
	const struct {
		uint64_t samples;
		double excess;
		unsigned slower;
	} cases[] = {
		{0, 0.5, 0},     {9999, 0.5, 0},     {10000, 0.5, 1}, {14999, 0.5, 1},
		{15000, 0.5, 2}, {20000, 0.5, 3},    {999, 3, 0},     {1000, 3, 2},
		{1000, 1, 0},    {1000, 2, 1},       {1000, 1e9, 3},  {10000, 3, 2},
		{20000, 3, 3},   {UINT64_MAX, 3, 3},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK_EQ(throttle_slower(cases[i].samples, cases[i].excess), cases[i].slower);
}
