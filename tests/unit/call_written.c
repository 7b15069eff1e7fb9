// SPDX-License-Identifier: BSD-2-Clause
/* call_written.c: tests of what is added to the totals of a call. */
#include <stdlib.h>

#include "record/store/counters.h"
#include "test.h"

TEST(first_totals_are_all_new)
{
	struct syscall_total total = {.count = 2, .max_ns = 7}, none = {.count = 0};

	CHECK(call_written_subtract(NULL, &total));
	CHECK_EQ(total.count, 2);
	CHECK_EQ(total.max_ns, 7);
	CHECK(!call_written_subtract(NULL, &none));
}

/* Counts wrap around in a long recording; the longest is known if it is new. */
TEST(totals_are_what_was_added)
{
	struct syscall_total before = {.count = 9,
				       .errors = 3,
				       .total_ns = 900,
				       .max_ns = 500,
				       .gc_count = 2,
				       .gc_ns = 20,
				       .waits = 4,
				       .wait_ns = 40,
				       .wait_max = 30,
				       .histogram = {[5] = 1, [9] = UINT32_MAX, [12] = 8}};
	struct syscall_total after = before, longer;
	struct call_written *written = call_written_of(&before);

	CHECK(!call_written_subtract(written, &after));
	after.count += 5;
	after.errors += 1;
	after.total_ns += 70;
	after.gc_count += 1;
	after.gc_ns += 6;
	after.waits += 2;
	after.wait_ns += 11;
	after.histogram[2] = 3;
	after.histogram[9] = 1;
	longer = after;
	longer.max_ns = 501;
	longer.wait_max = 31;
	longer.histogram[SYSCALL_BUCKETS - 1] = 1;
	CHECK(call_written_subtract(written, &after));
	CHECK_EQ(after.count, 5);
	CHECK_EQ(after.errors, 1);
	CHECK_EQ(after.total_ns, 70);
	CHECK_EQ(after.gc_count, 1);
	CHECK_EQ(after.gc_ns, 6);
	CHECK_EQ(after.waits, 2);
	CHECK_EQ(after.wait_ns, 11);
	CHECK_EQ(after.histogram[2], 3);
	CHECK_EQ(after.histogram[5], 0);
	CHECK_EQ(after.histogram[9], 2);
	CHECK_EQ(after.histogram[12], 0);
	CHECK_EQ(after.max_ns, syscall_bucket_floor(9));
	CHECK_EQ(after.wait_max, 0);
	CHECK(call_written_subtract(written, &longer));
	CHECK_EQ(longer.max_ns, 501);
	CHECK_EQ(longer.wait_max, 31);
	CHECK_EQ(longer.histogram[SYSCALL_BUCKETS - 1], 1);
	free(written);
}

/* A call that waits takes time and does not end. */
TEST(time_without_a_call_is_new)
{
	struct syscall_total total = {.total_ns = 5};
	struct call_written *written = call_written_of(&total);

	CHECK(!call_written_subtract(written, &total));
	total.total_ns = 8;
	CHECK(call_written_subtract(written, &total));
	CHECK_EQ(total.total_ns, 3);
	CHECK_EQ(total.count, 0);
	CHECK_EQ(total.max_ns, 0);
	free(written);
}
