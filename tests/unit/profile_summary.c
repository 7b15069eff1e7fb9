// SPDX-License-Identifier: BSD-2-Clause
/* profile_summary.c: tests of the facts that a profile tells: streams, losses, drift of the clocks.
 */
#include <errno.h>

#include "profile_make.h"
#include "profile/status.h"
#include "profile/summary.h"

static struct bytes text(const char *string)
{
	return (struct bytes){string, strlen(string)};
}

static void put_stream(struct profile_writer *writer, uint64_t stream, const char *name,
		       bool attached, const char *why_not)
{
	struct record record = {.kind = RECORD_stream};

	record.stream.stream = stream;
	record.stream.name = text(name);
	record.stream.attached = attached;
	record.stream.why_not = text(why_not);
	CHECK_EQ(profile_writer_put(writer, &record), 0);
}

static void put_loss(struct profile_writer *writer, uint64_t kind, uint64_t count)
{
	struct record record = {.kind = RECORD_loss};

	record.loss.time = 5000 + count;
	record.loss.kind = kind;
	record.loss.count = count;
	CHECK_EQ(profile_writer_put(writer, &record), 0);
}

/* A pair at `second`, with REALTIME 2 ppm fast and a counter of 3 GHz, one pair 30 ns off. */
static void put_clock(struct profile_writer *writer, uint64_t second, uint64_t late)
{
	struct record record = {.kind = RECORD_clock};
	uint64_t time = 1000000000 * second;

	record.clock.before = time - 20;
	record.clock.after = time + 20;
	record.clock.realtime = 1700000000000000000 + time + 2000 * second;
	record.clock.tsc = 3 * time + 3 * late;
	CHECK_EQ(profile_writer_put(writer, &record), 0);
}

static struct profile_bytes make(void)
{
	struct record record = {.kind = RECORD_loss_kind};
	struct profile_writer *writer;
	struct profile_bytes out;
	struct sink *sink;

	CHECK_EQ(sink_memory_create(&out.data, &out.size, &sink), 0);
	CHECK_EQ(profile_writer_create(sink, &writer), 0);
	record.loss_kind.kind = 5;
	record.loss_kind.stream = 4;
	record.loss_kind.severity = 3;
	record.loss_kind.name = text("CEILING");
	record.loss_kind.text = text("calls were counted only");
	CHECK_EQ(profile_writer_put(writer, &record), 0);
	put_stream(writer, 3, "cpu", true, "");
	put_stream(writer, 4, "syscall", true, "");
	put_stream(writer, 4, "syscall", false, "no rights");
	put_stream(writer, 1000000, "from the future", true, "");
	for (uint64_t i = 0; i < 7; i++) {
		record = (struct record){.kind = RECORD_cpu};
		record.cpu.time = 1000 + i;
		CHECK_EQ(profile_writer_put(writer, &record), 0);
	}
	put_stream(writer, 5, "sched", true, "");
	for (uint64_t i = 0; i < 3; i++) {
		record = (struct record){.kind = i < 2 ? RECORD_wait : RECORD_fault};
		CHECK_EQ(profile_writer_put(writer, &record), 0);
	}
	put_loss(writer, 5, 10);
	put_loss(writer, 5, 25);
	put_loss(writer, UINT64_MAX, 25);
	for (uint64_t second = 1; second <= 5; second++)
		put_clock(writer, second, second == 3 ? 30 : 0);
	CHECK_EQ(profile_writer_close(writer), 0);
	return out;
}

TEST(summary_tells_what_was_recorded)
{
	struct profile_bytes bytes = make();
	struct profile_reader *reader;
	struct summary_clock clock;
	struct summary summary;
	struct source *source;

	CHECK_EQ(source_memory_open(bytes.data, bytes.size, &source), 0);
	CHECK_EQ(profile_reader_open(source, &reader), 0);
	CHECK_EQ(summary_read(reader, &summary), 0);
	CHECK_EQ(summary.status.state, PROFILE_UNFINISHED);
	CHECK(summary.streams[3].known && summary.streams[3].attached);
	CHECK_EQ(summary.streams[3].events, 7);
	CHECK_EQ(summary.streams[5].events, 2);
	CHECK(summary.streams[4].known && !summary.streams[4].attached);
	CHECK_STR(summary.streams[4].why_not, "no rights");
	CHECK(!summary.streams[1].known);
	CHECK_EQ(summary.losses[5].count, 35);
	CHECK_STR(summary.losses[5].text, "calls were counted only");
	CHECK_STR(summary.losses[5].one, "calls were counted only");
	CHECK_EQ(summary.last_time, 5025);
	summary_clock(&summary, &clock);
	CHECK_EQ(clock.pairs, 5);
	CHECK_EQ(clock.bracket_ns, 40);
	CHECK_EQ(clock.offset_ns, 1700000000000002000);
	CHECK_EQ(clock.step_ns, 8000);
	CHECK(clock.realtime_ppm > 1.999 && clock.realtime_ppm < 2.001);
	CHECK(clock.tsc_mhz > 2999.999 && clock.tsc_mhz < 3000.001);
	CHECK(clock.tsc_stray_ns > 29.9 && clock.tsc_stray_ns < 30.1);
	summary_free(&summary);
	profile_reader_close(reader);
	free(bytes.data);
}

static void check_times(struct paused *paused, const struct paused_time *expected, size_t n)
{
	size_t count;
	const struct paused_time *times = paused_times(paused, &count);

	CHECK_EQ(count, n);
	for (size_t i = 0; i < n; i++) {
		CHECK_EQ(times[i].recording, expected[i].recording);
		CHECK_EQ(times[i].begin, expected[i].begin);
		CHECK_EQ(times[i].end, expected[i].end);
	}
}

