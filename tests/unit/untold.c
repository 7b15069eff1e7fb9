/* SPDX-License-Identifier: BSD-2-Clause */
/* untold.c: processes that are met by what they do are visited once, with their earliest event. */
#include "test.h"

#include "record/world/untold.h"

struct visits {
	unsigned count;
	uint32_t process, pid;
	uint64_t time;
};

static void visit(void *context, uint32_t process, uint32_t pid, uint64_t time)
{
	struct visits *visits = context;

	visits->count++;
	visits->process = process;
	visits->pid = pid;
	visits->time = time;
}

static void meet(struct untold *untold, uint32_t process, uint64_t time)
{
	const struct event_header event = {.process = process, .pid = process + 1000, .time = time};

	CHECK_EQ(untold_met(untold, &event), 0);
}

TEST(the_earliest_event_counts_once_it_is_old_enough)
{
	struct visits visits = {0};
	struct untold *untold;

	CHECK_EQ(untold_create(&untold), 0);
	meet(untold, 7, 300);
	meet(untold, 7, 100);
	meet(untold, 7, 200);
	untold_judge(untold, 100, visit, &visits);
	CHECK_EQ(visits.count, 0);
	untold_judge(untold, 101, visit, &visits);
	CHECK_EQ(visits.count, 1);
	CHECK_EQ(visits.process, 7);
	CHECK_EQ(visits.pid, 1007);
	CHECK_EQ(visits.time, 100);
	meet(untold, 7, 50);
	untold_judge(untold, UINT64_MAX, visit, &visits);
	CHECK_EQ(visits.count, 1);
	untold_free(untold);
}

TEST(those_that_are_too_young_wait_in_any_order)
{
	struct visits visits = {0};
	struct untold *untold;

	CHECK_EQ(untold_create(&untold), 0);
	for (uint32_t process = 1; process <= 1000; process++)
		meet(untold, process * 131, process % 2 ? 10 : 20);
	untold_judge(untold, 15, visit, &visits);
	CHECK_EQ(visits.count, 500);
	for (uint32_t process = 1; process <= 1000; process++)
		meet(untold, process * 131, 5);
	untold_judge(untold, 6, visit, &visits);
	CHECK_EQ(visits.count, 1000);
	CHECK_EQ(visits.time, 5);
	untold_judge(untold, UINT64_MAX, visit, &visits);
	CHECK_EQ(visits.count, 1000);
	untold_free(untold);
}

TEST(what_names_no_process_is_nobodys)
{
	struct visits visits = {0};
	struct untold *untold;

	CHECK_EQ(untold_create(&untold), 0);
	meet(untold, 0, 1);
	untold_judge(untold, UINT64_MAX, visit, &visits);
	CHECK_EQ(visits.count, 0);
	untold_free(untold);
	untold_free(NULL);
}
