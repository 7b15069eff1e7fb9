/* SPDX-License-Identifier: BSD-2-Clause */
/* batches.c: batches of samples taken apart, and what keys of stacks mean. */
#include <errno.h>

#include "test.h"
#include "record/batches.h"
#include "record/stack_keys.h"

static struct {
	struct event_sample of[GCPROF_SAMPLES_MAX];
	size_t n;
} seen;

static void see(void *context, const struct event_header *event, size_t size)
{
	CHECK(context == &seen);
	CHECK(seen.n < GCPROF_SAMPLES_MAX);
	CHECK_EQ(size, sizeof(struct event_sample));
	CHECK_EQ(event->size, size);
	CHECK_EQ(event->code, EVENT_sample);
	seen.of[seen.n++] = *(const struct event_sample *)(const void *)event;
}

/* A batch that came at 1000, of a program that began at 500. */
static union {
	struct event_samples batch;
	char bytes[sizeof(struct event_samples) +
		   GCPROF_SAMPLES_MAX * sizeof(struct gcprof_sample)];
} room;

static size_t size_of(uint32_t n)
{
	return sizeof(room.batch) + n * sizeof(struct gcprof_sample);
}

static size_t make(uint32_t n)
{
	memset(&room, 0, sizeof(room));
	memset(&seen, 0, sizeof(seen));
	room.batch.header = (struct event_header){
		.size = (uint32_t)size_of(n), .code = EVENT_samples, .time = 1000, .tid = 7};
	room.batch.since = 500;
	room.batch.count = n;
	for (uint32_t i = 0; i < n; i++)
		room.batch.entries[i] = (struct gcprof_sample){
			.sample = i + 1,
			.time = 600 + i,
			.type = 3,
			.size = 32,
			.period = 512,
			.stack = 9,
			.kind = GCPROF_SAMPLE_NURSERY,
		};
	return size_of(n);
}

TEST(samples_come_out_at_their_times)
{
	struct batches_faults faults = {0};

	CHECK_EQ(batches_split(&room.batch, make(GCPROF_SAMPLES_MAX), &faults, see, &seen), 0);
	CHECK_EQ(seen.n, GCPROF_SAMPLES_MAX);
	for (uint32_t i = 0; i < GCPROF_SAMPLES_MAX; i++) {
		CHECK_EQ(seen.of[i].header.time, 600 + i);
		CHECK_EQ(seen.of[i].header.tid, 7);
		CHECK_EQ(seen.of[i].entry.sample, i + 1);
	}
	CHECK_EQ(faults.refused + faults.misdated, 0);
}

TEST(a_batch_is_no_longer_than_it_is)
{
	struct batches_faults faults = {0};
	size_t size = make(3);

	CHECK_EQ(batches_split(&room.batch, size - 1, &faults, see, &seen), -EBADMSG);
	CHECK_EQ(batches_split(&room.batch, 8, &faults, see, &seen), -EBADMSG);
	room.batch.count = 0;
	CHECK_EQ(batches_split(&room.batch, size, &faults, see, &seen), -EBADMSG);
	room.batch.count = UINT32_MAX;
	CHECK_EQ(batches_split(&room.batch, size, &faults, see, &seen), -EBADMSG);
	CHECK_EQ(seen.n, 0);
}

TEST(nonsense_is_refused_alone)
{
	struct batches_faults faults = {0};
	size_t size = make(8);

	room.batch.entries[0].sample = 0;
	room.batch.entries[1].type = 0;
	room.batch.entries[2].size = UINT64_C(1) << 60;
	room.batch.entries[3].period = 0;
	room.batch.entries[4].kind = 77;
	CHECK_EQ(batches_split(&room.batch, size, &faults, see, &seen), 0);
	CHECK_EQ(faults.refused, 5);
	CHECK_EQ(seen.n, 3);
}

TEST(a_time_that_cannot_be_is_the_batchs)
{
	struct batches_faults faults = {0};
	size_t size = make(4);

	room.batch.entries[0].time = 499;
	room.batch.entries[1].time = 500;
	room.batch.entries[2].time = 1000;
	room.batch.entries[3].time = 1001;
	CHECK_EQ(batches_split(&room.batch, size, &faults, see, &seen), 0);
	CHECK_EQ(faults.misdated, 2);
	CHECK_EQ(seen.of[0].header.time, 1000);
	CHECK_EQ(seen.of[1].header.time, 500);
	CHECK_EQ(seen.of[2].header.time, 1000);
	CHECK_EQ(seen.of[3].header.time, 1000);
}

TEST(keys_mean_what_was_told_last)
{
	const struct stack_told first = {5, 0}, second = {6, 2};
	struct stack_told told;
	struct stack_keys *keys;

	CHECK_EQ(stack_keys_create(&keys), 0);
	CHECK(!stack_keys_get(keys, 1, 10, &told));
	CHECK_EQ(stack_keys_set(keys, 1, 10, &first), 0);
	CHECK(!stack_keys_get(keys, 2, 10, &told));
	CHECK(stack_keys_get(keys, 1, 10, &told) && told.stack == 5 && told.quality == 0);
	CHECK_EQ(stack_keys_set(keys, 1, 10, &second), 0);
	CHECK(stack_keys_get(keys, 1, 10, &told) && told.stack == 6 && told.quality == 2);
	stack_keys_free(keys);
}

/* However many there are, those in use stay, and memory does not grow. */
TEST(keys_in_use_stay)
{
	struct stack_keys *keys;
	struct stack_told told;

	CHECK_EQ(stack_keys_create(&keys), 0);
	for (uint64_t key = 1; key <= 1000000; key++) {
		told = (struct stack_told){key, 0};
		CHECK_EQ(stack_keys_set(keys, 1, key, &told), 0);
		if (key % 50000 == 0)
			CHECK(stack_keys_get(keys, 1, 50000, &told) && told.stack == 50000);
		if (key % 50000 == 0 && key > 100000)
			CHECK(stack_keys_get(keys, 1, key - 100000, &told));
	}
	CHECK(!stack_keys_get(keys, 1, 1, &told));
	stack_keys_free(keys);
}
