/* SPDX-License-Identifier: BSD-2-Clause */
/* names.c: tests of the names of processes that fork. */
#include "record/world/names.h"
#include "test.h"

#include <errno.h>

static size_t used;
static struct names_share share = {.total = &used};

static int set(struct names **names, uint64_t number, uint64_t line)
{
	const struct name_key key = {GCPROF_NAME_CODE, number};
	const struct name name = {"a name", "a file", 6, 6, line};

	return names_set(names, &share, key, &name);
}

/* The line of a function; 0: it has no name. */
static uint64_t line_of(const struct names *names, uint64_t number)
{
	const struct name_key key = {GCPROF_NAME_CODE, number};
	struct name name;

	return names_get(names, key, &name) ? name.line : 0;
}

/* Bytes that one name takes, alone in its table. */
static size_t bytes_of_one(void)
{
	struct names *names = NULL;
	size_t bytes;

	CHECK_EQ(set(&names, 1, 1), 0);
	bytes = names_bytes(names);
	CHECK_EQ(used, bytes);
	names_release(names);
	CHECK_EQ(used, 0);
	return bytes;
}

enum { NAMES = 2000, FORKS = 300 };

/* Each child and its parent announce a name after the fork. All are alive, so each copy of a name
 * would count. */
TEST(a_fork_does_not_copy_the_names_before_it)
{
	struct names *parent = NULL, *children[FORKS];
	size_t one = bytes_of_one();

	for (uint64_t i = 1; i <= NAMES; i++)
		CHECK_EQ(set(&parent, i, i), 0);
	CHECK_EQ(used, NAMES * one);
	for (uint64_t i = 0; i < FORKS; i++) {
		children[i] = names_share(parent);
		CHECK_EQ(set(&children[i], NAMES + 1, 10 + i), 0);
		CHECK_EQ(set(&parent, NAMES + 2 + i, 1), 0);
	}
	/* Layers that became crowded were united, a few times each. */
	CHECK(used < (NAMES + 10 * FORKS) * one);
	for (uint64_t i = 0; i < FORKS; i++) {
		CHECK_EQ(line_of(children[i], NAMES), NAMES);
		CHECK_EQ(line_of(children[i], NAMES + 1), 10 + i);
		CHECK_EQ(line_of(children[i], NAMES + 2 + i), 0);
		CHECK(i == 0 || line_of(children[i], NAMES + 1 + i) == 1);
		names_release(children[i]);
	}
	CHECK_EQ(line_of(parent, NAMES + 1), 0);
	names_release(parent);
	CHECK_EQ(used, 0);
}

TEST(what_ended_children_had_is_forgotten)
{
	struct names *parent = NULL, *child;
	size_t one = bytes_of_one();

	for (uint64_t i = 1; i <= NAMES; i++) {
		child = names_share(parent);
		CHECK_EQ(set(&child, i, 7), 0);
		CHECK_EQ(set(&parent, i, i), 0);
		names_release(child);
	}
	CHECK_EQ(set(&parent, NAMES, 1), 0);
	CHECK_EQ(used, NAMES * one);
	CHECK_EQ(names_bytes(parent), NAMES * one);
	CHECK_EQ(line_of(parent, NAMES), 1);
	CHECK_EQ(line_of(parent, 1), 1);
	names_release(parent);
	CHECK_EQ(used, 0);
}

/* Beside tables that copy all. */
TEST(forked_tables_are_like_copies)
{
	enum { TABLES = 12, KEYS = 40 };
	uint64_t lines[TABLES][KEYS] = {{0}}, random = test_seed();
	struct names *tables[TABLES] = {NULL};

	for (int round = 0; round < 20000; round++) {
		size_t table = test_random(&random) % TABLES, other = test_random(&random) % TABLES;
		uint64_t key = test_random(&random) % KEYS, line = 1 + test_random(&random) % 1000;

		if (test_random(&random) % 4 == 0 && table != other) {
			names_release(tables[table]);
			tables[table] = names_share(tables[other]);
			memcpy(lines[table], lines[other], sizeof(lines[table]));
		} else {
			CHECK_EQ(set(&tables[table], key, line), 0);
			lines[table][key] = line;
		}
		for (key = 0; key < KEYS; key++)
			CHECK_EQ(line_of(tables[table], key), lines[table][key]);
	}
	for (size_t i = 0; i < TABLES; i++)
		names_release(tables[i]);
	CHECK_EQ(used, 0);
}

TEST(names_beyond_the_budget_are_refused)
{
	struct names *parent = NULL, *child;
	uint64_t n = 0;
	size_t full;
	int err = 0;

	while (!err)
		err = set(&parent, ++n, 1);
	CHECK_EQ(err, -EOVERFLOW);
	full = used;
	CHECK(full <= NAMES_BUDGET);
	child = names_share(parent);
	CHECK_EQ(set(&child, n + 1, 1), -EOVERFLOW);
	CHECK_EQ(used, full);
	names_release(child);
	names_release(parent);
	CHECK_EQ(used, 0);
}
