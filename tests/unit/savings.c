/* SPDX-License-Identifier: BSD-2-Clause */
/* savings.c: tests of what is recorded less of, in which order, and when there is more again. */
#include <errno.h>

#include "test.h"
#include "record/throttle/savings.h"

/* A recording whose events cost what they cost, and become fewer step by step. */
struct fake {
	unsigned step[SAVINGS];
	unsigned changes;
	double share[SAVINGS]; /* that each kind takes without steps */
	double rest;           /* and what cannot be saved */
	int refuses;           /* the kind that cannot be set, or -1 */
};

static struct fake fake;

static int set(enum saving_kind kind, unsigned step)
{
	if (fake.refuses == (int)kind)
		return -EINVAL;
	fake.step[kind] = step;
	fake.changes++;
	return 0;
}

static int set_calls(void *context, unsigned step)
{
	CHECK(context == &fake);
	return set(SAVING_CALLS, step);
}

static int set_samples(void *context, unsigned step)
{
	CHECK(context == &fake);
	return set(SAVING_SAMPLES, step);
}

static int set_ticks(void *context, unsigned step)
{
	CHECK(context == &fake);
	return set(SAVING_TICKS, step);
}

static int set_looks(void *context, unsigned step)
{
	CHECK(context == &fake);
	return set(SAVING_LOOKS, step);
}

/* One that has had its short spell. */
static struct savings begin(double calls, double samples, double ticks, double rest)
{
	fake = (struct fake){.share = {calls, samples, ticks}, .rest = rest, .refuses = -1};
	return (struct savings){.above = SAVINGS_BURST,
				.kinds = {
					[SAVING_CALLS] = {3, 100, 0, set_calls, &fake},
					[SAVING_SAMPLES] = {4, 100, 0, set_samples, &fake},
					[SAVING_TICKS] = {3, 100, 0, set_ticks, &fake},
				}};
}

static double share(void)
{
	double sum = fake.rest;

	for (int kind = 0; kind < SAVINGS; kind++)
		sum += fake.share[kind] / (double)(1u << fake.step[kind]);
	return sum;
}

static void run(struct savings *savings, int looks)
{
	const double events[SAVINGS] = {1000, 1000, 1000, 1000};

	for (int look = 0; look < looks; look++)
		savings_judge(savings, share(), events);
}

TEST(nothing_changes_while_it_takes_what_it_may)
{
	struct savings savings = begin(0.3, 0.3, 0.3, 0.05);

	run(&savings, 100);
	CHECK_EQ(fake.changes, 0);
}

TEST(a_short_spell_above_changes_nothing)
{
	struct savings savings = begin(0.5, 0.5, 0.5, 0);

	savings.above = 0;
	run(&savings, 2 * SAVINGS_BURST);
	CHECK_EQ(fake.changes, 0);
	run(&savings, 1);
	CHECK(fake.changes > 0);
	/* Another one only after it took less for as long. */
	savings = begin(0.5, 0.5, 0.5, 0);
	fake.rest = -1;
	run(&savings, 2);
	fake.rest = 0;
	run(&savings, 2);
	CHECK_EQ(fake.changes, 0);
	run(&savings, 1);
	CHECK(fake.changes > 0);
	/* Of a spell far above, however long ago, no more than that has to be made up for. */
	savings = begin(0, 0, 0, 100);
	run(&savings, 20);
	CHECK(savings.above <= SAVINGS_BURST + 1);
}

TEST(what_loses_least_goes_first)
{
	struct savings savings = begin(0.4, 0.4, 0.4, 0);

	run(&savings, 100);
	CHECK_EQ(fake.step[SAVING_CALLS], 1);
	CHECK_EQ(fake.step[SAVING_SAMPLES], 0);
	savings = begin(0.1, 0.8, 0.4, 0.1);
	run(&savings, 100);
	CHECK_EQ(fake.step[SAVING_CALLS], 3);
	CHECK_EQ(fake.step[SAVING_SAMPLES], 1);
	CHECK_EQ(fake.step[SAVING_TICKS], 0);
	savings = begin(0.1, 0.1, 1.6, 0.1);
	run(&savings, 100);
	CHECK_EQ(fake.step[SAVING_SAMPLES], 4);
	CHECK_EQ(fake.step[SAVING_TICKS], 1);
	CHECK(share() <= 1);
}

TEST(far_above_it_takes_few_looks)
{
	struct savings savings = begin(1, 1, 1, 0.2);

	run(&savings, 4);
	CHECK(share() <= 1);
}

TEST(where_nothing_helps_all_of_it_is_done_and_no_more)
{
	struct savings savings = begin(0, 0, 0, 5);

	run(&savings, 100);
	CHECK_EQ(fake.step[SAVING_CALLS], 3);
	CHECK_EQ(fake.step[SAVING_SAMPLES], 4);
	CHECK_EQ(fake.step[SAVING_TICKS], 3);
	CHECK_EQ(fake.changes, 10);
}

