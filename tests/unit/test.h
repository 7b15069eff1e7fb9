/* SPDX-License-Identifier: BSD-2-Clause */
/* test.h: unit tests: each runs in a process of its own and prints one TAP line. */
/*
 *	TEST(writer_interns_strings)
 *	{
 *		CHECK_EQ(a, b);
 *	}
 *
 * A test binary takes names as arguments and runs those only; -l lists them. A
 * passing test is silent but for its line, a failing one shows all it printed.
 */
#ifndef GCPROF_TEST_H
#define GCPROF_TEST_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct test {
	const char *name;
	void (*run)(void);
	struct test *next;
};

void test_register(struct test *test);

#define TEST(test_name)                                                                   \
	static void test_##test_name(void);                                               \
	static struct test test_entry_##test_name = {#test_name, test_##test_name, NULL}; \
	__attribute__((constructor)) static void test_add_##test_name(void)               \
	{                                                                                 \
		test_register(&test_entry_##test_name);                                   \
	}                                                                                 \
	static void test_##test_name(void)

/* Ends the test as failed, with a sentence. */
_Noreturn void test_fail(const char *file, int line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Ends the test as skipped, with the reason. */
_Noreturn void test_skip(const char *reason);

#define CHECK(condition)                                                 \
	do {                                                             \
		if (!(condition))                                        \
			test_fail(__FILE__, __LINE__, "%s", #condition); \
	} while (0)

#define CHECK_EQ(left, right)                                                                 \
	do {                                                                                  \
		int64_t left_ = (int64_t)(left), right_ = (int64_t)(right);                   \
		if (left_ != right_)                                                          \
			test_fail(__FILE__, __LINE__, "%s is %" PRId64 ", not %s = %" PRId64, \
				  #left, left_, #right, right_);                              \
	} while (0)

#define CHECK_STR(left, right)                                                                  \
	do {                                                                                    \
		const char *left_ = (left), *right_ = (right);                                  \
		if (strcmp(left_, right_))                                                      \
			test_fail(__FILE__, __LINE__, "%s is \"%s\", not \"%s\"", #left, left_, \
				  right_);                                                      \
	} while (0)

/* A seed for random tests: GCPROF_TEST_SEED, or a new one; printed, so it can be given again. */
uint64_t test_seed(void);

/* A generator for tests (splitmix64); *state is the seed at first. */
uint64_t test_random(uint64_t *state);

/* Limits how many descriptors the test may have. Returns the limit before. */
uint64_t test_descriptors(uint64_t most);

#endif
