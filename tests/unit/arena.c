/* SPDX-License-Identifier: BSD-2-Clause */
/* arena.c: tests of growing arrays and of tables with dense ids. */
#include "test.h"

#include <errno.h>

#include "model/world/arena.h"

/* Every item that was ever made room for keeps its value, and new ones are zero. */
TEST(big_tables_keep_their_items_while_they_grow)
{
	uint64_t *items = NULL;
	size_t capacity = 0, seen = 0;

	for (size_t count = 0; count < 6000000; count += 1 + count / 5) {
		CHECK_EQ(big_reserve(&items, &capacity, count, sizeof(*items)), 0);
		CHECK(capacity > count);
		for (size_t i = seen; i < capacity; i++) {
			CHECK_EQ(items[i], 0);
			items[i] = i + 1;
		}
		seen = capacity;
		for (size_t i = 0; i < seen; i += 1 + seen / 100)
			CHECK_EQ(items[i], i + 1);
	}
	CHECK_EQ(big_reserve(&items, &capacity, SIZE_MAX / 2, sizeof(*items)), -ENOMEM);
	CHECK_EQ(items[seen - 1], seen);
	big_free(items, capacity, sizeof(*items));
}

TEST(ids_far_beyond_the_defined_ones_are_refused)
{
	struct dense dense = {.item_size = 4};

	CHECK(!dense_define(&dense, 0));
	CHECK(dense_define(&dense, 1));
	CHECK(dense_define(&dense, 60000));
	CHECK(!dense_define(&dense, 1 << 20));
	CHECK_EQ(errno, EBADMSG);
	CHECK(dense_get(&dense, 30000));
	CHECK(!dense_get(&dense, 60001));
	dense_free(&dense);
}