/* A recording that takes so much whatever is saved; all is, but for looks. */
static struct savings begin_saved(double rest)
{
	struct savings savings = begin(0, 0, 0, rest);

	savings.kinds[SAVING_LOOKS] = (struct saving){2, 100, 5, set_looks, &fake};
	for (int look = 0; look < 10; look++)
		run(&savings, 1);
	CHECK_EQ(fake.changes, 10);
	CHECK_EQ(fake.step[SAVING_LOOKS], 0);
	return savings;
}

TEST(what_makes_totals_estimates_is_taken_last_and_only_where_it_lasts)
{
	struct savings savings = begin(0.4, 0.4, 0.4, 0);

	/* Something else helps. */
	savings.kinds[SAVING_LOOKS] = (struct saving){2, 100, 5, set_looks, &fake};
	run(&savings, 100);
	CHECK_EQ(fake.step[SAVING_LOOKS], 0);
	savings = begin_saved(1.2);
	run(&savings, 4);
	CHECK_EQ(fake.step[SAVING_LOOKS], 0);
	run(&savings, 1);
	CHECK_EQ(fake.step[SAVING_LOOKS], 1);
	run(&savings, 4);
	CHECK_EQ(fake.step[SAVING_LOOKS], 1);
	run(&savings, 100);
	CHECK_EQ(fake.step[SAVING_LOOKS], 2);
	/* And comes back first. */
	fake.rest = 0.1;
	while (fake.step[SAVING_LOOKS])
		run(&savings, 1);
	CHECK_EQ(fake.step[SAVING_TICKS], 3);
}

TEST(one_look_at_which_it_took_no_more_begins_anew)
{
	struct savings savings = begin_saved(1.2);

	run(&savings, 4);
	fake.rest = 0.9;
	run(&savings, 1);
	fake.rest = 1.2;
	run(&savings, 4);
	CHECK_EQ(fake.step[SAVING_LOOKS], 0);
	run(&savings, 1);
	CHECK_EQ(fake.step[SAVING_LOOKS], 1);
}

TEST(what_there_is_little_of_is_left_alone)
{
	struct savings savings = begin(1, 1, 1, 1);
	const double few[SAVINGS] = {20, 1000, 20};

	for (int look = 0; look < 20; look++)
		savings_judge(&savings, 3, few);
	CHECK_EQ(fake.step[SAVING_CALLS], 0);
	CHECK_EQ(fake.step[SAVING_SAMPLES], 4);
	CHECK_EQ(fake.step[SAVING_TICKS], 0);
}

TEST(what_is_not_ours_to_decide_stays)
{
	struct savings savings = begin(1, 1, 1, 1);

	savings.kinds[SAVING_CALLS].steps = 0;
	savings.kinds[SAVING_TICKS].steps = 0;
	run(&savings, 20);
	CHECK_EQ(fake.step[SAVING_CALLS], 0);
	CHECK_EQ(fake.step[SAVING_TICKS], 0);
}

TEST(what_cannot_be_done_is_not_tried_again)
{
	struct savings savings = begin(1, 1, 1, 1);

	fake.refuses = SAVING_CALLS;
	run(&savings, 20);
	CHECK_EQ(savings.step[SAVING_CALLS], 0);
	CHECK_EQ(savings.most[SAVING_CALLS], 0);
	CHECK_EQ(fake.step[SAVING_TICKS], 3);
}

TEST(when_the_load_is_gone_all_comes_back)
{
	struct savings savings = begin(1, 1, 1, 0);

	run(&savings, 20);
	CHECK(fake.step[SAVING_CALLS] > 0);
	fake.share[SAVING_CALLS] = fake.share[SAVING_SAMPLES] = fake.share[SAVING_TICKS] = 0.1;
	run(&savings, 200);
	for (int kind = 0; kind < SAVINGS; kind++)
		CHECK_EQ(fake.step[kind], 0);
	CHECK(savings.most[SAVING_CALLS] > 0);
}

TEST(it_does_not_go_to_and_fro)
{
	/* Whatever is taken back makes it too much again: 0.3, or 1.5. */
	struct savings savings = begin(2.4, 0, 0, 0);
	const double events[SAVINGS] = {1000, 0, 0};
	unsigned before;

	savings.kinds[SAVING_CALLS].steps = 1;
	for (int look = 0; look < 1000; look++)
		savings_judge(&savings, fake.step[SAVING_CALLS] ? 0.3 : 1.5, events);
	before = fake.changes;
	CHECK(before < 20);
	for (int look = 0; look < 1000; look++)
		savings_judge(&savings, fake.step[SAVING_CALLS] ? 0.3 : 1.5, events);
	CHECK(fake.changes - before <= 14);
}
