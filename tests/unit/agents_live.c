/* SPDX-License-Identifier: BSD-2-Clause */
/* agents_live.c: tests of the table of live samples. */
/* Plain: the address sanitizer takes the addresses that it wants. */
#include "test.h"

#include <pthread.h>
#include <sys/resource.h>

#include "agents/common/live.h"

enum { STEPS = 50000, THREADS = 4 };

static const void *at(uintptr_t address)
{
	return (const void *)address;
}

static void add(uintptr_t address, uint64_t sample)
{
	const struct live live = {sample, sample + 1};

	CHECK(live_reserve(at(address)));
	live_add(at(address), &live);
}

static bool has(uintptr_t address, uint64_t sample)
{
	const struct live taken = live_take(at(address));

	return taken.sample == sample && (!sample || taken.born == sample + 1);
}

TEST(only_blocks_at_or_just_after_a_page_may_be_there)
{
	for (uintptr_t address = 0; address < 3 * LIVE_PAGE; address += 8)
		CHECK_EQ(live_may_have(at(address)),
			 address % LIVE_PAGE == 0 || address % LIVE_PAGE == 16);
}

TEST(a_block_is_taken_once)
{
	add(0x7f0000001000, 7);
	CHECK_EQ(live_sample(at(0x7f0000001000)), 7);
	CHECK(has(0x7f0000001000, 7));
	CHECK_EQ(live_sample(at(0x7f0000001000)), 0);
	CHECK(has(0x7f0000001000, 0));
}

TEST(pages_all_over_the_addresses_of_a_program_are_distinct)
{
	const uintptr_t last = ((uintptr_t)1 << 47) - LIVE_PAGE;

	for (uintptr_t step = LIVE_PAGE; step <= last / 4; step *= 2) {
		add(step, step);
		add(last - step + LIVE_PAGE, step + 2);
	}
	for (uintptr_t step = LIVE_PAGE; step <= last / 4; step *= 2) {
		CHECK(has(step, step));
		CHECK(has(last - step + LIVE_PAGE, step + 2));
	}
}

TEST(an_address_that_no_program_has_is_refused)
{
	CHECK(!live_reserve(at((uintptr_t)1 << 47)) && !live_reserve(at(UINTPTR_MAX << 12)));
	CHECK(has((uintptr_t)1 << 47, 0) && !live_sample(at(UINTPTR_MAX << 12)));
}

#ifndef __SANITIZE_ADDRESS__ /* which needs addresses itself */

TEST(a_block_that_is_not_there_takes_no_memory)
{
	const struct rlimit none = {0, 0};

	CHECK(!setrlimit(RLIMIT_AS, &none));
	CHECK(has(0x550000000000, 0) && !live_sample(at(0x550000000000)));
	CHECK(!live_reserve(at(0x550000000000)));
}

#endif

/* --- several threads ------------------------------------------------------------ */

static uintptr_t shared[64];
static uint64_t pages;

/* A page of its own, in one of 64 leaves that several threads are the first to use. */
static uintptr_t new_page(void)
{
	uint64_t n = __atomic_fetch_add(&pages, 1, __ATOMIC_RELAXED);

	return (1 + n % 64) << 24 | n / 64 << 12;
}

static void *exchange(void *seed)
{
	uint64_t state = *(const uint64_t *)seed;

	for (int i = 0; i < STEPS; i++) {
		uintptr_t address = new_page(), other;

		add(address, address);
		other = __atomic_exchange_n(&shared[test_random(&state) % 64], address,
					    __ATOMIC_ACQ_REL);
		CHECK(!other || has(other, other));
	}
	return NULL;
}

TEST(threads_take_each_others_blocks)
{
	uint64_t seeds[THREADS], seed = test_seed();
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++) {
		seeds[i] = seed + (uint64_t)i;
		CHECK(!pthread_create(&threads[i], NULL, exchange, &seeds[i]));
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}
