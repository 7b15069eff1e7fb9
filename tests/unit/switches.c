/* SPDX-License-Identifier: BSD-2-Clause */
/* switches.c: which periods fit the ceiling on samples a second, and how ours are known again. */
#include "test.h"
#include "record/target/switches.h"
#include "runtimes/runtime.h"
#include "util/period_mark.h"

enum { BASE = 512 << 10 };

TEST(the_period_is_doubled_until_samples_fit_the_ceiling)
{
	CHECK_EQ(switches_period(BASE, BASE, 2100, 2000), BASE);
	CHECK_EQ(switches_period(BASE, BASE, 2300, 2000), 2 * BASE);
	CHECK_EQ(switches_period(BASE, BASE, 10000, 2000), 8 * BASE);
	CHECK_EQ(switches_period(2 * BASE + 1, BASE, 4500, 2000), 8 * BASE + 4);
	CHECK_EQ(switches_period(BASE, BASE, 1e12, 1), 64 * BASE);
}

TEST(it_is_halved_far_below_the_ceiling_and_never_below_its_base)
{
	CHECK_EQ(switches_period(8 * BASE, BASE, 900, 2000), 8 * BASE);
	CHECK_EQ(switches_period(8 * BASE, BASE, 700, 2000), 4 * BASE);
	CHECK_EQ(switches_period(8 * BASE, BASE, 0, 2000), 4 * BASE);
	CHECK_EQ(switches_period(BASE + 1, BASE, 0, 2000), BASE);
	CHECK_EQ(switches_period(BASE, BASE, 0, 2000), BASE);
}

TEST(periods_of_gcprof_are_known_by_their_mark)
{
	CHECK_EQ(runtime_mark(BASE), BASE + 1);
	CHECK_EQ(runtime_mark(runtime_mark(BASE)), BASE + 1);
	CHECK_EQ(runtime_mark(100), 65);
	CHECK(runtime_is_marked(runtime_mark(64)) && runtime_is_marked(BASE + 1));
	CHECK(!runtime_is_marked(BASE) && !runtime_is_marked(0) && !runtime_is_marked(1) &&
	      !runtime_is_marked(4096));
}
