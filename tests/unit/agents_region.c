/* SPDX-License-Identifier: BSD-2-Clause */
/* agents_region.c: tests of the region of sampled blocks. */
/* Plain: the address sanitizer takes the addresses that it wants. */
#include "test.h"

#include <pthread.h>
#include <sys/resource.h>

#include "agents/common/region.h"

enum { BLOCKS = 512, STEPS = 100000, THREADS = 4 };

static char *get(size_t size, size_t alignment)
{
	bool zeroed;
	char *place = region_alloc(size, alignment, &zeroed);

	CHECK(place);
	CHECK(region_has(place) && region_has(place + size - 1));
	CHECK_EQ(region_block(place)->size, size);
	CHECK_EQ((uintptr_t)place % (alignment ? alignment : 16), 0);
	if (zeroed)
		CHECK(!place[0] && !place[size - 1]);
	return place;
}

TEST(nothing_is_in_a_region_that_is_not_there)
{
	int local;

	CHECK(!region_has(NULL) && !region_has(&local) && !region_has((void *)UINTPTR_MAX));
}

TEST(blocks_have_their_size_and_alignment)
{
	CHECK(!region_create());
	for (size_t size = 1; size <= (size_t)1 << 34; size *= 3)
		for (size_t alignment = 0; alignment <= 1 << 21;
		     alignment = alignment ? alignment * 8 : 8) {
			char *place = get(size, alignment);

			CHECK(region_room(place) >= size);
			CHECK(region_free(place));
		}
}

TEST(an_address_that_is_no_block_has_none)
{
	char *place;

	CHECK(!region_create());
	place = get(1000, 0);
	CHECK(region_block(place) && !region_block(place + 1) && !region_block(place + 1024));
	CHECK(!region_block((char *)region_span.start) && !region_block(place - 1024));
	CHECK(region_free(place));
	CHECK(!region_block(place));
	CHECK(!region_free(place));
}

/* Large ones go back to the system, and read as zero when they are used again. */
TEST(freed_memory_is_used_again_and_known_to_be_zero_or_not)
{
	const size_t sizes[] = {100, 100000, (size_t)1 << 20, (size_t)100 << 20};

	CHECK(!region_create());
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		char *first = get(sizes[i], 0), *again;
		bool zeroed;

		memset(first, 1, sizes[i]);
		CHECK(region_free(first));
		again = region_alloc(sizes[i], 0, &zeroed);
		CHECK(again == first);
		CHECK_EQ(zeroed, sizes[i] > REGION_KEPT_MAX);
		CHECK_EQ(again[0], !zeroed);
		CHECK(region_free(again));
	}
}

#ifndef __SANITIZE_ADDRESS__ /* which needs terabytes of addresses itself */

TEST(a_limit_of_addresses_leaves_most_to_the_program)
{
	const struct rlimit limit = {(rlim_t)4 << 30, (rlim_t)4 << 30};
	bool zeroed;

	CHECK(!setrlimit(RLIMIT_AS, &limit));
	CHECK(!region_create());
	CHECK(region_span.size && region_span.size <= limit.rlim_cur / 16);
	CHECK(region_free(get(100000, 0)));
	CHECK(!region_alloc((size_t)1 << 30, 0, &zeroed));
}

TEST(no_region_is_made_where_there_is_no_room)
{
	const struct rlimit limit = {(rlim_t)256 << 20, (rlim_t)256 << 20};
	bool zeroed;

	CHECK(!setrlimit(RLIMIT_AS, &limit));
	CHECK(region_create());
	CHECK(!region_has(&zeroed) && !region_alloc(100, 0, &zeroed));
}

#endif

TEST(a_class_that_is_full_gives_nothing_until_a_block_is_freed)
{
	const size_t size = (size_t)1 << 37; /* the largest class has three */
	char *places[8];
	bool zeroed;
	int n = 0;

	CHECK(!region_create());
	while (n < 8 && (places[n] = region_alloc(size, 0, &zeroed)))
		n++;
	CHECK(n > 0 && n < 8);
	CHECK(region_free(places[0]));
	CHECK(region_alloc(size, 0, &zeroed) == places[0]);
}

/* --- several threads ------------------------------------------------------------ */

static char *shared[BLOCKS];

/* Whoever takes a block out of the array frees it: it still has what its owner wrote. */
static void exchange(uint64_t *state)
{
	size_t size = 64 + test_random(state) % 5000, at = test_random(state) % BLOCKS;
	bool zeroed;
	char *place = region_alloc(size, 0, &zeroed);

	/* The lock may be held for long. */
	if (place) {
		memcpy(place, &size, sizeof(size));
		memset(place + sizeof(size), (char)size, size - sizeof(size));
	}
	place = __atomic_exchange_n(&shared[at], place, __ATOMIC_ACQ_REL);
	if (!place)
		return;
	memcpy(&size, place, sizeof(size));
	CHECK_EQ(region_block(place)->size, size);
	for (size_t i = sizeof(size); i < size; i++)
		CHECK_EQ(place[i], (char)size);
	CHECK(region_free(place));
}

static void *exchange_blocks(void *seed)
{
	uint64_t state = *(const uint64_t *)seed;

	for (int i = 0; i < STEPS / 10; i++)
		exchange(&state);
	return NULL;
}

TEST(threads_free_each_others_blocks)
{
	uint64_t seeds[THREADS], seed = test_seed();
	pthread_t threads[THREADS];

	CHECK(!region_create());
	for (int i = 0; i < THREADS; i++) {
		seeds[i] = seed + (uint64_t)i;
		CHECK(!pthread_create(&threads[i], NULL, exchange_blocks, &seeds[i]));
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}
