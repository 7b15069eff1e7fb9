// SPDX-License-Identifier: BSD-2-Clause
/* budget.c: tests of the recorder's budget: it is held whatever comes, and not touched below. */
#include <math.h>
#include <stdlib.h>

#include "test.h"
#include "record/throttle/budget.h"

#define SECOND UINT64_C(1000000000)
#define RATE   0.02 /* one percent of two CPUs */

/* A machine on which time passes: what is used depends on whether calls are looked at. */
struct rig {
	struct budget budget;
	uint64_t now, next, begin;
	uint64_t seen;        /* ns during which calls were looked at */
	uint64_t windows;     /* that were opened */
	double calls, others; /* used so far, ns */
	double overshoot;     /* by the worst look that came too late for its window */
	bool open;
};

static void rig_begin(struct rig *rig, double rate, uint64_t seed)
{
	*rig = (struct rig){.now = 5 * SECOND, .begin = 5 * SECOND, .open = true};
	rig->next = rig->now;
	budget_begin(&rig->budget, rate, rig->now, seed);
}

/* One look, `late` ns after it was due, at loads of so many ns in a ns. */
static void rig_look(struct rig *rig, double calls, double others, uint64_t late)
{
	uint64_t until = rig->next + late;
	double elapsed = (double)(until - rig->now);
	struct budget_use use = {.calls = rig->open ? calls * elapsed : 0,
				 .others = others * elapsed};
	bool was = rig->open;

	rig->seen += rig->open ? until - rig->now : 0;
	rig->calls += use.calls;
	rig->others += use.others;
	if (use.calls > rig->overshoot)
		rig->overshoot = use.calls;
	rig->now = until;
	rig->open = budget_look(&rig->budget, rig->now, &use, &rig->next);
	rig->windows += rig->open && !was;
	CHECK(rig->next > rig->now && rig->next - rig->now <= BUDGET_LOOK_NS);
}

static double elapsed(const struct rig *rig)
{
	return (double)(rig->now - rig->begin);
}

static double random_between(double low, double high)
{
	return low + (high - low) * (double)rand() / RAND_MAX;
}

TEST(below_the_budget_every_call_is_looked_at)
{
	struct rig rig;

	rig_begin(&rig, RATE, 1);
	while (elapsed(&rig) < 3600.0 * SECOND) {
		rig_look(&rig, RATE * 0.7, RATE * 0.25, 0);
		CHECK(rig.open);
	}
}

TEST(a_minute_of_the_budget_may_be_used_at_once)
{
	struct rig rig;

	rig_begin(&rig, RATE, 2);
	while (rig.open)
		rig_look(&rig, 0.96, 0, 0);
	/* 1.2 s of CPU time, and what came in meanwhile. */
	CHECK(rig.calls > 1.2 * SECOND && rig.calls < 1.3 * SECOND);
	CHECK(elapsed(&rig) > 1.2 * SECOND && elapsed(&rig) < 1.4 * SECOND);
}

TEST(a_flood_is_looked_at_in_windows_that_hold_the_budget)
{
	struct rig rig;
	double before;

	rig_begin(&rig, RATE, 3);
	while (elapsed(&rig) < 600.0 * SECOND)
		rig_look(&rig, 0.96, RATE * 0.1, 0);
	before = rig.calls;
	rig.begin = rig.now;
	rig.seen = rig.windows = 0;
	while (elapsed(&rig) < 100.0 * SECOND)
		rig_look(&rig, 0.96, RATE * 0.1, 0);
	CHECK(fabs((rig.calls - before) / elapsed(&rig) - RATE * 0.9) < RATE * 0.02);
	CHECK(rig.windows > 350 && rig.windows < 600);
	CHECK(fabs((double)rig.seen / elapsed(&rig) - RATE * 0.9 / 0.96) < 0.002);
}

TEST(gaps_between_windows_are_not_equal)
{
	struct rig rig;
	uint64_t closed = 0, shortest = UINT64_MAX, longest = 0;

	rig_begin(&rig, RATE, 4);
	for (int look = 0; look < 100000; look++) {
		bool was = rig.open;

		rig_look(&rig, 0.96, 0, 0);
		if (was && !rig.open)
			closed = rig.now;
		if (was || !rig.open || !closed)
			continue;
		shortest = rig.now - closed < shortest ? rig.now - closed : shortest;
		longest = rig.now - closed > longest ? rig.now - closed : longest;
	}
	CHECK(longest > 2 * shortest);
	CHECK(longest < 10 * shortest);
}

/* Calls get what the rest leaves, or a quarter; beyond a minute's worth, and one look that came
 * late, they never have more than that, whatever the loads are. */
