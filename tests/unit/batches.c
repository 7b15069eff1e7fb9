/* SPDX-License-Identifier: BSD-2-Clause */
/* batches.c: batches of samples taken apart. */
#include <errno.h>

#include "record/ingest/flow_parts.h"
#include "test.h"

static struct {
	struct event_alloc of[GCPROF_SAMPLES_MAX];
	size_t n;
	const struct event_header *stacks; /* NULL: there were none; before all samples */
	uint64_t words[GCPROF_STACK_WORDS_MAX];
	struct event_header header;
} seen;

static void see(void *context, const struct event_header *event, size_t size)
{
	CHECK(context == &seen);
	if (event->code == EVENT_stacks) {
		CHECK(!seen.stacks && !seen.n);
		CHECK_EQ(event->size, size);
		seen.header = *event;
		seen.stacks = &seen.header;
		memcpy(seen.words, event + 1, size - sizeof(*event));
		return;
	}
	CHECK(seen.n < GCPROF_SAMPLES_MAX);
	CHECK_EQ(size, sizeof(struct event_alloc));
	CHECK_EQ(event->size, size);
	CHECK_EQ(event->code, EVENT_alloc);
	seen.of[seen.n++] = *(const struct event_alloc *)(const void *)event;
}

/* A batch that came at 1000, of a program that began at 500. */
static union {
	struct event_samples batch;
	char bytes[sizeof(struct event_samples) +
		   GCPROF_SAMPLES_MAX * sizeof(struct gcprof_sample) +
		   GCPROF_STACK_WORDS_MAX * sizeof(uint64_t)];
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

	CHECK_EQ(batches_split(&room.batch, make(GCPROF_SAMPLES_MAX), 0, &faults, see, &seen), 0);
	CHECK_EQ(seen.n, GCPROF_SAMPLES_MAX);
	for (uint32_t i = 0; i < GCPROF_SAMPLES_MAX; i++) {
		CHECK_EQ(seen.of[i].header.time, 600 + i);
		CHECK_EQ(seen.of[i].header.tid, 7);
		CHECK_EQ(seen.of[i].sample, i + 1);
	}
	CHECK_EQ(faults.refused + faults.misdated, 0);
}

TEST(a_batch_is_no_longer_than_it_is)
{
	struct batches_faults faults = {0};
	size_t size = make(3);

	CHECK_EQ(batches_split(&room.batch, size - 1, 0, &faults, see, &seen), -EBADMSG);
	CHECK_EQ(batches_split(&room.batch, 8, 0, &faults, see, &seen), -EBADMSG);
	room.batch.count = 0;
	CHECK_EQ(batches_split(&room.batch, size, 0, &faults, see, &seen), -EBADMSG);
	room.batch.count = UINT32_MAX;
	CHECK_EQ(batches_split(&room.batch, size, 0, &faults, see, &seen), -EBADMSG);
	CHECK_EQ(seen.n, 0);
}

TEST(stacks_come_before_the_first_sample)
{
	struct batches_faults faults = {0};
	size_t size = make(3);
	uint64_t *words = (uint64_t *)(void *)&room.batch.entries[3];

	room.batch.words = 5;
	for (uint64_t i = 0; i < 5; i++)
		words[i] = 100 + i;
	/* Nobody's time but one that can be. */
	room.batch.entries[0].time = 3;
	CHECK_EQ(batches_split(&room.batch, size + 40, 0, &faults, see, &seen), 0);
	CHECK(seen.stacks && seen.n == 3);
	CHECK_EQ(seen.header.time, 601);
	CHECK_EQ(seen.header.size, sizeof(struct event_stacks) + 40);
	CHECK_EQ(seen.words[0], 100);
	CHECK_EQ(seen.words[4], 104);
	/* As many as it says must be there, and no more than may be. */
	make(3);
	room.batch.words = 6;
	CHECK_EQ(batches_split(&room.batch, size + 40, 0, &faults, see, &seen), -EBADMSG);
	room.batch.words = GCPROF_STACK_WORDS_MAX + 1;
	CHECK_EQ(batches_split(&room.batch, sizeof(room) + 8, 0, &faults, see, &seen), -EBADMSG);
	room.batch.words = UINT32_MAX;
	CHECK_EQ(batches_split(&room.batch, size + 40, 0, &faults, see, &seen), -EBADMSG);
	CHECK(!seen.stacks && !seen.n);
}

TEST(nonsense_is_refused_alone)
{
	struct batches_faults faults = {0};
	size_t size = make(8);

	room.batch.entries[0].sample = 0;
	room.batch.entries[1].size = 0;
	room.batch.entries[2].size = UINT64_C(1) << 60;
	room.batch.entries[3].period = 0;
	room.batch.entries[4].kind = 77;
	CHECK_EQ(batches_split(&room.batch, size, 0, &faults, see, &seen), 0);
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
	CHECK_EQ(batches_split(&room.batch, size, 0, &faults, see, &seen), 0);
	CHECK_EQ(faults.misdated, 2);
	CHECK_EQ(seen.of[0].header.time, 1000);
	CHECK_EQ(seen.of[1].header.time, 500);
	CHECK_EQ(seen.of[2].header.time, 1000);
	CHECK_EQ(seen.of[3].header.time, 1000);
}

TEST(samples_from_before_the_recording_are_left_out)
{
	struct batches_faults faults = {0};
	size_t size = make(4);

	room.batch.entries[3].time = 499; /* cannot be: that does not say when it was */
	CHECK_EQ(batches_split(&room.batch, size, 602, &faults, see, &seen), 0);
	CHECK_EQ(faults.refused, 0);
	CHECK_EQ(faults.misdated, 1);
	CHECK_EQ(seen.n, 2);
	CHECK_EQ(seen.of[0].header.time, 602);
	CHECK_EQ(seen.of[1].header.time, 1000);
}
