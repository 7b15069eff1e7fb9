/* SPDX-License-Identifier: BSD-2-Clause */
/* duty.c: tests of when waits are traced: what that costs on average, and that little is free. */
#include "record/throttle/throttle.h"
#include "test.h"

enum { MS = 1000000, STEP = 20 * MS };

/* Runs for these seconds with this cost while on, in ns per ns. Returns the time on, as a share. */
static double run(struct duty *duty, double cost, int seconds)
{
	uint64_t now = duty->time, end = now + (uint64_t)seconds * 1000 * MS, begin = now, on = 0;

	while (now < end) {
		uint64_t next = duty_next(duty, now + STEP), passed = next - now;

		on += duty->on ? passed : 0;
		now = next;
		duty_step(duty, now, duty->on ? cost * (double)passed : 0);
	}
	return (double)on / (double)(now - begin);
}

TEST(what_costs_little_is_always_on)
{
	struct duty duty = {.allowed = 0.03, .free = 25.0 * MS};

	duty_begin(&duty, MS);
	CHECK(run(&duty, 0.02, 20) == 1);
	CHECK_EQ(duty.off_ns, 0);
}

TEST(what_costs_more_costs_its_share)
{
	for (double cost = 0.05; cost < 2; cost *= 2) {
		struct duty duty = {.allowed = 0.03, .free = 25.0 * MS};
		double share;

		duty_begin(&duty, MS);
		run(&duty, cost, 10);
		share = run(&duty, cost, 200) * cost;
		if (share < 0.015 || share > 0.033)
			test_fail(__FILE__, __LINE__, "%.2f costs %.3f", cost, share);
		/* It is on again soon after the flood. */
		run(&duty, 0.001, 30);
		CHECK(run(&duty, 0.001, 5) == 1);
	}
}

TEST(a_burst_at_first_is_free)
{
	struct duty duty = {.allowed = 0.03, .free = 25.0 * MS};

	duty_begin(&duty, MS);
	duty_step(&duty, MS + 100 * MS, 20.0 * MS);
	CHECK(duty.on);
	duty_step(&duty, MS + 200 * MS, 20.0 * MS);
	CHECK(!duty.on);
}
