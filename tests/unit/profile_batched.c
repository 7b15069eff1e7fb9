// SPDX-License-Identifier: BSD-2-Clause
/* profile_batched.c: tests of collections stored by the batch: what a reader makes of them. */
#include <errno.h>

#include "profile_make.h"
#include "profile/columns.h"

enum { ROUNDS = 200, THREADS = 3, BATCHES = 40, EVENTS_MAX = 8192 };

/* Any numbers. */
static void fill(struct collection *collections, size_t count, uint64_t *random)
{
	uint64_t *word = (uint64_t *)(void *)collections;

	for (size_t i = 0; i < count * sizeof(*collections) / sizeof(*word); i++)
		word[i] = extreme_number(random, test_random(random) % 24);
}

TEST(columns_of_any_numbers_come_back)
{
	uint64_t random = test_seed();

	for (int round = 0; round < ROUNDS; round++) {
		struct collection collections[COLUMNS_BATCH_MAX], back[COLUMNS_BATCH_MAX];
		uint8_t columns[COLUMNS_BYTES_MAX];
		size_t count = 1 + test_random(&random) % COLUMNS_BATCH_MAX, size;
		uint64_t begin = test_random(&random);

		fill(collections, count, &random);
		size = columns_pack(collections, count, begin, columns);
		CHECK_EQ(columns_unpack((struct bytes){(char *)columns, size}, count, begin, back),
			 0);
		CHECK(!memcmp(collections, back, count * sizeof(*back)));
	}
}

/* What a collector that does the same again and again tells. */
static struct collection usual(uint64_t i)
{
	return (struct collection){
		.heap = 1,
		.cycle = 1000 + i,
		.begin = 5000000 + i * 100000 + i * i % 77,
		.end = 5000000 + i * 100000 + i * i % 77 + 2000 + i * i % 99,
		.stop = 1000 + i,
		.kind = 1,
		.reason = 1,
		.promoted_bytes = 30416,
		.promoted_objects = 256,
		.nursery_used = 8385024,
		.allocated_bytes = 8385024 * (i + 1),
		.arena_bytes = 31457280,
		.live_bytes = 30416 * (i + 1),
		.stop_ns = 90 + i * i % 31,
		.phase = 1,
		.threads = 2,
	};
}

TEST(collections_that_are_much_the_same_take_few_bytes)
{
	struct collection collections[COLUMNS_BATCH_MAX];
	uint8_t columns[COLUMNS_BYTES_MAX];

	for (uint64_t i = 0; i < COLUMNS_BATCH_MAX; i++)
		collections[i] = usual(i);
	/* Three bytes of time, two of duration, one of stop_ns. */
	CHECK(columns_pack(collections, COLUMNS_BATCH_MAX, collections[0].begin, columns) <
	      7 * COLUMNS_BATCH_MAX);
}

TEST(columns_that_are_missing_are_as_guessed)
{
	struct collection back[2];

	/* heap 7 twice, cycles 1 and 2, nothing else. */
	CHECK_EQ(columns_unpack((struct bytes){"\1\x0e", 2}, 2, 500, back), 0);
	for (uint64_t i = 0; i < 2; i++) {
		CHECK_EQ(back[i].heap, 7);
		CHECK_EQ(back[i].cycle, i + 1);
		CHECK_EQ(back[i].stop, i + 1);
		CHECK_EQ(back[i].begin, 500);
		CHECK_EQ(back[i].end, 500);
		CHECK_EQ(back[i].live_bytes + back[i].threads, 0);
	}
}

TEST(what_are_no_columns_is_refused)
{
	struct collection back[2];

	CHECK_EQ(columns_unpack((struct bytes){"\3\2\2\2", 4}, 2, 0, back), -EBADMSG);
	CHECK_EQ(columns_unpack((struct bytes){"\2\2", 2}, 2, 0, back), -EBADMSG);
	CHECK_EQ(columns_unpack((struct bytes){"\2\2\x80", 3}, 2, 0, back), -EBADMSG);
	CHECK_EQ(columns_unpack((struct bytes){"\x80", 1}, 2, 0, back), -EBADMSG);
	CHECK_EQ(columns_unpack((struct bytes){"", 0}, COLUMNS_BATCH_MAX + 1, 0, back), -EBADMSG);
}

