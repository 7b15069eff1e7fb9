// SPDX-License-Identifier: BSD-2-Clause
/* merge.c: tests of the merger: order, equal times, watermarks, late events, memory. */
#include <errno.h>
#include <stdint.h>

#include "test.h"
#include "record/ingest/flow_parts.h"

#define EVENTS_MAX 20000

/* What came out. */
struct outcome {
	uint64_t times[EVENTS_MAX];
	uint32_t tags[EVENTS_MAX]; /* the order of arrival */
	size_t n;
};

static struct outcome outcome;

static void take(const struct event_header *event)
{
	const unsigned char *tail = (const unsigned char *)(event + 1);

	CHECK(outcome.n < EVENTS_MAX);
	/* The copy is whole: each event is filled with a byte of its own. */
	for (size_t i = 0; i < event->size - sizeof(*event); i++)
		CHECK_EQ(tail[i], event->tid % 251);
	outcome.times[outcome.n] = event->time;
	outcome.tags[outcome.n++] = event->tid;
}

/* Takes all that is due, or at most `max`. */
static void advance(struct merge *merge, uint64_t watermark, size_t max)
{
	const struct event_header *event;

	CHECK_EQ(merge_advance(merge, watermark), 0);
	while (max-- && (event = merge_next(merge)))
		take(event);
}

static int add(struct merge *merge, uint64_t time, uint32_t tag, size_t extra)
{
	static uint64_t room[(300 * 1024) / 8];
	struct event_header *event = (void *)room;

	memset(room, (int)(tag % 251), sizeof(*event) + extra);
	*event = (struct event_header){.size = (uint32_t)(sizeof(*event) + extra),
				       .code = EVENT_exit,
				       .time = time,
				       .tid = tag};
	return merge_add(merge, event, event->size);
}

static struct merge *create(void)
{
	struct merge *merge;

	memset(&outcome, 0, sizeof(outcome));
	CHECK_EQ(merge_create(&merge), 0);
	return merge;
}

TEST(sorts_by_time_and_keeps_the_order_of_equal_times)
{
	static const uint64_t times[] = {50, 10, 30, 10, 50, 20, 10};
	static const uint32_t expected[] = {1, 3, 6, 5, 2, 0, 4};
	struct merge *merge = create();

	for (uint32_t i = 0; i < 7; i++)
		CHECK_EQ(add(merge, times[i], i, 16), 0);
	CHECK_EQ(merge_held(merge), 7 * 48);
	advance(merge, 100, SIZE_MAX);
	CHECK_EQ(outcome.n, 7);
	for (size_t i = 0; i < 7; i++)
		CHECK_EQ(outcome.tags[i], expected[i]);
	CHECK_EQ(merge_held(merge), 0);
	CHECK_EQ(merge_late(merge), 0);
	merge_free(merge);
}

TEST(watermark_is_exclusive_and_never_goes_back)
{
	struct merge *merge = create();

	advance(merge, 0, SIZE_MAX);
	CHECK_EQ(add(merge, 0, 0, 0), 0);
	CHECK_EQ(add(merge, 9, 1, 0), 0);
	CHECK_EQ(add(merge, 10, 2, 0), 0);
	advance(merge, 10, SIZE_MAX);
	CHECK_EQ(outcome.n, 2);
	advance(merge, 5, SIZE_MAX);
	CHECK_EQ(add(merge, 10, 3, 0), 0);
	CHECK_EQ(merge_late(merge), 0);
	CHECK_EQ(outcome.n, 2);
	/* Those that come late are next, below 10 although not below 5. */
	CHECK_EQ(add(merge, 9, 4, 0), 0);
	CHECK_EQ(add(merge, 8, 5, 0), 0);
	CHECK_EQ(merge_late(merge), 2);
	advance(merge, 5, SIZE_MAX);
	CHECK_EQ(outcome.n, 4);
	CHECK_EQ(outcome.tags[2], 5);
	CHECK_EQ(outcome.tags[3], 4);
	advance(merge, UINT64_MAX, SIZE_MAX);
	CHECK_EQ(outcome.n, 6);
	CHECK_EQ(outcome.tags[4], 2);
	CHECK_EQ(outcome.tags[5], 3);
	merge_free(merge);
}

