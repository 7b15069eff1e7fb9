/* SPDX-License-Identifier: BSD-2-Clause */
/* cross_check.c: tests of how two walks of one stack are compared. */
#include "test.h"

#include "record/store/cross_check.h"

static struct event_native walked_frames[8];
static struct walked_stack walked;
static struct stack_walk copied;

/* Stacks of functions that are letters, innermost first. */
static enum cross_check_class compare(const char *by_kernel, uint32_t kernel_quality,
				      const char *by_copy, uint32_t copy_quality, size_t *at)
{
	walked = (struct walked_stack){walked_frames, strlen(by_kernel), kernel_quality, false};
	for (size_t i = 0; i < walked.count; i++)
		walked_frames[i] = (struct event_native){(uint64_t)by_kernel[i], 0};
	copied.count = (unsigned)strlen(by_copy);
	copied.quality = copy_quality;
	for (size_t i = 0; i < copied.count; i++)
		copied.frames[i] = (struct event_native){(uint64_t)by_copy[i], 16};
	return cross_check_compare(&walked, &copied, at);
}

TEST(classes)
{
	size_t at;

	CHECK_EQ(compare("abc", 0, "abc", 0, &at), CROSS_SAME);
	CHECK_EQ(at, 3);
	CHECK_EQ(compare("abc", STACK_USER_END, "abc", 0, &at), CROSS_SAME);
	CHECK_EQ(compare("abc", 0, "abd", 0, &at), CROSS_DIFFERENT);
	CHECK_EQ(at, 2);
	CHECK_EQ(compare("abc", 0, "ab", 0, &at), CROSS_FURTHER);
	CHECK_EQ(compare("ab", 0, "abc", 0, &at), CROSS_SHORTER);
	CHECK_EQ(compare("abc", 0, "ab", STACK_USER_CUT, &at), CROSS_CUT);
	CHECK_EQ(compare("ab", STACK_USER_CUT, "abc", 0, &at), CROSS_CUT);
	/* Cut or not, what both have must be the same. */
	CHECK_EQ(compare("abc", 0, "ax", STACK_USER_CUT, &at), CROSS_DIFFERENT);
	CHECK_EQ(compare("axc", STACK_USER_GUESSED, "abc", 0, &at), CROSS_GUESSED);
	CHECK_EQ(compare("abc", STACK_USER_GUESSED, "abc", 0, &at), CROSS_SAME);
	CHECK_EQ(compare("", STACK_USER_FAILED, "abc", 0, &at), CROSS_SHORTER);
	CHECK_EQ(at, 0);
}