/* --- in a profile --------------------------------------------------------------------------- */

static struct {
	struct profile_writer *writer;
	struct profile_bytes bytes;
	struct record seen[EVENTS_MAX];
	size_t n;
	enum profile_state state;
} file;

static void begin_file(void)
{
	struct sink *sink;

	memset(&file, 0, sizeof(file));
	CHECK_EQ(sink_memory_create(&file.bytes.data, &file.bytes.size, &sink), 0);
	CHECK_EQ(profile_writer_create(sink, &file.writer), 0);
}

/* What is left of the file without its last `less` bytes. */
static void read_file(size_t less)
{
	struct profile_reader *reader;
	struct profile_status status;
	struct source *source;
	struct record record;

	CHECK_EQ(source_memory_open(file.bytes.data, file.bytes.size - less, &source), 0);
	CHECK_EQ(profile_reader_open(source, &reader), 0);
	while (profile_reader_next(reader, &record) > 0) {
		CHECK(record.kind != RECORD_collections);
		if (record.kind == RECORD_header || record.kind == RECORD_chunk)
			continue;
		CHECK(file.n < EVENTS_MAX);
		file.seen[file.n++] = record;
	}
	CHECK_EQ(profile_reader_next(reader, &record), 0);
	profile_reader_status(reader, &status);
	file.state = status.state;
	profile_reader_close(reader);
}

static void end_file(size_t less)
{
	CHECK_EQ(profile_writer_close(file.writer), 0);
	read_file(less);
	free(file.bytes.data);
}

static void put_collections(const struct collection *collections, size_t count, uint64_t thread)
{
	struct record record = {.kind = RECORD_collections};
	uint8_t columns[COLUMNS_BYTES_MAX];

	record.collections.begin = collections[0].begin;
	record.collections.thread = thread;
	record.collections.count = count;
	record.collections.rss_bytes = 4096;
	record.collections.columns.data = (char *)columns;
	record.collections.columns.size =
		columns_pack(collections, count, collections[0].begin, columns);
	CHECK_EQ(profile_writer_put(file.writer, &record), 0);
}

static void put_cpu(uint64_t time)
{
	struct record record = {.kind = RECORD_cpu, .cpu = {.time = time, .thread = 9}};

	CHECK_EQ(profile_writer_put(file.writer, &record), 0);
}

static void put_end(uint64_t time)
{
	struct record record = {.kind = RECORD_end, .end = {.time = time, .reason = 1}};

	CHECK_EQ(profile_writer_put(file.writer, &record), 0);
}

/* All events have their time first. */
static uint64_t time_of(const struct record *record)
{
	return record->cpu.time;
}

/* A thread's next batch, the first of which begins at `clock`. */
static size_t make_batch(struct collection *out, uint64_t *clock, uint64_t *random)
{
	size_t count = 1 + test_random(random) % COLUMNS_BATCH_MAX;

	fill(out, count, random);
	for (size_t i = 0; i < count; i++) {
		out[i].begin = *clock;
		out[i].end = *clock += test_random(random) % 100;
		*clock += test_random(random) % 1000;
	}
	return count;
}

