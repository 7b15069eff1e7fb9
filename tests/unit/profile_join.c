/* SPDX-License-Identifier: BSD-2-Clause */
/* profile_join.c: files that are merged have what they had, each process for itself. */
#include <errno.h>

#include "recording_read.h"
#include "profile/join.h"
#include "../../bpf/events.h"

/* --- merging ---------------------------------------------------------------------------------- */

static int open_bytes(void *context, size_t input, struct source **out)
{
	const struct profile_bytes *files = context;

	return source_memory_open(files[input].data, files[input].size, out);
}

/* What merge_plan() said; *out is what was written if that is 0. */
static int join_files(struct profile_bytes *files, size_t n, struct profile_bytes *out,
		      size_t *recordings, enum profile_state *states)
{
	static const char *const paths[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
	size_t input, other;
	struct sink *sink;
	struct join *join;
	int err;

	CHECK_EQ(join_create(paths, n, open_bytes, files, &join), 0);
	err = join_plan(join, &input, &other);
	if (!err) {
		CHECK_EQ(sink_memory_create(&out->data, &out->size, &sink), 0);
		CHECK_EQ(join_write(join, sink, &input), 0);
	}
	for (size_t i = 0; states && i < n; i++)
		CHECK(join_input_state(join, i, &states[i]));
	if (recordings)
		*recordings = join_recordings(join);
	join_free(join);
	return err;
}

static void make(size_t files, uint64_t start, uint64_t id, uint64_t seed)
{
	begin_at(start, id);
	made.random = seed;
	define_world();
	for (uint64_t i = 1; i <= PROCESSES * THREADS; i++) {
		const struct record title = {.kind = RECORD_title,
					     .title = {++made.time, i, text("name")}};

		put(&title);
	}
	for (size_t i = 0; i < files; i++) {
		if (i)
			next_file();
		put_events(100);
	}
	finish();
}

static struct {
	char lines[sizeof(result.lines)];
	uint64_t calls[1000], call_ns[1000];
} whole;

static void read_whole(const struct profile_bytes *bytes)
{
	memset(&result, 0, sizeof(result));
	add_file(bytes, true);
	memcpy(whole.lines, result.lines, sizeof(whole.lines));
	memcpy(whole.calls, result.calls, sizeof(whole.calls));
	memcpy(whole.call_ns, result.call_ns, sizeof(whole.call_ns));
	memset(&result, 0, sizeof(result));
}

/* --- tests ------------------------------------------------------------------------------------ */

/* In any order, they have together what one file has: each name, process and sum. */
TEST(join_files_of_a_recording_are_one)
{
	struct profile_bytes shuffled[8], joined, again[2], twice;
	size_t recordings;

	make(8, 1000, 77, test_seed());
	read_whole(&made.all);
	for (size_t i = 0; i < 8; i++)
		shuffled[i] = made.files[(i * 3 + 5) % 8];
	/* Without clocks files are taken in the order in which they are named. */
	CHECK_EQ(join_files(made.files, 8, &joined, &recordings, NULL), 0);
	CHECK_EQ(recordings, 1);
	add_file(&joined, true);
	CHECK_STR(result.lines, whole.lines);
	CHECK_EQ(file.defined[REF_process], PROCESSES);
	CHECK_EQ(file.defined[REF_thread], PROCESSES * THREADS);
	CHECK_EQ(count(RECORD_source), 8);
	CHECK_EQ(memcmp(result.calls, whole.calls, sizeof(whole.calls)), 0);
	CHECK_EQ(memcmp(result.call_ns, whole.call_ns, sizeof(whole.call_ns)), 0);
	free(joined.data);
	/* Some of them first, and the rest later. */
	CHECK_EQ(join_files(made.files, 3, &again[0], NULL, NULL), 0);
	CHECK_EQ(join_files(made.files + 3, 5, &again[1], NULL, NULL), 0);
	CHECK_EQ(join_files(again, 2, &twice, &recordings, NULL), 0);
	CHECK_EQ(recordings, 1);
	memset(&result, 0, sizeof(result));
	add_file(&twice, true);
	CHECK_STR(result.lines, whole.lines);
	CHECK_EQ(count(RECORD_source), 8);
	CHECK_EQ(memcmp(result.calls, whole.calls, sizeof(whole.calls)), 0);
	free(twice.data);
	free(again[0].data);
	free(again[1].data);
	CHECK_EQ(join_files(shuffled, 8, &joined, NULL, NULL), 0);
	free(joined.data);
	free_files();
}

/* Of two recordings nothing mixes, though all numbers and names are the same. */
TEST(join_processes_of_different_recordings_are_different)
{
	struct profile_bytes files[2], joined;
	uint64_t start, end, frames;
	size_t recordings;

	make(1, 1000, 77, 5);
	read_whole(&made.all);
	frames = file.defined[REF_frame];
	files[0] = made.all;
	free_files_but_all();
	make(1, 500, 78, 5);
	files[1] = made.all;
	free_files_but_all();
	CHECK_EQ(join_files(files, 2, &joined, &recordings, NULL), 0);
	CHECK_EQ(recordings, 2);
	memset(&result, 0, sizeof(result));
	add_file(&joined, true);
	CHECK_EQ(file.defined[REF_process], 2 * PROCESSES);
	CHECK_EQ(file.defined[REF_thread], 2 * PROCESSES * THREADS);
	for (uint64_t i = 1; i <= 2 * PROCESSES; i++)
		CHECK_EQ(file.processes[i].recording, 1 + (i - 1) / PROCESSES);
	for (size_t i = 100; i <= 100 * PROCESSES; i += 100)
		CHECK_EQ(result.calls[i], 2 * made.calls[i / 100]);
	/* The second lies behind the first. */
	CHECK_EQ(file.defined[REF_frame], 2 * frames);
	CHECK_EQ(count(RECORD_cpu), 200);
	start = first(RECORD_recording)->recording.start;
	end = first(RECORD_end)->end.time;
	CHECK_EQ(start, 1000);
	CHECK_EQ(end, 1200 + 2 * PROCESSES * THREADS);
	CHECK_EQ(first(RECORD_end)->end.reason, END_MERGED);
	for (size_t i = 0, n = 0; i < file.n; n += file.records[i++].kind == RECORD_cpu)
		if (file.records[i].kind == RECORD_cpu)
			CHECK_EQ(file.records[i].cpu.time,
				 1001 + (1 + n / 100) * PROCESSES * THREADS + n);
	free(joined.data);
	free(files[0].data);
	free(files[1].data);
}

TEST(join_refuses_what_is_there_twice)
{
	struct profile_bytes files[3], joined;

	make(2, 1000, 77, 1);
	files[0] = made.files[1];
	files[1] = made.files[0];
	files[2] = made.files[1];
	CHECK_EQ(join_files(files, 3, &joined, NULL, NULL), -EEXIST);
	files[2] = made.all;
	CHECK_EQ(join_files(files, 3, &joined, NULL, NULL), -EEXIST);
	free_files();
}

/* Each sample is one of the whole recording; times without a file are left out. */
static void check_lines(const struct profile_bytes *joined)
{
	memset(&result, 0, sizeof(result));
	add_file(joined, false);
	CHECK_EQ(count(RECORD_cpu), 200);
	/* Times of what is repeated are left out, too. */
	CHECK(count(RECORD_title) >= PROCESSES * THREADS);
	for (size_t i = 0; i < file.n; i++)
		if (file.records[i].kind == RECORD_title)
			CHECK(file.records[i].title.time >=
				      first(RECORD_recording)->recording.start &&
			      file.records[i].title.time <= first(RECORD_end)->end.time);
	for (const char *line = result.lines; *line; line = strchr(line, '\n') + 1) {
		char text[4096];

		line = strchr(line, ' ');
		snprintf(text, sizeof(text), "%.*s", (int)strcspn(line, "\n") + 1, line);
		CHECK(strstr(whole.lines, text) != NULL);
	}
}

/* What only the missing files define is there where it is used. */
TEST(join_files_between_which_some_are_missing)
{
	struct profile_bytes files[2], joined;

	make(8, 1000, 77, test_seed());
	memset(&result, 0, sizeof(result));
	add_file(&made.all, false);
	memcpy(whole.lines, result.lines, sizeof(whole.lines));
	files[0] = made.files[2];
	files[1] = made.files[6];
	CHECK_EQ(join_files(files, 2, &joined, NULL, NULL), 0);
	check_lines(&joined);
	free(joined.data);
	/* From the first segment on ids are as they were, until one is missing. */
	files[0] = made.files[0];
	CHECK_EQ(join_files(files, 2, &joined, NULL, NULL), 0);
	check_lines(&joined);
	free(joined.data);
	free_files();
}

/* Of an input that is cut off there is what can be read, and the others are whole. */
TEST(join_takes_what_can_be_read)
{
	struct profile_bytes files[3], joined;
	enum profile_state states[3];

	make(3, 1000, 77, 1);
	memcpy(files, made.files, sizeof(files));
	files[1].size -= 10;
	CHECK_EQ(join_files(files, 3, &joined, NULL, states), 0);
	CHECK(states[0] == PROFILE_COMPLETE && states[1] == PROFILE_TORN &&
	      states[2] == PROFILE_COMPLETE);
	memset(&result, 0, sizeof(result));
	read_file(&joined);
	CHECK(count(RECORD_cpu) >= 200);
	CHECK_EQ(count(RECORD_source), 3);
	free(joined.data);
	/* Cut off within its header. */
	files[1].size = 5;
	CHECK_EQ(join_files(files, 3, &joined, NULL, NULL), 0);
	read_file(&joined);
	CHECK_EQ(count(RECORD_cpu), 200);
	free(joined.data);
	free_files();
}

/* Whatever is in the records, what is written is well-formed. */
TEST(join_survives_forged_profiles)
{
	uint64_t random = test_seed();
	static char text[EXTREME_TEXT];
	struct profile_bytes files[3], joined;

	for (int i = 0; i < 3; i++) {
		struct profile_writer *writer;
		struct sink *sink;

		CHECK_EQ(sink_memory_create(&files[i].data, &files[i].size, &sink), 0);
		CHECK_EQ(profile_writer_create(sink, &writer), 0);
		for (int n = 0; n < 3000; n++) {
			unsigned kind = (unsigned)(test_random(&random) % RECORD_CODES);
			struct record record;

			if (!record_info(kind) || kind == RECORD_recording || kind == RECORD_end)
				continue;
			extreme_record(&record, kind, &random, text);
			if (record_defines(kind))
				record.string.id = test_random(&random) % 100;
			profile_writer_put(writer, &record);
		}
		CHECK_EQ(profile_writer_close(writer), 0);
	}
	if (!join_files(files, 3, &joined, NULL, NULL)) {
		CHECK_EQ(read_bytes(joined.data, joined.size).status.state, PROFILE_COMPLETE);
		free(joined.data);
	}
	for (int i = 0; i < 3; i++)
		free(files[i].data);
}