/* Of two recordings at once; records that repeat the state, or go back in time, change nothing. */
TEST(each_recording_has_its_own_pauses)
{
	static const struct {
		struct record_paused record;
		int result;
	} steps[] = {
		{{.time = 5, .recording = 1}, 0},
		{{.time = 10, .on = 1, .recording = 1}, 0},
		{{.time = 20, .on = 1, .recording = 2}, 0},
		{{.time = 25, .on = 1, .recording = 1}, 0},
		{{.time = 30, .recording = 2}, 1},
		{{.time = 40, .recording = 1}, 1},
		{{.time = 35, .on = 1, .recording = 1}, 0},
		{{.time = 38, .recording = 1}, 0},
		{{.time = 35, .on = 1, .recording = 1}, 0},
		{{.time = 50, .recording = 1}, 1},
		{{.time = 60, .on = 1, .recording = RECORDINGS_MAX}, -EBADMSG},
	};
	static const struct paused_time all[] = {{2, 20, 30, 0}, {1, 10, 40, 0}, {1, 40, 50, 0}};
	static const struct paused_time within[] = {{1, 25, 40, 0}, {2, 25, 30, 0}};
	struct paused paused = {0};

	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++)
		CHECK_EQ(paused_add(&paused, &steps[i].record), steps[i].result);
	check_times(&paused, all, 3);
	paused_clip(&paused, 25, 40);
	check_times(&paused, within, 2);
	paused_free(&paused);
}

/* Pauses at 10 to 20 and 40 to 50; another recording's overlap. */
TEST(pauses_are_left_out_of_a_span)
{
	static const uint64_t records[][4] = {{1, 10, 1}, {2, 5, 1},  {1, 20, 0},
					      {1, 40, 1}, {2, 45, 0}, {1, 50, 0}};
	static const uint64_t spans[][3] = {{0, 10, 0},  {0, 15, 5},  {0, 30, 10}, {15, 45, 10},
					    {0, 99, 20}, {20, 40, 0}, {60, 70, 0}, {30, 20, 0},
					    {12, 18, 6}, {50, 99, 0}};
	struct paused paused = {0};
	const struct paused_time *times;
	size_t count;

	for (size_t i = 0; i < sizeof(records) / sizeof(records[0]); i++)
		CHECK(paused_add(&paused, &(struct record_paused){.recording = records[i][0],
								  .time = records[i][1],
								  .on = records[i][2]}) >= 0);
	paused_clip(&paused, 0, 100);
	times = paused_times(&paused, &count);
	for (size_t i = 0; i < sizeof(spans) / sizeof(spans[0]); i++)
		CHECK_EQ(paused_between(times, count, 1, spans[i][0], spans[i][1]), spans[i][2]);
	CHECK_EQ(paused_between(times, count, 2, 0, 99), 40);
	CHECK_EQ(paused_between(times, count, 3, 0, 99), 0);
	paused_free(&paused);
}

TEST(every_state_and_error_has_words)
{
	static const int errors[] = {-ENODATA, -EBADMSG, -EPROTO, -EISDIR, -ENOENT, -EIO};

	for (int state = PROFILE_COMPLETE; state <= PROFILE_DAMAGED; state++) {
		CHECK(strlen(profile_state_name(state)) > 3);
		CHECK((profile_state_text(state) == NULL) == (state == PROFILE_COMPLETE));
	}
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		CHECK(strlen(profile_error_text(errors[i])) > 10);
}

TEST(runtimes_are_named)
{
	struct record record = {.kind = RECORD_runtime};
	const struct summary_pair *runtimes;
	struct profile_writer *writer;
	struct profile_reader *reader;
	struct profile_bytes bytes;
	struct summary summary;
	struct source *source;
	struct sink *sink;

	CHECK_EQ(sink_memory_create(&bytes.data, &bytes.size, &sink), 0);
	CHECK_EQ(profile_writer_create(sink, &writer), 0);
	record.runtime.process = 1;
	record.runtime.name = profile_writer_string(writer, "go", 2);
	record.runtime.version = profile_writer_string(writer, "1.2.3", 5);
	record.runtime.note = profile_writer_string(writer, "Not all.", 8);
	CHECK_EQ(profile_writer_put(writer, &record), 0);
	record.runtime.process = 2;
	record.runtime.version = record.runtime.note = 0;
	CHECK_EQ(profile_writer_put(writer, &record), 0);
	record.runtime.provider = 1;
	CHECK_EQ(profile_writer_put(writer, &record), 0);
	record.runtime.process = 3; /* another one with the same */
	CHECK_EQ(profile_writer_put(writer, &record), 0);
	record.runtime.provider = 0;
	record.runtime.name = 4711; /* a string that there is not */
	CHECK_EQ(profile_writer_put(writer, &record), 0);
	CHECK_EQ(profile_writer_close(writer), 0);
	CHECK_EQ(source_memory_open(bytes.data, bytes.size, &source), 0);
	CHECK_EQ(profile_reader_open(source, &reader), 0);
	CHECK_EQ(summary_read(reader, &summary), 0);
	runtimes = (const void *)summary.runtimes.data;
	CHECK_EQ(summary.runtimes.size / sizeof(*runtimes), 3);
	CHECK_STR(runtimes[0].key, "go 1.2.3");
	CHECK_STR(runtimes[0].value, "Not all.");
	CHECK_STR(runtimes[1].key, "go");
	CHECK_STR(runtimes[1].value, "");
	CHECK_STR(runtimes[2].key, "");
	CHECK_EQ(summary.providers.size / sizeof(*runtimes), 1);
	CHECK_STR(((const struct summary_pair *)(const void *)summary.providers.data)->key, "go");
	summary_free(&summary);
	profile_reader_close(reader);
	free(bytes.data);
}