/* Each collection is told once, by its thread, with its own figures. */
static void check_thread(uint64_t thread, const struct collection *collections, size_t count)
{
	size_t at = 0, begun = 0;

	for (size_t i = 0; i < file.n; i++) {
		const struct record *record = &file.seen[i];

		if (record->kind == RECORD_gc_begin && record->gc_begin.thread == thread) {
			CHECK(begun == at && at < count);
			CHECK_EQ(record->gc_begin.time, collections[at].begin);
			CHECK_EQ(record->gc_begin.cycle, collections[at].cycle);
			CHECK_EQ(record->gc_begin.reason, collections[at].reason);
			CHECK_EQ(record->gc_begin.stop, collections[at].stop);
			begun++;
		}
		if (record->kind == RECORD_gc_end && record->gc_end.thread == thread) {
			CHECK(begun == at + 1);
			CHECK_EQ(record->gc_end.time, collections[at].end);
			CHECK_EQ(record->gc_end.cycle, collections[at].cycle);
			CHECK_EQ(record->gc_end.heap, collections[at].heap);
			CHECK_EQ(record->gc_end.kind, collections[at].kind);
			CHECK_EQ(record->gc_end.freed_bytes, collections[at].freed_bytes);
			CHECK_EQ(record->gc_end.live_bytes, collections[at].live_bytes);
			CHECK_EQ(record->gc_end.threads, collections[at].threads);
			CHECK_EQ(record->gc_end.batched, 1);
			CHECK_EQ(record->gc_end.has_stats, 1);
			at++;
		}
	}
	CHECK_EQ(at, count);
}

static size_t earliest(const uint64_t clocks[THREADS])
{
	size_t thread = 0;

	for (size_t i = 1; i < THREADS; i++)
		thread = clocks[i] < clocks[thread] ? i : thread;
	return thread;
}

TEST(each_is_read_at_its_own_time_among_all_else)
{
	static struct collection all[THREADS][BATCHES * COLUMNS_BATCH_MAX];
	uint64_t random = test_seed(), clocks[THREADS] = {1000, 1100, 1200}, ticks = 0;
	size_t counts[THREADS] = {0}, events = 0;

	begin_file();
	for (int batch = 0; batch < BATCHES; batch++) {
		size_t thread = earliest(clocks), count;

		for (; ticks * 777 < clocks[thread]; ticks++)
			put_cpu(ticks * 777);
		if (test_random(&random) % 4 == 0)
			CHECK_EQ(profile_writer_flush(file.writer), 0);
		count = make_batch(&all[thread][counts[thread]], &clocks[thread], &random);
		put_collections(&all[thread][counts[thread]], count, thread + 1);
		counts[thread] += count;
	}
	put_end(1);
	end_file(0);
	CHECK_EQ(file.state, PROFILE_COMPLETE);
	for (size_t i = 0; i < THREADS; i++) {
		check_thread(i + 1, all[i], counts[i]);
		events += 2 * counts[i];
	}
	CHECK_EQ(file.n, events + ticks + 1);
	CHECK_EQ(file.seen[file.n - 1].kind, RECORD_end);
	for (size_t i = 1; i + 1 < file.n; i++)
		CHECK(time_of(&file.seen[i - 1]) <= time_of(&file.seen[i]));
}

/* Two batches that overlap, and ticks at and around their times. */
static void write_two(void)
{
	const struct collection one[] = {{.heap = 1, .cycle = 1, .begin = 100, .end = 200},
					 {.heap = 1, .cycle = 2, .begin = 300, .end = 400}};
	const struct collection two[] = {{.heap = 2, .cycle = 1, .begin = 150, .end = 300}};

	begin_file();
	put_cpu(99);
	put_collections(one, 2, 1);
	put_collections(two, 1, 2);
	put_cpu(100);
	CHECK_EQ(profile_writer_flush(file.writer), 0);
	put_cpu(300);
	put_cpu(301);
	CHECK_EQ(profile_writer_flush(file.writer), 0);
	put_end(350);
}

