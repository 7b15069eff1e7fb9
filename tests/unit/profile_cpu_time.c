/* SPDX-License-Identifier: BSD-2-Clause */
/* profile_cpu_time.c: exact CPU time, divided among the timer samples that are read back. */
#include <math.h>

#include "profile_make.h"

#define TICK UINT64_C(1000000) /* ns, at 1000 Hz */

struct made {
	struct sink *sink;
	struct profile_writer *writer;
	struct profile_bytes bytes;
	uint64_t time;
};

static struct made made;

/* What was read back: the sums of all samples of each thread, and of all records. */
static struct {
	uint64_t sampled[64], used, all;
	uint64_t least, most; /* ns of a sample of thread 1 */
	size_t samples, records;
} seen;

static void begin(uint64_t frequency)
{
	struct record record = {.kind = RECORD_recording, .recording = {.frequency = frequency}};

	memset(&made, 0, sizeof(made));
	CHECK_EQ(sink_memory_create(&made.bytes.data, &made.bytes.size, &made.sink), 0);
	CHECK_EQ(profile_writer_create(made.sink, &made.writer), 0);
	CHECK_EQ(profile_writer_put(made.writer, &record), 0);
}

/* A sample of a thread, which ran `used` ns since it was last told. */
static void sample(uint64_t thread, int64_t used, uint64_t ticks)
{
	struct record record = {.kind = RECORD_cpu,
				.cpu = {.time = ++made.time, .thread = thread, .ticks = ticks}};

	CHECK_EQ(profile_writer_ran(made.writer, thread, used, ticks ? ticks : 1), 0);
	CHECK_EQ(profile_writer_put(made.writer, &record), 0);
}

static void read_back(void)
{
	struct profile_reader *reader;
	struct source *source;
	struct record record;

	CHECK_EQ(profile_writer_close(made.writer), 0);
	memset(&seen, 0, sizeof(seen));
	seen.least = UINT64_MAX;
	CHECK_EQ(source_memory_open(made.bytes.data, made.bytes.size, &source), 0);
	CHECK_EQ(profile_reader_open(source, &reader), 0);
	while (profile_reader_next(reader, &record) > 0) {
		if (record.kind == RECORD_cpu_time) {
			seen.used += (uint64_t)record.cpu_time.used;
			seen.records++;
		}
		if (record.kind != RECORD_cpu)
			continue;
		if (record.cpu.thread >= 64)
			abort();
		seen.sampled[record.cpu.thread] += record.cpu.ns;
		seen.all += record.cpu.ns;
		seen.samples++;
		if (record.cpu.thread == 1) {
			seen.least = record.cpu.ns < seen.least ? record.cpu.ns : seen.least;
			seen.most = record.cpu.ns > seen.most ? record.cpu.ns : seen.most;
		}
	}
	profile_reader_close(reader);
	free(made.bytes.data);
}

TEST(samples_add_up_to_the_exact_time_of_their_thread)
{
	begin(1000);
	/* 1000 samples, 3 % fewer than their time would have: that may be chance. */
	for (int i = 0; i < 1000; i++)
		sample(1, (int64_t)TICK + (int64_t)TICK * 3 / 100 + i % 7, 0);
	for (int i = 0; i < 500; i++)
		sample(2, (int64_t)TICK * 99 / 100, 0);
	read_back();
	CHECK_EQ(seen.samples, 1500);
	CHECK_EQ(seen.all, seen.used);
	CHECK_EQ(seen.sampled[2], 500 * TICK * 99 / 100);
	CHECK_EQ(seen.sampled[1], seen.used - seen.sampled[2]);
	CHECK(seen.most - seen.least <= 1);
}

TEST(samples_of_a_slowed_timer_weigh_their_ticks)
{
	begin(1000);
	for (int i = 0; i < 100; i++)
		sample(1, (int64_t)TICK, 1);
	for (int i = 0; i < 100; i++)
		sample(1, 8 * (int64_t)TICK, 8);
	read_back();
	CHECK_EQ(seen.all, 900 * TICK);
	CHECK_EQ(seen.least, TICK);
	CHECK_EQ(seen.most, 8 * TICK);
}

/* A thread that no timer can interrupt for two thirds of its time: the rest is not blown up. */
TEST(time_that_no_tick_can_hit_is_no_samples)
{
	begin(1000);
	for (int i = 0; i < 400; i++)
		sample(1, 3 * (int64_t)TICK, 0);
	read_back();
	CHECK_EQ(seen.used, 1200 * TICK);
	CHECK_EQ(seen.all, 400 * TICK);
	CHECK(seen.least == TICK && seen.most == TICK);
}

/* The same for many threads that each have few samples or none, chunk after chunk. */
TEST(short_threads_share_their_time)
{
	uint64_t random = 1, hits = 0;

	begin(1000);
	for (int chunk = 0; chunk < 200; chunk++) {
		for (uint64_t thread = 1; thread < 50; thread++) {
			bool hit = test_random(&random) % 10 == 0;

			/* A tenth of a tick each: as many of them are hit. */
			if (hit)
				sample(thread, (int64_t)TICK / 10, 0);
			else
				CHECK_EQ(profile_writer_ran(made.writer, thread, (int64_t)TICK / 10,
							    0),
					 0);
			hits += hit;
		}
		sample(50, (int64_t)TICK, 0);
		hits++;
		CHECK_EQ(profile_writer_flush(made.writer), 0);
	}
	read_back();
	CHECK_EQ(seen.samples, hits);
	/* All of it but for chance in the last chunks. */
	CHECK(seen.all <= seen.used + 8 * TICK);
	CHECK(seen.all > seen.used - 40 * TICK);
	/* However short they are: none gets the time of a thread that was not hit at all. */
	CHECK(seen.most <= 2 * TICK);
}

