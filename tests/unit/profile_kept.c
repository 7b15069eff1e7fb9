/* SPDX-License-Identifier: BSD-2-Clause */
/* profile_kept.c: the last part of a recording is a profile, whatever came before. */
#include <errno.h>

#include "profile_make.h"
#include "profile/codes.h"
#include "profile/kept.h"

#define SECOND UINT64_C(1000000000)

/* A recorder that makes a call and takes a sample each tenth of a second. */
static struct {
	struct kept *kept;
	struct profile_writer *writer;
	uint64_t time, limit_ns, limit_bytes;
	struct profile_bytes bytes;
} made;

/* What was read back. */
static struct {
	char names[1000][32], thread[32];
	uint64_t start, part, end, reason, calls, lost, stacks, samples, first, last;
	uint64_t symbol, argument;
	struct record_call_window window; /* the first */
} seen;

static void put(const struct record *record)
{
	CHECK_EQ(profile_writer_put(made.writer, record), 0);
}

static void begin(uint64_t ns, uint64_t bytes)
{
	struct record recording = {.kind = RECORD_recording};
	struct record argument = {.kind = RECORD_argument, .argument = {.text = {"word", 4}}};
	struct record process = {.kind = RECORD_process, .process = {.id = 7, .pid = 70}};
	struct record thread = {.kind = RECORD_thread, .thread = {.id = 9, .process = 7}};
	struct record comm = {.kind = RECORD_comm, .comm = {.thread = 9}};

	memset(&made, 0, sizeof(made));
	made.time = recording.recording.start = SECOND;
	recording.recording.part = 1;
	process.process.time = comm.comm.time = SECOND;
	CHECK_EQ(kept_create(ns, bytes, &made.kept), 0);
	CHECK_EQ(kept_open(made.kept, made.time, &made.writer), 0);
	put(&recording);
	put(&argument);
	put(&process);
	put(&thread);
	comm.comm.name = profile_writer_string(made.writer, "main", 4);
	put(&comm);
}

static void next_segment(void)
{
	CHECK_EQ(kept_turn(made.kept, made.writer, made.time), 0);
}

/* Each time the same frame, whose name came once. */
static void work(unsigned tenths)
{
	while (tenths--) {
		struct record cpu = {.kind = RECORD_cpu, .cpu = {.thread = 9}};
		struct record symbol = {.kind = RECORD_symbol};
		struct record total = {.kind = RECORD_syscall_total,
				       .syscall_total = {.process = 7, .number = 3}};
		struct record loss = {.kind = RECORD_loss, .loss = {.kind = 5}};
		struct record window = {.kind = RECORD_call_window,
					.call_window = {made.time, made.time + 1000, 0}};
		bool first = made.time == SECOND;

		made.time += SECOND / 10;
		cpu.cpu.time = total.syscall_total.time = loss.loss.time = made.time;
		symbol.symbol.frame = profile_writer_native(made.writer, 0, 42);
		cpu.cpu.stack = profile_writer_stack(made.writer, 0, symbol.symbol.frame);
		put(&cpu);
		put(&window);
		symbol.symbol.name = profile_writer_string(made.writer, "work", 4);
		if (first)
			put(&symbol);
		total.syscall_total.count = loss.loss.count = 1;
		put(&total);
		put(&loss);
	}
}

static void take(const struct record *record)
{
	switch (record->kind) {
	case RECORD_recording:
		CHECK_EQ(seen.start, 0);
		seen.start = record->recording.start;
		seen.part = record->recording.part;
		break;
	case RECORD_string:
		snprintf(seen.names[record->string.id], 32, "%.*s", (int)record->string.text.size,
			 record->string.text.data);
		break;
	case RECORD_comm:
		memcpy(seen.thread, seen.names[record->comm.name], 31);
		break;
	case RECORD_symbol:
		seen.symbol++;
		CHECK_STR(seen.names[record->symbol.name], "work");
		break;
	case RECORD_cpu:
		CHECK_EQ(record->cpu.stack, 1);
		/* From another segment than the first on, ids are consecutive. */
		CHECK_EQ(record->cpu.thread, seen.start == SECOND ? 9 : 1);
		seen.first = seen.samples++ ? seen.first : record->cpu.time;
		seen.last = record->cpu.time;
		break;
	case RECORD_syscall_total:
		seen.calls += record->syscall_total.count;
		break;
	case RECORD_loss:
		seen.lost += record->loss.count;
		break;
	case RECORD_call_window:
		if (!seen.window.end)
			seen.window = record->call_window;
		break;
	case RECORD_end:
		seen.reason = record->end.reason;
		break;
	default:
		seen.argument += record->kind == RECORD_argument;
		seen.stacks += record->kind == RECORD_stack;
	}
}

