/* SPDX-License-Identifier: BSD-2-Clause */
/* agents_kept.c: tests of blocks that are kept for the next samples. */
#include "test.h"

#include <malloc.h>

#include "agents/common/kept.h"

static void *page(size_t size)
{
	void *block;

	CHECK(!posix_memalign(&block, LIVE_PAGE, kept_size(size)) && live_reserve(block));
	return block;
}

TEST(a_kept_block_serves_the_size_that_it_had)
{
	for (size_t size = 0; size <= 256 << 10; size += size / 7 + 1) {
		void *block = page(size);

		CHECK(kept_size(size) >= size && kept_size(size) <= size + size / 4 + 64);
		CHECK(!kept_take(size, 0) && kept_put(block));
		CHECK_EQ(live_sample(block), KEPT_SAMPLE);
		CHECK(kept_take(size, 16) == block);
		CHECK_EQ(live_sample(block), 0);
		free(block);
	}
}

TEST(a_block_that_is_large_or_lies_elsewhere_is_not_kept)
{
	char *large = page(1 << 20);

	CHECK(!kept_put(large) && !live_sample(large));
	CHECK_EQ(kept_size(1 << 20), 1 << 20);
	free(large);
	large = page(LIVE_PAGE * 2);
	CHECK(kept_put(large) && !kept_take(LIVE_PAGE * 2, LIVE_PAGE * 2));
	CHECK(kept_take(LIVE_PAGE * 2, LIVE_PAGE) == large);
	free(large);
}

TEST(a_kept_block_serves_no_larger_size)
{
	for (size_t size = 1; size < 1 << 19; size += size / 7 + 1) {
		void *block = page(size);
		size_t usable = malloc_usable_size(block);

		if (kept_put(block))
			for (size_t more = 1; more < usable; more *= 2)
				CHECK(!kept_take(usable + more, 0));
		if (live_sample(block))
			CHECK(kept_take(usable < 256 << 10 ? size : 256 << 10, 0) == block);
		free(block);
	}
}

TEST(a_few_blocks_of_a_size_are_kept)
{
	void *blocks[100];
	int kept = 0;

	for (int i = 0; i < 100; i++)
		blocks[i] = page(1000);
	for (int i = 0; i < 100; i++)
		if (kept_put(blocks[i]))
			kept++;
		else
			CHECK(!live_sample(blocks[i]));
	CHECK(kept > 1 && kept < 50);
	for (int i = 0; i < kept; i++)
		CHECK(kept_take(1000, 0));
	CHECK(!kept_take(1000, 0));
	for (int i = 0; i < 100; i++)
		free(blocks[i]);
}