TEST(short_threads_that_are_seldom_hit_are_not_blown_up)
{
	begin(1000);
	for (int chunk = 0; chunk < 100; chunk++) {
		for (uint64_t thread = 1; thread < 40; thread++)
			CHECK_EQ(profile_writer_ran(made.writer, thread, (int64_t)TICK, 0), 0);
		for (uint64_t thread = 1; thread < 11; thread++)
			sample(thread, 0, 0);
		CHECK_EQ(profile_writer_flush(made.writer), 0);
	}
	read_back();
	CHECK_EQ(seen.used, 3900 * TICK);
	CHECK(seen.all >= 1000 * TICK && seen.all < 1020 * TICK);
}

/* The chunks of their ticks end before threads that wait report their time. */
TEST(ticks_whose_time_is_reported_later_have_their_time)
{
	begin(1000);
	for (uint64_t thread = 1; thread <= 40; thread++) {
		for (int i = 0; i < 7; i++)
			sample(thread, 0, 0);
		/* A chunk that is full ends early. */
		if (thread == 20 || thread == 40)
			CHECK_EQ(profile_writer_flush(made.writer), 0);
	}
	for (uint64_t thread = 1; thread <= 40; thread++)
		CHECK_EQ(profile_writer_ran(made.writer, thread, 7 * (int64_t)TICK, 0), 0);
	for (uint64_t thread = 41; thread <= 45; thread++) {
		for (int i = 0; i < 7; i++)
			sample(thread, (int64_t)TICK, 0);
	}
	read_back();
	CHECK_EQ(seen.used, 315 * TICK);
	CHECK_EQ(seen.all, seen.used);
	CHECK_EQ(seen.sampled[1], 7 * TICK);
	CHECK_EQ(seen.sampled[40], 7 * TICK);
	CHECK_EQ(seen.sampled[45], 7 * TICK);
}

/* Of interrupts that the scheduler does not count, for example. */
TEST(ticks_whose_time_is_never_reported_have_none)
{
	begin(1000);
	for (int chunk = 0; chunk < 500; chunk++) {
		for (uint64_t thread = 1; thread <= 40; thread++)
			sample(thread, (int64_t)TICK / 2, 0);
		CHECK_EQ(profile_writer_flush(made.writer), 0);
	}
	read_back();
	CHECK_EQ(seen.used, 10000 * TICK);
	CHECK(seen.all >= seen.used && seen.all <= seen.used + (4096 + 40) * TICK);
}

TEST(what_two_tell_at_once_adds_up)
{
	begin(1000);
	for (int i = 0; i < 100; i++) {
		sample(1, 3 * (int64_t)TICK, 0);
		CHECK_EQ(profile_writer_ran(made.writer, 1, -2 * (int64_t)TICK, 0), 0);
	}
	read_back();
	CHECK_EQ(seen.used, 100 * TICK);
	CHECK_EQ(seen.all, 100 * TICK);
}

/* In each chunk that a long recording has: what a chunk's samples stand for stands in it. */
TEST(every_chunk_divides_its_own_time)
{
	begin(1000);
	for (int i = 0; i < 300000; i++)
		sample(1 + (uint64_t)i % 3, (int64_t)TICK, 0);
	read_back();
	CHECK(seen.records > 6);
	CHECK_EQ(seen.all, 300000 * TICK);
	CHECK_EQ(seen.most, TICK);
}

TEST(old_profiles_count_ticks)
{
	struct record record = {.kind = RECORD_cpu, .cpu = {.thread = 1}};

	begin(999);
	for (int i = 0; i < 999; i++)
		CHECK_EQ(profile_writer_put(made.writer, &record), 0);
	record.cpu.ticks = 999;
	CHECK_EQ(profile_writer_put(made.writer, &record), 0);
	read_back();
	CHECK_EQ(seen.records, 0);
	CHECK_EQ(seen.all, 2 * UINT64_C(1000000000));
}

TEST(records_that_lie_do_no_harm)
{
	const struct record lies[] = {
		{.kind = RECORD_cpu_time, .cpu_time = {1, INT64_MIN, UINT64_MAX, 1}},
		{.kind = RECORD_cpu_time, .cpu_time = {1, INT64_MAX, UINT64_MAX, UINT64_MAX}},
		{.kind = RECORD_cpu_time, .cpu_time = {UINT64_MAX, -1, 0, 7}},
		{.kind = RECORD_cpu_time, .cpu_time = {2, -1, UINT64_MAX, 0}},
	};

	begin(UINT64_MAX);
	for (uint64_t thread = 1; thread < 4; thread++) {
		struct record record = {.kind = RECORD_cpu,
					.cpu = {.thread = thread, .ticks = UINT64_MAX}};

		CHECK_EQ(profile_writer_put(made.writer, &record), 0);
	}
	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++)
		CHECK_EQ(profile_writer_put(made.writer, &lies[i]), 0);
	read_back();
	CHECK_EQ(seen.samples, 3);
	CHECK_EQ(seen.records, 4);
}
