// SPDX-License-Identifier: BSD-2-Clause
/* own_code.c: tests of who is told apart by the kernel's stack: recording or the program. */
#include "record/kernel/session.h"
#include "test.h"

enum {
	PROGRAM = 0x1000,
	HELPER = 0x100,
	RUN = 0x20,   /* calls programs, */
	TRACE = 0x30, /* calls RUN, */
	ENTRY = 0x40, /* and calls TRACE: all else goes that way, too */
};

#define HAS(own, ...)                                      \
	own_code_has(own, (const uint64_t[]){__VA_ARGS__}, \
		     sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

TEST(programs_and_what_they_call_are_recording)
{
	struct own_code *own;

	CHECK_EQ(own_code_create(&own), 0);
	CHECK(!own_code_is_known(own));
	CHECK(!HAS(own, PROGRAM, RUN, TRACE, ENTRY));
	CHECK_EQ(own_code_add(own, PROGRAM, 16), 0);
	CHECK(own_code_is_known(own));
	CHECK(HAS(own, PROGRAM, RUN, TRACE, ENTRY));
	CHECK(HAS(own, PROGRAM + 15, ENTRY));
	CHECK(HAS(own, HELPER, HELPER, PROGRAM + 8, RUN, TRACE, ENTRY));
	CHECK(HAS(own, PROGRAM));
	CHECK(!HAS(own, PROGRAM - 1, RUN, ENTRY));
	CHECK(!HAS(own, PROGRAM + 17, RUN, ENTRY));
	CHECK(!own_code_has(own, NULL, 0));
	own_code_free(own);
}

TEST(callers_are_known_once_a_stack_showed_them)
{
	struct own_code *own;

	CHECK_EQ(own_code_create(&own), 0);
	CHECK_EQ(own_code_add(own, PROGRAM, 16), 0);
	CHECK(!HAS(own, RUN + 4, TRACE, ENTRY));
	CHECK(HAS(own, HELPER, PROGRAM + 8, RUN, TRACE, ENTRY));
	CHECK(HAS(own, RUN + 4, TRACE, ENTRY));
	CHECK(HAS(own, HELPER, RUN + 8, TRACE, ENTRY));
	CHECK(!HAS(own, HELPER, ENTRY));
	CHECK(!HAS(own, ENTRY));
	own_code_free(own);
}

/* Where a program begins the unwinder misses its caller: what it finds instead is anybody's. */
TEST(callers_of_a_program_that_begins_are_not_believed)
{
	struct own_code *own;

	CHECK_EQ(own_code_create(&own), 0);
	CHECK_EQ(own_code_add(own, PROGRAM, 16), 0);
	CHECK(HAS(own, PROGRAM, TRACE, ENTRY));
	CHECK(!HAS(own, HELPER, ENTRY));
	own_code_free(own);
}
