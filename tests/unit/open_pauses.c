/* SPDX-License-Identifier: BSD-2-Clause */
/* open_pauses.c: tests of how the kernel side pairs begin and end of collections. */
#include <pthread.h>

#include "test.h"

#include "../../bpf/unwind_rows.h"

#include "../../bpf/pauses.h"

static struct process_state state;

static void begin(uint64_t heap, uint32_t thread, uint64_t time)
{
	struct collection begun = {.heap = heap, .thread = thread};

	pauses_begin(&state, &begun, time);
}

static uint32_t end(uint64_t heap, uint64_t time)
{
	struct collection begun;

	pauses_end(&state, heap, time, &begun);
	return begun.heap ? begun.thread : 0;
}

#define CHECK_TIME(now, ns) CHECK_EQ(pauses_time(state.pauses, now), ns)

TEST(an_end_on_any_thread_ends_it)
{
	begin(1, 7, 1000);
	CHECK_TIME(1300, 300);
	CHECK(pauses_are_of(&state, 7) && !pauses_are_of(&state, 8));
	CHECK_EQ(end(1, 1500), 7);
	CHECK_TIME(9000, 500);
	CHECK(!pauses_are_of(&state, 7));
}

TEST(an_end_without_a_begin_is_none)
{
	CHECK_EQ(end(1, 500), 0);
	CHECK_TIME(1000, 0);
	begin(2, 7, 1000);
	CHECK_EQ(end(1, 1100), 0);
	CHECK_EQ(end(2, 1200), 7);
	CHECK_TIME(9000, 200);
}

TEST(time_of_two_heaps_counts_once)
{
	begin(1, 7, 1000);
	begin(2, 8, 1100);
	end(1, 1200);
	CHECK_TIME(1250, 250);
	end(2, 1300);
	begin(1, 7, 2000);
	begin(2, 8, 2100);
	end(2, 2200);
	end(1, 2300);
	CHECK_TIME(9000, 600);
}

TEST(a_lost_end_heals_with_the_next_begin_of_the_heap)
{
	begin(1, 7, 1000);
	begin(1, 8, 5000);
	CHECK(!pauses_are_of(&state, 7));
	CHECK_EQ(end(1, 5100), 8);
	CHECK_TIME(9000, 4100);
}

TEST(a_lost_end_heals_when_its_thread_goes_on)
{
	begin(1, 7, 1000);
	begin(2, 8, 1000);
	pauses_leave(&state, 7, 1100);
	CHECK_TIME(1200, 200);
	pauses_leave(&state, 8, 1300);
	CHECK_TIME(9000, 300);
	begin(3, 7, 10000);
	begin(4, 8, 10000);
	pauses_leave(&state, 0, 10100);
	CHECK_TIME(19000, 400);
}

TEST(more_heaps_than_are_known_take_the_places_of_the_first)
{
	for (uint64_t i = 0; i < COLLECTING_MAX + 3; i++)
		begin(100 + i, 7, 1000 + i);
	CHECK_EQ(end(100, 2000), 0);
	for (uint64_t i = 3; i < COLLECTING_MAX + 3; i++) {
		CHECK_TIME(2000 + i, 1000 + i);
		CHECK_EQ(end(100 + i, 2000 + i), 7);
	}
	CHECK_TIME(9000, 1002 + COLLECTING_MAX);
}

/* Half-way through a change, as another CPU may see it. */
TEST(time_is_right_while_it_changes)
{
	uint64_t pauses, day = UINT64_C(86400000000000);

	begin(1, 7, day);
	end(1, day + 100);
	pauses = state.pauses;
	CHECK_EQ(pauses_time(pauses + 1, day + 500), 100);
	begin(1, 7, day + 1000);
	pauses = state.pauses;
	CHECK_EQ(pauses_time(pauses - 1, day + 1200), 300);
	/* Seen by a CPU whose clock is behind. */
	CHECK_EQ(pauses_time(pauses, day + 800), 0);
}

enum { THREADS = 4, ROUNDS = 20000 };

static void *collect(void *number)
{
	uint64_t heap = (uintptr_t)number;

	for (uint64_t i = 0; i < ROUNDS; i++) {
		begin(heap % 3 + 1, (uint32_t)heap, 1000 + i);
		if (i % 5)
			end(heap % 3 + 1, 1001 + i);
	}
	pauses_leave(&state, (uint32_t)heap, 1000 + ROUNDS);
	return NULL;
}

TEST(whatever_threads_do_at_once_nothing_stays_under_way)
{
	pthread_t threads[THREADS];

	for (uintptr_t i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, collect, (void *)(i + 1)), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	pauses_leave(&state, 0, 1000 + ROUNDS);
	CHECK_EQ(state.pauses & PAUSES_DEPTH, 0);
}
