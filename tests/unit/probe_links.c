// SPDX-License-Identifier: BSD-2-Clause
/* probe_links.c: which files are attached to which processes, and in which order. */
#include <errno.h>

#include "test.h"

#include "record/kernel/probe_links.h"

static struct probe_links *links;

static int add(uint32_t process, uint64_t user)
{
	return probe_links_add(links, &(struct probe_link){.process = process, .user = user});
}

/* The process that is served, which then holds its link. */
static uint32_t serve(uint64_t now)
{
	uint32_t number = probe_links_next(links, now), process;

	if (number == LINKS_NONE)
		return 0;
	process = probe_links_at(links, number)->process;
	probe_links_hold(links, number, now);
	return process;
}

TEST(users_take_turns)
{
	CHECK_EQ(probe_links_create(&links), 0);
	for (uint32_t i = 1; i <= 100; i++)
		CHECK_EQ(add(i, 1001), 0);
	CHECK_EQ(serve(1), 1);
	CHECK_EQ(add(200, 1002), 0);
	/* Who has waited for nothing has saved nothing up. */
	CHECK_EQ(serve(1), 2);
	CHECK_EQ(serve(1), 200);
	for (uint32_t i = 3; i <= 100; i++)
		CHECK_EQ(serve(1), i);
	CHECK(!probe_links_wait(links));
	probe_links_free(links);
}

TEST(what_may_not_be_tried_yet_keeps_nobody_waiting)
{
	uint32_t number;

	CHECK_EQ(probe_links_create(&links), 0);
	CHECK_EQ(add(1, 1001), 0);
	number = probe_links_next(links, 1);
	probe_links_retry(links, number, 1000);
	CHECK_EQ(add(2, 1001), 0);
	CHECK_EQ(add(3, 1002), 0);
	CHECK_EQ(serve(1) + serve(1), 2 + 3);
	CHECK_EQ(serve(1), 0);
	CHECK(probe_links_wait(links));
	CHECK_EQ(serve(1000), 1);
	probe_links_free(links);
}

TEST(a_user_has_a_quarter_and_root_all)
{
	CHECK_EQ(probe_links_create(&links), 0);
	for (uint32_t i = 1; i <= PROBE_LINKS_MAX / 4; i++)
		CHECK_EQ(add(i, 1001), 0);
	CHECK_EQ(add(10000, 1001), -EUSERS);
	for (uint32_t i = 0; i < PROBE_LINKS_MAX / 4 * 3; i++)
		CHECK_EQ(add(20000 + i, 0), 0);
	CHECK_EQ(add(10000, 0), -EUSERS);
	probe_links_free(links);
}