TEST(malformed_sizes_are_refused)
{
	struct merge *merge = create();
	struct event_header event = {.size = sizeof(event)};

	CHECK_EQ(merge_add(merge, &event, sizeof(event) - 1), -EBADMSG);
	event.size = sizeof(event) + 8;
	CHECK_EQ(merge_add(merge, &event, sizeof(event)), -EBADMSG);
	event.size = 0;
	CHECK_EQ(merge_add(merge, &event, 0), -EBADMSG);
	CHECK_EQ(merge_held(merge), 0);
	merge_free(merge);
}

TEST(what_was_not_taken_is_due_again_and_nothing_twice)
{
	struct merge *merge = create();

	for (uint32_t i = 0; i < 4; i++)
		CHECK_EQ(add(merge, i, i, 8), 0);
	advance(merge, 3, 2);
	CHECK_EQ(outcome.n, 2);
	CHECK_EQ(add(merge, 2, 4, 8), 0);
	advance(merge, 10, 1);
	CHECK_EQ(outcome.tags[2], 2);
	/* The one that was taken last is still there, the two before it are not. */
	CHECK_EQ(merge_held(merge), 3 * 40);
	advance(merge, 10, SIZE_MAX);
	CHECK_EQ(outcome.n, 5);
	CHECK_EQ(outcome.tags[3], 4);
	CHECK_EQ(outcome.tags[4], 3);
	CHECK_EQ(merge_held(merge), 0);
	merge_free(merge);
}

TEST(large_events_and_leftovers)
{
	struct merge *merge = create();

	for (uint32_t i = 0; i < 40; i++)
		CHECK_EQ(add(merge, 100 - i, i, i % 3 ? i * 1000 : 290 * 1024), 0);
	advance(merge, 80, SIZE_MAX);
	CHECK_EQ(outcome.n, 19);
	merge_free(merge); /* what is left is freed with it */
}

/* Several rings, each nearly in order, read in turns of random length. */
TEST(shuffled_rings_come_out_in_order)
{
	enum { N_RINGS = 5, EACH = 3000 };
	uint64_t random = test_seed(), clock[N_RINGS] = {0}, watermark = 0, expected_late = 0;
	struct merge *merge = create();
	uint32_t tag = 0, left = N_RINGS * EACH, sent[N_RINGS] = {0};

	while (left) {
		unsigned ring = test_random(&random) % N_RINGS;
		unsigned batch = test_random(&random) % 50;

		for (; batch && sent[ring] < EACH; batch--, left--, sent[ring]++) {
			uint64_t time;

			clock[ring] += test_random(&random) % 8; /* equal times are common */
			time = clock[ring] - (test_random(&random) % 16 ? 0 : clock[ring] / 8);
			expected_late += time < watermark;
			CHECK_EQ(add(merge, time, tag++, test_random(&random) % 600), 0);
		}
		if (test_random(&random) % 4 == 0) {
			uint64_t least = UINT64_MAX;
			size_t before = outcome.n;

			for (int i = 0; i < N_RINGS; i++)
				least = clock[i] < least ? clock[i] : least;
			advance(merge, least, SIZE_MAX);
			for (size_t i = before; i < outcome.n; i++)
				CHECK(outcome.times[i] < least || outcome.times[i] < watermark);
			for (size_t i = before + 1; i < outcome.n; i++)
				CHECK(outcome.times[i - 1] < outcome.times[i] ||
				      (outcome.times[i - 1] == outcome.times[i] &&
				       outcome.tags[i - 1] < outcome.tags[i]));
			watermark = least > watermark ? least : watermark;
		}
	}
	advance(merge, UINT64_MAX, SIZE_MAX);
	CHECK_EQ(outcome.n, N_RINGS * EACH);
	CHECK_EQ(merge_held(merge), 0);
	CHECK(merge_late(merge) == expected_late);
	/* Each exactly once. */
	for (uint32_t i = 0; i < outcome.n; i++) {
		static bool seen[EVENTS_MAX];

		CHECK(!seen[outcome.tags[i]]);
		seen[outcome.tags[i]] = true;
	}
	merge_free(merge);
}