/* Writes what is kept until `time`, with this end or none, and reads it back. */
static void write_kept_until(uint64_t time, uint64_t reason)
{
	const struct record end = {.kind = RECORD_end, .end = {.time = time, .reason = reason}};
	struct profile_reader *reader;
	struct source *source;
	struct record record;
	struct sink *sink;

	CHECK_EQ(profile_writer_flush(made.writer), 0);
	CHECK_EQ(sink_memory_create(&made.bytes.data, &made.bytes.size, &sink), 0);
	CHECK_EQ(kept_write(made.kept, made.writer, 4, &end, reason != 0, sink), 0);
	CHECK_EQ(profile_writer_close(made.writer), 0);
	memset(&seen, 0, sizeof(seen));
	CHECK_EQ(source_memory_open(made.bytes.data, made.bytes.size, &source), 0);
	CHECK_EQ(profile_reader_open(source, &reader), 0);
	while (profile_reader_next(reader, &record) > 0)
		take(&record);
	profile_reader_close(reader);
	kept_free(made.kept);
	free(made.bytes.data);
}

static void write_kept(uint64_t reason)
{
	write_kept_until(made.time, reason);
}

/* Everything is defined in it, sums are those of the span, names are there. */
TEST(kept_part_is_a_profile_of_its_span)
{
	begin(5 * SECOND, 0);
	CHECK_EQ(kept_segment_ns(made.kept), SECOND);
	for (int i = 0; i < 30; i++) {
		work(10);
		next_segment();
	}
	work(5);
	CHECK_EQ(kept_since(made.kept), 26 * SECOND);
	write_kept(END_SNAPSHOT);
	CHECK_EQ(seen.start, 26 * SECOND);
	CHECK_EQ(seen.part, 4);
	CHECK_EQ(seen.samples, 55);
	CHECK_EQ(seen.first, 26 * SECOND + SECOND / 10);
	CHECK_EQ(seen.last, made.time);
	CHECK_EQ(seen.calls, 55);
	CHECK_EQ(seen.lost, 55);
	CHECK_EQ(seen.stacks, 1);
	/* Since the last window, which was in a segment before, calls have not been traced. */
	CHECK_EQ(seen.window.begin, 26 * SECOND - 1);
	CHECK_EQ(seen.window.end, 26 * SECOND);
	CHECK_EQ(seen.symbol, 1);
	CHECK_EQ(seen.argument, 1);
	CHECK_EQ(seen.reason, END_SNAPSHOT);
	CHECK_STR(seen.thread, "main");
}

/* As long as nothing is dropped it is the recording itself. */
TEST(kept_part_may_be_the_whole)
{
	begin(60 * SECOND, 0);
	work(15);
	next_segment();
	work(5);
	write_kept(END_SNAPSHOT);
	CHECK_EQ(seen.start, SECOND);
	CHECK_EQ(seen.samples, 20);
	CHECK_EQ(seen.calls, 20);
	CHECK_EQ(seen.symbol, 1);
}

/* What has been written since the end is in another segment. */
TEST(kept_part_has_nothing_from_behind_its_end)
{
	uint64_t end;

	begin(60 * SECOND, 0);
	work(15);
	end = made.time;
	next_segment();
	work(5);
	write_kept_until(end, END_SNAPSHOT);
	CHECK_EQ(seen.samples, 15);
	CHECK_EQ(seen.calls, 15);
	CHECK_EQ(seen.last, end);
	CHECK_EQ(seen.reason, END_SNAPSHOT);
}

/* By bytes: no more of them, and at least as many as all segments but one. */
static void check_size(uint64_t ns)
{
	begin(ns, 64 << 10);
	for (int i = 0; i < 3000; i++) {
		work(10);
		if (profile_writer_size(made.writer) >= kept_segment_bytes(made.kept))
			next_segment();
		CHECK_EQ(profile_writer_flush(made.writer), 0);
	}
	write_kept(0);
	CHECK(made.bytes.size <= 64 << 10);
	CHECK(made.bytes.size >= 32 << 10);
	CHECK_EQ(seen.calls, seen.samples);
	CHECK(seen.samples < 30000);
	/* The recorder had not ended. */
	CHECK_EQ(seen.reason, 0);
}

TEST(kept_part_has_a_size)
{
	check_size(0);
	/* Also where that is less than the time that was asked for. */
	check_size(1000000 * SECOND);
}