TEST(what_is_told_at_the_ends_of_a_collection_lies_in_it)
{
	static const struct {
		enum record_kind kind;
		uint64_t time, thread;
	} expected[] = {
		{RECORD_cpu, 99, 9},       {RECORD_gc_begin, 100, 1}, {RECORD_cpu, 100, 9},
		{RECORD_gc_begin, 150, 2}, {RECORD_gc_end, 200, 1},   {RECORD_gc_begin, 300, 1},
		{RECORD_cpu, 300, 9},      {RECORD_gc_end, 300, 2},   {RECORD_cpu, 301, 9},
		{RECORD_gc_end, 400, 1},   {RECORD_end, 350, 1},
	};
	const size_t n = sizeof(expected) / sizeof(*expected);

	write_two();
	end_file(0);
	CHECK_EQ(file.n, n);
	for (size_t i = 0; i < n; i++) {
		CHECK_EQ(file.seen[i].kind, expected[i].kind);
		CHECK_EQ(time_of(&file.seen[i]), expected[i].time);
		/* Of `end` it is the reason. */
		CHECK_EQ(file.seen[i].cpu.thread, expected[i].thread);
	}
	CHECK_EQ(file.seen[9].gc_end.rss_bytes, 4096);
	CHECK_EQ(file.seen[4].gc_end.rss_bytes, 0);
}

TEST(where_a_file_is_torn_all_of_a_batch_is_there)
{
	write_two();
	end_file(1);
	CHECK_EQ(file.state, PROFILE_TORN);
	CHECK_EQ(file.n, 10);
	CHECK_EQ(file.seen[9].kind, RECORD_gc_end);
}

/* A batch of `count` collections with these columns, behind a good one. */
static void write_bad(uint64_t count, struct bytes columns)
{
	const struct collection good = {.heap = 1, .cycle = 1, .begin = 100, .end = 200};
	struct record record = {.kind = RECORD_collections};

	begin_file();
	put_collections(&good, 1, 1);
	record.collections.begin = 150;
	record.collections.count = count;
	record.collections.columns = columns;
	CHECK_EQ(profile_writer_put(file.writer, &record), 0);
	put_end(1000);
	end_file(0);
}

TEST(a_batch_that_makes_no_sense_is_damage_and_what_stood_before_is_good)
{
	static const struct {
		uint64_t count;
		struct bytes columns;
	} bad[] = {
		{0, {"", 0}},       {COLUMNS_BATCH_MAX + 1, {"", 0}}, {UINT64_MAX, {"", 0}},
		{1, {"\2\2\2", 3}}, {1, {"\xff\xff\xff", 3}},
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		write_bad(bad[i].count, bad[i].columns);
		CHECK_EQ(file.state, PROFILE_DAMAGED);
		CHECK_EQ(file.n, 2);
		CHECK_EQ(time_of(&file.seen[1]), 200);
	}
	write_bad(1, (struct bytes){"", 0});
	CHECK_EQ(file.state, PROFILE_COMPLETE);
	CHECK_EQ(file.n, 5);
}

TEST(more_than_may_wait_come_back_all_the_same)
{
	enum { MANY = 5000 };
	struct profile_reader *reader;
	struct source *source;
	struct record record;
	size_t begins = 0, ends = 0, order = 0;

	begin_file();
	for (uint64_t i = 0; i < MANY; i++) {
		struct collection one = {.heap = 1, .cycle = i, .begin = i, .end = UINT64_MAX - i};

		put_collections(&one, 1, 1);
	}
	put_end(0);
	CHECK_EQ(profile_writer_close(file.writer), 0);
	CHECK_EQ(source_memory_open(file.bytes.data, file.bytes.size, &source), 0);
	CHECK_EQ(profile_reader_open(source, &reader), 0);
	while (profile_reader_next(reader, &record) > 0) {
		if (record.kind == RECORD_gc_begin)
			CHECK_EQ(record.gc_begin.cycle, begins++);
		ends += record.kind == RECORD_gc_end;
		order += record.kind == RECORD_end && ends == MANY;
	}
	CHECK_EQ(begins, MANY);
	CHECK_EQ(ends, MANY);
	CHECK_EQ(order, 1);
	profile_reader_close(reader);
	free(file.bytes.data);
}
