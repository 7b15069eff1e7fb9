/* SPDX-License-Identifier: BSD-2-Clause */
/* quota.c: tests of budgets that are divided among users, and of queues in which they take turns.
 */
#include "test.h"

#include "record/store/facts.h"
#include "util/process_quota.h"
#include "util/quota.h"
#include "util/turns.h"

enum { HOG = 1001, HONEST = 1002, LATE = 1003 };

static size_t take_all(struct quota *quota, uint32_t user)
{
	size_t n = 0;

	while (quota_take(quota, user, 1))
		n++;
	return n;
}

static uint64_t refused(uint32_t wanted)
{
	size_t cursor = 0;
	uint32_t user;
	uint64_t count;

	while (quota_refused(&cursor, &user, &count))
		if (user == wanted)
			return count;
	return 0;
}

TEST(a_user_who_takes_all_leaves_a_quarter_and_only_that_user_is_refused)
{
	struct quota quota = {.most = 1024};

	CHECK_EQ(take_all(&quota, HOG), 768);
	CHECK(quota_take(&quota, HONEST, 100));
	CHECK_EQ(refused(HOG), 1);
	CHECK_EQ(refused(HONEST), 0);
	CHECK_EQ(quota_largest(&quota), HOG);
	CHECK(take_all(&quota, LATE) > 100);
	CHECK(quota.used <= quota.most);
	quota_return(&quota, HOG, 768);
	CHECK(quota_take(&quota, HONEST, 300));
	CHECK_EQ(quota_largest(&quota), HONEST);
	quota_free(&quota);
	CHECK_EQ(quota.used, 0);
	CHECK_EQ(take_all(&quota, LATE), 768);
	quota_free(&quota);
}

TEST(users_who_had_more_than_their_share_are_named)
{
	char text[REFUSED_TEXT];

	facts_describe_refused(text);
	CHECK_STR(text, "");
	quota_refuse(HOG);
	quota_refuse(LATE);
	quota_refuse(HOG);
	facts_describe_refused(text);
	CHECK_STR(text, "user 1001: 2, user 1003: 1");
	for (uint32_t user = 0; user < 1000; user++)
		quota_refuse(user);
	facts_describe_refused(text);
	CHECK(strnlen(text, sizeof(text)) < sizeof(text));
}

TEST(whoever_was_served_least_is_next)
{
	struct turns turns = {0};
	struct turn hog[100] = {0}, honest[10] = {0}, *turn;

	CHECK(!turns_take(&turns));
	for (int i = 0; i < 100; i++)
		CHECK_EQ(turns_put(&turns, &hog[i], HOG), 0);
	CHECK(turns_take(&turns) == &hog[0]);
	for (int i = 0; i < 10; i++)
		CHECK_EQ(turns_put(&turns, &honest[i], HONEST), 0);
	turns_charge(&turns, HOG, 2000);
	/* What took so long is made up for; each user's own order stays. */
	for (int i = 0; i < 10; i++) {
		CHECK(turns_take(&turns) == &honest[i]);
		turns_charge(&turns, HONEST, 5);
	}
	/* Who comes back has not saved up turns, and one at a time is no way around. */
	for (int i = 1; i < 100; i++) {
		turn = turns_take(&turns);
		CHECK(turn == &hog[i]);
		turns_charge(&turns, HOG, 2000);
	}
	CHECK(!turns_take(&turns) && !turns.waiting);
	turns_free(&turns);
}

TEST(what_processes_have_counts_for_the_user_who_took_it)
{
	struct process_quota quota;
	size_t taken = 0;

	CHECK_EQ(process_quota_init(&quota, 400), 0);
	while (process_quota_take(&quota, taken % 7, HOG) && taken < 1000)
		taken++;
	CHECK_EQ(taken, 300);
	CHECK(!process_quota_take(&quota, 8, HOG));
	CHECK(process_quota_take(&quota, 9, HONEST));
	/* A process that becomes another user's has paid with what it was. */
	CHECK(!process_quota_take(&quota, 3, HONEST));
	process_quota_return(&quota, 3, 1000);
	CHECK(process_quota_take(&quota, 3, HONEST));
	CHECK_EQ(quota_used(&quota.quota, HONEST), 2);
	process_quota_return(&quota, 8, 1); /* which has nothing */
	process_quota_free(&quota);
}

TEST(one_request_at_a_time_gains_nothing)
{
	struct turns turns = {0};
	struct turn hog = {0}, honest[10] = {0};
	size_t served = 0;

	for (int i = 0; i < 10; i++)
		CHECK_EQ(turns_put(&turns, &honest[i], HONEST), 0);
	CHECK_EQ(turns_put(&turns, &hog, HOG), 0);
	while (turns.waiting) {
		struct turn *turn = turns_take(&turns);

		served += turn == &hog;
		turns_charge(&turns, turn->user, turn == &hog ? 2000 : 5);
		if (turn == &hog && turns.waiting)
			CHECK_EQ(turns_put(&turns, &hog, HOG), 0);
	}
	CHECK_EQ(served, 2);
	turns_free(&turns);
}
