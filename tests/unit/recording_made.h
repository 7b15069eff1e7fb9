/* SPDX-License-Identifier: BSD-2-Clause */
/* recording_made.h: makes the same recording in one file and in several, for tests that compare
 * them.
 */
#ifndef GCPROF_RECORDING_MADE_H
#define GCPROF_RECORDING_MADE_H

#include "profile_make.h"
#include "profile/codes.h"

enum {
	PROCESSES = 3,
	THREADS = 4, /* of a process */
	FRAMES = 40,
	IDS = 4096,
	FILES = 16,
};

/* The same calls go to a writer with one file and to one with many. */
static struct {
	struct profile_writer *whole, *split;
	struct profile_bytes all, files[FILES];
	size_t n_files;
	uint64_t time, random;
	uint64_t named; /* bits: frames whose name was written */
	uint64_t calls[PROCESSES + 1];
	size_t segments, begins[FILES]; /* in the first file: those behind the first; bytes */
} made;

static inline struct sink *next_sink(void)
{
	struct profile_bytes *bytes = &made.files[made.n_files++];
	struct sink *sink;

	CHECK(made.n_files <= FILES);
	CHECK_EQ(sink_memory_create(&bytes->data, &bytes->size, &sink), 0);
	return sink;
}

static inline void put(const struct record *record)
{
	CHECK_EQ(profile_writer_put(made.whole, record), 0);
	CHECK_EQ(profile_writer_put(made.split, record), 0);
}

static inline uint64_t text(const char *text)
{
	uint64_t id = profile_writer_string(made.whole, text, strlen(text));

	CHECK_EQ(profile_writer_string(made.split, text, strlen(text)), id);
	return id;
}

/* `id`: of the recording. */
static inline void begin_at(uint64_t start, uint64_t id)
{
	struct record record = {.kind = RECORD_recording, .recording = {.start = start, .id = id}};
	struct sink *sink;

	memset(&made, 0, sizeof(made));
	made.time = start;
	CHECK_EQ(sink_memory_create(&made.all.data, &made.all.size, &sink), 0);
	CHECK_EQ(profile_writer_create(sink, &made.whole), 0);
	CHECK_EQ(profile_writer_create(next_sink(), &made.split), 0);
	made.begins[0] = profile_writer_size(made.split);
	CHECK_EQ(profile_writer_segments(made.whole, made.time), 0);
	CHECK_EQ(profile_writer_segments(made.split, made.time), 0);
	put(&record);
}

static inline void begin(void)
{
	begin_at(1000, 77);
}

static inline void next_segment(void)
{
	CHECK_EQ(profile_writer_flush(made.split), 0);
	made.begins[++made.segments] = profile_writer_size(made.split);
	CHECK_EQ(profile_writer_segment(made.split, made.time), 0);
}

/* The file without the segments before this one. */
static inline struct profile_bytes from_segment(size_t i)
{
	const struct profile_bytes *all = &made.files[0];
	struct profile_bytes rest = {NULL, made.begins[0] + all->size - made.begins[i]};

	rest.data = malloc(rest.size);
	CHECK(rest.data != NULL);
	memcpy(rest.data, all->data, made.begins[0]);
	memcpy(rest.data + made.begins[0], all->data + made.begins[i], all->size - made.begins[i]);
	return rest;
}

static inline void next_file(void)
{
	struct record end = {.kind = RECORD_end, .end = {.time = made.time, .reason = END_NEXT}};

	CHECK_EQ(profile_writer_put(made.split, &end), 0);
	CHECK_EQ(profile_writer_next(made.split, next_sink(), made.time), 0);
}

static inline void finish(void)
{
	struct record end = {.kind = RECORD_end, .end = {.time = made.time, .reason = 2}};

	put(&end);
	CHECK_EQ(profile_writer_close(made.whole), 0);
	CHECK_EQ(profile_writer_close(made.split), 0);
}

static inline void free_files_but_all(void)
{
	for (size_t i = 0; i < made.n_files; i++)
		free(made.files[i].data);
}

static inline void free_files(void)
{
	free(made.all.data);
	free_files_but_all();
}

static inline void define_world(void)
{
	for (uint64_t i = 1; i <= PROCESSES; i++) {
		struct record process = {
			.kind = RECORD_process,
			.process = {.id = i, .pid = 100 * i, .time = made.time, .parent = i - 1}};

		put(&process);
		for (uint64_t j = 1; j <= THREADS; j++) {
			struct record thread = {.kind = RECORD_thread,
						.thread = {.id = (i - 1) * THREADS + j,
							   .process = i,
							   .tid = 100 * i + j}};

			put(&thread);
		}
	}
}

static inline uint64_t random_below(uint64_t limit)
{
	return test_random(&made.random) % limit;
}

static inline uint64_t frame(uint64_t i)
{
	char path[32];
	uint64_t module, id;

	snprintf(path, sizeof(path), "/lib/%u.so", (unsigned)(i % 4));
	module = profile_writer_module(made.whole, path, "id", 2, NULL);
	CHECK_EQ(profile_writer_module(made.split, path, "id", 2, NULL), module);
	id = profile_writer_native(made.whole, module, i);
	CHECK_EQ(profile_writer_native(made.split, module, i), id);
	return id;
}

static inline uint64_t stack(void)
{
	uint64_t id = 0, depth = 1 + random_below(5);

	while (depth--) {
		uint64_t place = frame(random_below(FRAMES)), whole;

		whole = profile_writer_stack(made.whole, id, place);
		CHECK_EQ(profile_writer_stack(made.split, id, place), whole);
		id = whole;
	}
	return id;
}

/* Its name comes some time after a frame was met. */
static inline void name_frame(void)
{
	uint64_t i = random_below(FRAMES);
	struct record record = {.kind = RECORD_symbol};
	char name[32];

	if (made.named >> i & 1)
		return;
	made.named |= UINT64_C(1) << i;
	snprintf(name, sizeof(name), "function%u", (unsigned)i);
	record.symbol.frame = frame(i);
	record.symbol.name = text(name);
	put(&record);
	record.symbol.name = text("inlined");
	put(&record);
}

static inline void put_events(size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t thread = 1 + random_below(PROCESSES * THREADS), where = stack();
		struct record cpu = {
			.kind = RECORD_cpu,
			.cpu = {.time = ++made.time, .thread = thread, .stack = where}};
		struct record total = {.kind = RECORD_syscall_total};
		uint64_t process = 1 + random_below(PROCESSES), calls;

		if (random_below(4) == 0)
			name_frame();
		put(&cpu);
		calls = random_below(10);
		made.calls[process] += calls;
		total.syscall_total.time = made.time;
		total.syscall_total.process = process;
		total.syscall_total.number = 7;
		total.syscall_total.count = calls;
		total.syscall_total.total_ns = calls * 3;
		put(&total);
	}
}

#endif