TEST(the_budget_is_held_for_any_sequence_of_loads)
{
	for (unsigned seed = 1; seed <= 200; seed++) {
		struct rig rig;
		double calls = 0, others = 0, rate, may = 0;
		uint64_t before;

		srand(seed);
		rate = random_between(0.0001, 0.5);
		rig_begin(&rig, rate, seed);
		for (int look = 0; look < 20000; look++) {
			if (rand() % 50 == 0)
				calls = rand() % 3 ? random_between(0, 4) : random_between(0, rate);
			if (rand() % 80 == 0)
				others = rand() % 3 ? random_between(0, rate * 0.7)
						    : random_between(0, rate * 4);
			before = rig.now;
			rig_look(&rig, calls, others,
				 rand() % 20 ? 0 : (uint64_t)random_between(0, 5e8));
			may += (double)(rig.now - before) *
			       fmax(rate - rig.budget.others, rate * BUDGET_CALLS_MIN);
			CHECK(rig.calls <=
			      rate * (double)BUDGET_BURST_NS + may * 1.0001 + rig.overshoot);
		}
		CHECK(rig.calls > 0);
	}
}

TEST(what_the_rest_takes_calls_do_not_get)
{
	for (double share = 0; share <= 2; share += 0.25) {
		struct rig rig;
		double left = fmax(RATE * (1 - share), RATE * BUDGET_CALLS_MIN), before;

		rig_begin(&rig, RATE, 5);
		while (elapsed(&rig) < 600.0 * SECOND)
			rig_look(&rig, 1.5, RATE * share, 0);
		before = rig.calls;
		rig.begin = rig.now;
		while (elapsed(&rig) < 600.0 * SECOND)
			rig_look(&rig, 1.5, RATE * share, 0);
		CHECK(fabs((rig.calls - before) / elapsed(&rig) - left) < RATE * 0.03);
	}
}

/* What is saved up for bursts is given up, and the least for calls is halved. */
TEST(where_all_takes_too_much_calls_have_what_the_rest_leaves_at_once)
{
	for (double share = 0.5; share <= 2; share += 0.25) {
		double left = fmax(RATE * (1 - share), RATE * BUDGET_CALLS_MIN / 2), before;
		struct rig rig;

		rig_begin(&rig, RATE, 8);
		rig_look(&rig, RATE, RATE * share, 0);
		budget_save(&rig.budget, true);
		while (elapsed(&rig) < 5.0 * SECOND)
			rig_look(&rig, RATE, RATE * share, 0);
		before = rig.calls;
		rig.begin = rig.now;
		while (elapsed(&rig) < 60.0 * SECOND)
			rig_look(&rig, RATE, RATE * share, 0);
		CHECK(fabs((rig.calls - before) / elapsed(&rig) - left) < RATE * 0.03);
	}
}

TEST(when_there_is_room_again_all_calls_are_looked_at_and_bursts_saved_up_for)
{
	struct rig rig;

	rig_begin(&rig, RATE, 9);
	budget_save(&rig.budget, true);
	while (elapsed(&rig) < 20.0 * SECOND)
		rig_look(&rig, RATE, RATE, 0);
	CHECK(rig.seen < elapsed(&rig) / 2);
	budget_save(&rig.budget, false);
	while (elapsed(&rig) < 400.0 * SECOND)
		rig_look(&rig, 0, 0, 0);
	rig.begin = rig.now;
	while (elapsed(&rig) < 30.0 * SECOND) {
		rig_look(&rig, 2 * RATE, 0, 0);
		CHECK(rig.open);
	}
}

TEST(when_the_flood_is_over_everything_is_looked_at_again)
{
	struct rig rig;

	rig_begin(&rig, RATE, 6);
	while (elapsed(&rig) < 20.0 * SECOND)
		rig_look(&rig, 2, 0, 0);
	rig.begin = rig.now;
	while (!rig.open)
		rig_look(&rig, RATE / 2, 0, 0);
	CHECK(elapsed(&rig) < 1.0 * SECOND);
	while (elapsed(&rig) < 100.0 * SECOND) {
		rig_look(&rig, RATE / 2, 0, 0);
		CHECK(rig.open);
	}
}

TEST(dear_edges_make_windows_rare)
{
	struct rig rig;

	rig_begin(&rig, RATE, 7);
	budget_edge(&rig.budget, 4e6); /* 4 ms, when 2 ms a second may be used for them */
	while (elapsed(&rig) < 200.0 * SECOND)
		rig_look(&rig, 1, 0, 0);
	CHECK(rig.windows > 70 && rig.windows < 150);
}
