/* SPDX-License-Identifier: BSD-2-Clause */
/* followed.c: samples of runtimes whose outcomes an agent reports. */
#include <errno.h>

#include "record/store/live_objects.h"
#include "test.h"

static struct followed *followed;

static void begin(void)
{
	followed = followed_create();
	CHECK(followed);
}

/* The sample that a name means; 0: none. */
static uint64_t find(uint64_t process, uint64_t name, bool ends)
{
	struct followed_sample sample = {0};

	CHECK_EQ(followed_find(followed, process, name, ends, &sample), sample.sample != 0);
	return sample.sample;
}

TEST(a_name_means_the_last_sample_of_its_thread)
{
	begin();
	CHECK_EQ(followed_taken(followed, 1, 0, 10, 101, 8), 0);
	CHECK_EQ(followed_taken(followed, 1, 0, 11, 102, 8), 0);
	CHECK_EQ(followed_taken(followed, 1, 0, 10, 103, 8), 0);
	CHECK_EQ(followed_taken(followed, 2, 0, 10, 104, 8), 0);
	CHECK_EQ(followed_name(followed, 1, 10, 5), 0);
	CHECK_EQ(followed_name(followed, 1, 11, 6), 0);
	CHECK_EQ(find(1, 5, false), 103);
	CHECK_EQ(find(1, 6, false), 102);
	CHECK_EQ(find(2, 5, false), 0);
	followed_free(followed);
}

TEST(a_sample_has_one_name_and_no_sample_has_none)
{
	begin();
	CHECK_EQ(followed_name(followed, 1, 10, 5), 0);
	CHECK_EQ(find(1, 5, false), 0);
	CHECK_EQ(followed_taken(followed, 1, 0, 10, 101, 8), 0);
	CHECK_EQ(followed_name(followed, 1, 10, 6), 0);
	CHECK_EQ(followed_name(followed, 1, 10, 7), 0);
	CHECK_EQ(find(1, 6, false), 101);
	CHECK_EQ(find(1, 7, false), 0);
	followed_free(followed);
}

TEST(it_ends_once)
{
	begin();
	CHECK_EQ(followed_taken(followed, 1, 0, 10, 101, 8), 0);
	CHECK_EQ(followed_name(followed, 1, 10, 5), 0);
	CHECK_EQ(find(1, 5, false), 101);
	CHECK_EQ(find(1, 5, true), 101);
	CHECK_EQ(find(1, 5, true), 0);
	followed_free(followed);
}

TEST(its_age_is_what_the_process_has_allocated_since)
{
	struct followed_sample sample;

	begin();
	CHECK_EQ(followed_taken(followed, 1, 0, 10, 101, 1000), 0);
	CHECK_EQ(followed_name(followed, 1, 10, 5), 0);
	CHECK_EQ(followed_taken(followed, 1, 0, 11, 102, 200), 0);
	CHECK_EQ(followed_taken(followed, 2, 0, 12, 103, 5000), 0);
	CHECK_EQ(followed_taken(followed, 1, 0, 10, 104, 30), 0);
	CHECK(followed_find(followed, 1, 5, false, &sample));
	CHECK_EQ(sample.age, 230);
	followed_free(followed);
}

TEST(a_process_that_ends_takes_its_samples_along)
{
	begin();
	for (uint32_t process = 1; process <= 2; process++) {
		CHECK_EQ(followed_taken(followed, process, 0, 10, 100 + process, 8), 0);
		CHECK_EQ(followed_name(followed, process, 10, 5), 0);
		CHECK_EQ(followed_taken(followed, process, 0, 10, 200 + process, 8), 0);
	}
	followed_forget(followed, 1);
	CHECK_EQ(find(1, 5, false), 0);
	CHECK_EQ(followed_name(followed, 1, 10, 6), 0);
	CHECK_EQ(find(1, 6, false), 0);
	CHECK_EQ(find(2, 5, false), 102);
	followed_free(followed);
}

/* Of one user, and of others beside it. */
TEST(there_are_not_more_than_fit)
{
	uint32_t tid;
	int err = 0;

	begin();
	for (tid = 1; tid <= FOLLOWED_MAX && !err; tid++)
		err = followed_taken(followed, 1, 0, tid, tid, 8);
	CHECK_EQ(err, -ENOSPC);
	CHECK(tid > FOLLOWED_MAX / 2);
	CHECK_EQ(followed_taken(followed, 2, 0, 1, 1, 8), -ENOSPC);
	CHECK_EQ(followed_taken(followed, 3, 1000, 1, 1, 8), 0);
	/* Those that are there go on. */
	CHECK_EQ(followed_taken(followed, 1, 0, 1, 7, 8), 0);
	CHECK_EQ(followed_name(followed, 1, 1, 5), 0);
	CHECK_EQ(find(1, 5, true), 7);
	/* What ends leaves room. */
	followed_forget(followed, 1);
	CHECK_EQ(followed_taken(followed, 2, 0, 1, 1, 8), 0);
	followed_free(followed);
}
