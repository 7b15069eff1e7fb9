/* SPDX-License-Identifier: BSD-2-Clause */
/* profile_again.c: a profile may be read from any of its segments on. */
#include <errno.h>
#include <zstd.h>

#include "recording_read.h"
#include "profile/codec.h"
#include "profile/intern.h"
#include "../../bpf/events.h"

enum { SEGMENTS = 8, EVENTS = 200 };

static void make_segments(void)
{
	begin();
	made.random = test_seed();
	define_world();
	for (int i = 0; i < SEGMENTS; i++) {
		if (i)
			next_segment();
		put_events(EVENTS);
	}
	finish();
}

/* Lines of the last samples. */
static const char *last_lines(const char *lines, size_t n)
{
	const char *at = lines + strlen(lines);

	while (n && at > lines)
		n -= *--at == '\n' && at[1];
	return at == lines ? at : at + 1;
}

static void read_rest(size_t segment)
{
	struct profile_bytes rest = from_segment(segment);

	memset(&result, 0, sizeof(result));
	add_file(&rest, true);
	free(rest.data);
}

/* All segments together have each record once, and each is complete. */
TEST(segments_have_what_a_file_without_them_has)
{
	static char whole[sizeof(result.lines)];
	size_t records, size;

	make_segments();
	memset(&result, 0, sizeof(result));
	add_file(&made.all, true);
	records = file.n;
	memcpy(whole, result.lines, sizeof(whole));
	size = strlen(whole);
	for (size_t i = 0; i < SEGMENTS; i++) {
		read_rest(i);
		/* More segments and chunks, but nothing is repeated. */
		if (!i)
			CHECK_EQ(file.n, records + 2 * (SEGMENTS - 1));
		CHECK_EQ(count(RECORD_cpu), (SEGMENTS - i) * EVENTS);
		CHECK_EQ(count(RECORD_segment), SEGMENTS - i);
		CHECK(first(RECORD_segment)->segment.number == i + 1);
		CHECK_STR(result.lines, i ? last_lines(whole, (SEGMENTS - i) * EVENTS) : whole);
	}
	CHECK_EQ(strlen(whole), size);
	free_files();
}

/* Those in several files, too: each has the facts, and names of frames from before. */
TEST(segments_may_be_in_several_files)
{
	static char whole[sizeof(result.lines)];
	uint64_t calls[1000], call_ns[1000];

	begin();
	made.random = test_seed();
	define_world();
	for (int i = 0; i < SEGMENTS; i++) {
		if (i)
			next_file();
		put_events(EVENTS);
		while (made.named != (UINT64_C(1) << FRAMES) - 1)
			name_frame();
	}
	finish();
	memset(&result, 0, sizeof(result));
	add_file(&made.all, true);
	memcpy(whole, result.lines, sizeof(whole));
	memcpy(calls, result.calls, sizeof(calls));
	memcpy(call_ns, result.call_ns, sizeof(call_ns));
	memset(&result, 0, sizeof(result));
	CHECK_EQ(made.n_files, SEGMENTS);
	for (size_t i = 0; i < made.n_files; i++) {
		add_file(&made.files[i], true);
		CHECK(count(RECORD_cpu) == EVENTS && count(RECORD_recording) == 1);
		CHECK_EQ(first(RECORD_recording)->recording.start, 1000 + EVENTS * i);
		CHECK_EQ(first(RECORD_recording)->recording.part, i ? i + 1 : 0);
		CHECK_EQ(first(RECORD_recording)->recording.id, 77);
	}
	CHECK_STR(result.lines, whole);
	for (size_t i = 100; i <= 100 * PROCESSES; i += 100) {
		CHECK_EQ(calls[i], made.calls[i / 100]);
		CHECK_EQ(result.calls[i], calls[i]);
		CHECK_EQ(result.call_ns[i], call_ns[i]);
	}
	free_files();
}

static void put_comm(uint64_t thread, const char *name)
{
	struct record record = {
		.kind = RECORD_comm,
		.comm = {.time = ++made.time, .thread = thread, .name = text(name)}};

	put(&record);
}

static void put_cpu(uint64_t thread, uint64_t stack)
{
	struct record record = {.kind = RECORD_cpu,
				.cpu = {.time = ++made.time, .thread = thread, .stack = stack}};

	put(&record);
}

/* By comm, by their maker, by exec: wherever reading begins, and once. */
TEST(segments_name_threads)
{
	static const char *const names[] = {"main", "main", "worker", "tool"};
	struct record fork = {.kind = RECORD_fork, .fork = {.thread = 1, .kind = 1}};
	struct record exec = {.kind = RECORD_exec, .exec = {.thread = 4}};

	begin();
	define_world();
	put_comm(1, "main");
	for (fork.fork.child = 2; fork.fork.child <= 4; fork.fork.child++) {
		fork.fork.time = ++made.time;
		put(&fork);
	}
	put_comm(3, "worker");
	exec.exec.time = ++made.time;
	exec.exec.path = text("/usr/bin/tool");
	put(&exec);
	for (int i = 0; i < 2; i++) {
		next_segment();
		for (uint64_t thread = 1; thread <= 4; thread++)
			put_cpu(thread, 0);
	}
	put_comm(2, "second");
	finish();
	for (size_t i = 1; i <= 2; i++) {
		read_rest(i);
		CHECK_EQ(count(RECORD_comm), 5);
		CHECK_EQ(first(RECORD_comm)->comm.time, first(RECORD_segment)->segment.time);
		for (uint64_t thread = 1; thread <= 4; thread++)
			CHECK_STR(file.threads[thread].name,
				  thread == 2 ? "second" : names[thread - 1]);
	}
	read_rest(0);
	CHECK_EQ(count(RECORD_comm), 3);
	free_files();
}

/* Types and managed functions have names where something uses them, and only there. */
TEST(segments_name_what_they_use)
{
	struct record type = {.kind = RECORD_type, .type = {.process = 1}};
	struct record code = {.kind = RECORD_code, .code = {.process = 1}};
	struct record alloc = {.kind = RECORD_alloc, .alloc = {.thread = 1, .type = 3}};
	uint64_t frames[4];

	begin();
	define_world();
	for (uint64_t i = 1; i <= 3; i++) {
		type.type.type = code.code.code = i;
		type.type.name = code.code.name = text(i == 1 ? "one" : i == 2 ? "two" : "three");
		put(&type);
		put(&code);
		frames[i] = profile_writer_managed(made.whole, 1, i, 0);
		CHECK_EQ(profile_writer_managed(made.split, 1, i, 0), frames[i]);
	}
	frames[0] = profile_writer_stack(made.whole, 0, frames[2]);
	CHECK_EQ(profile_writer_stack(made.split, 0, frames[2]), frames[0]);
	for (int i = 0; i < 2; i++) {
		next_segment();
		alloc.alloc.time = ++made.time;
		alloc.alloc.sample++;
		put(&alloc);
		put_cpu(2, frames[0]);
	}
	finish();
	read_rest(1);
	CHECK_EQ(count(RECORD_type), 1);
	CHECK_EQ(first(RECORD_type)->type.type, 3);
	CHECK_STR(file.strings[first(RECORD_type)->type.name], "three");
	CHECK_EQ(count(RECORD_code), 1);
	CHECK_EQ(first(RECORD_code)->code.code, 2);
	CHECK_EQ(file.defined[REF_frame], 1);
	free_files();
}

/* As many stacks as are remembered, of any program. */
static void put_many_stacks(void)
{
	uint64_t parents[512], frames[512];

	for (uint64_t i = 0; i < 512; i++) {
		frames[i] = profile_writer_managed(made.split, 1, ++made.time, 0);
		parents[i] = profile_writer_stack(made.split, 0, frames[i]);
	}
	for (uint64_t i = 0; i < NODES_MAX; i++)
		profile_writer_stack(made.split, parents[i / 512], frames[i % 512]);
}

/* A stack from before many others is whole where it is used under a new id. */
TEST(stacks_are_renewed_after_many_others)
{
	struct record cpu = {.kind = RECORD_cpu, .cpu = {.thread = 2}};
	uint64_t stack, renewed;

	begin();
	define_world();
	stack = profile_writer_stack(made.split, 0, frame(1));
	stack = profile_writer_stack(made.split, stack, frame(2));
	CHECK(profile_writer_knows_stack(made.split, stack));
	CHECK_EQ(profile_writer_renew_stack(made.split, stack), stack);
	put_many_stacks();
	CHECK(!profile_writer_knows_stack(made.split, stack));
	renewed = profile_writer_renew_stack(made.split, stack);
	CHECK(renewed > NODES_MAX);
	next_segment();
	cpu.cpu.time = ++made.time;
	cpu.cpu.stack = renewed;
	CHECK_EQ(profile_writer_put(made.split, &cpu), 0);
	finish();
	read_rest(1);
	CHECK_EQ(file.defined[REF_stack], 2);
	CHECK_EQ(file.defined[REF_frame], 2);
	free_files();
}

TEST(stacks_are_lost_after_too_many_others)
{
	uint64_t stack;

	begin();
	define_world();
	stack = profile_writer_stack(made.split, 0, frame(1));
	for (int i = 0; i < 2; i++)
		put_many_stacks();
	CHECK_EQ(profile_writer_renew_stack(made.split, stack), 0);
	CHECK_EQ(profile_writer_renew_stack(made.split, 0), 0);
	/* A file without segments has defined it. */
	CHECK(profile_writer_knows_stack(made.whole, stack));
	CHECK_EQ(profile_writer_renew_stack(made.whole, stack), stack);
	finish();
	free_files();
}

/* What other definitions and notes use stays, however many strings come and go. */
TEST(what_is_in_use_outlasts_many_others)
{
	struct record cpu = {.kind = RECORD_cpu, .cpu = {.thread = 2}};
	char name[128];

	begin();
	define_world();
	while (made.named != (UINT64_C(1) << FRAMES) - 1)
		name_frame();
	cpu.cpu.stack = profile_writer_stack(made.split, 0, frame(1));
	for (int i = 0; i < 300000; i++)
		profile_writer_string(made.split, name,
				      (size_t)snprintf(name, sizeof(name), "%0100d", i));
	next_segment();
	cpu.cpu.time = ++made.time;
	CHECK_EQ(profile_writer_put(made.split, &cpu), 0);
	finish();
	read_rest(1);
	CHECK_EQ(count(RECORD_symbol), 2);
	CHECK(file.names[1] && *file.strings[file.names[1]]);
	CHECK(file.modules[1] && *file.strings[file.modules[1]]);
	free_files();
}

static void put_gc(enum record_kind kind, uint64_t cycle)
{
	struct record record = {.kind = kind};

	if (kind == RECORD_gc_begin)
		record.gc_begin = (struct record_gc_begin){
			.time = ++made.time, .thread = 1, .heap = 9, .cycle = cycle, .kind = 1};
	else
		record.gc_end = (struct record_gc_end){
			.time = ++made.time, .thread = 2, .heap = 9, .cycle = cycle, .kind = 1};
	put(&record);
}

/* A collection in progress is there from its begin on, a paused recording is paused, and until when
 * calls were traced is known. */
TEST(segments_begin_with_the_state)
{
	struct record window = {.kind = RECORD_call_window, .call_window = {1000, 1001, 5, 0}};
	struct record paused = {.kind = RECORD_paused, .paused = {.time = 1002, .on = 1}};

	begin();
	define_world();
	put_gc(RECORD_gc_begin, 1);
	put_gc(RECORD_gc_end, 1);
	put(&window);
	put(&paused);
	put_gc(RECORD_gc_begin, 2);
	made.time = 2000;
	next_segment();
	/* Of the thread whose process has the collection. */
	put_cpu(1, 0);
	put_gc(RECORD_gc_end, 2);
	next_segment();
	put_cpu(1, 0);
	finish();
	read_rest(1);
	CHECK_EQ(count(RECORD_gc_begin), 1);
	CHECK_EQ(first(RECORD_gc_begin)->gc_begin.cycle, 2);
	CHECK_EQ(first(RECORD_gc_begin)->gc_begin.time, 1003);
	CHECK_EQ(first(RECORD_gc_begin)->gc_begin.thread, 1);
	CHECK_EQ(file.defined[REF_thread], 2);
	CHECK(first(RECORD_gc_begin) < first(RECORD_gc_end));
	CHECK_EQ(count(RECORD_paused), 1);
	CHECK_EQ(first(RECORD_paused)->paused.time, 2000);
	CHECK_EQ(count(RECORD_call_window), 1);
	CHECK_EQ(first(RECORD_call_window)->call_window.end, 2000);
	read_rest(2);
	CHECK_EQ(count(RECORD_gc_begin), 0);
	CHECK_EQ(count(RECORD_paused), 1);
	read_rest(0);
	CHECK_EQ(count(RECORD_gc_begin), 2);
	CHECK_EQ(count(RECORD_call_window), 1);
	free_files();
}

/* What ended long ago takes no memory, and is not repeated. */
TEST(segments_forget_threads_that_ended)
{
	struct record exit = {.kind = RECORD_exit, .exit = {.thread = 1}};

	begin();
	define_world();
	exit.exit.time = ++made.time;
	put(&exit);
	put_cpu(1, 0);
	made.time += UINT64_C(20000000000);
	exit.exit.time = made.time;
	exit.exit.thread = 2;
	put(&exit);
	next_segment();
	put_cpu(1, 0);
	put_cpu(2, 0);
	finish();
	read_rest(1);
	CHECK_EQ(file.defined[REF_thread], 1);
	CHECK_EQ(first(RECORD_cpu)->cpu.thread, 0);
	free_files();
}

/* Puts samples until the segment is long at this time; returns their number. */
static int fill(uint64_t time, uint64_t (*where)(void))
{
	int n = 0;

	while (!profile_writer_is_long(made.split, time)) {
		CHECK(++n < 10000000);
		put_cpu(1 + random_below(PROCESSES * THREADS), where());
		if (n % 1000 == 0)
			CHECK_EQ(profile_writer_flush(made.split), 0);
	}
	return n;
}

/* Each time another stack, of which the second segment repeats many. */
static uint64_t any_stack(void)
{
	static uint64_t n;
	uint64_t id = 0;

	for (uint64_t depth = 0; depth < 3; depth++) {
		uint64_t place = frame(n++ % 1000), whole;

		whole = profile_writer_stack(made.whole, id, place);
		CHECK_EQ(profile_writer_stack(made.split, id, place), whole);
		id = whole;
	}
	return id;
}

/* A segment lasts for some time, has a size, and what it repeats is a small part of it. */
TEST(segments_have_a_length)
{
	const uint64_t seconds = UINT64_C(1000000000);
	int first, second;

	begin();
	define_world();
	first = fill(1000 + 10 * seconds, any_stack);
	CHECK(!profile_writer_is_long(made.split, 999 + 10 * seconds));
	CHECK(profile_writer_is_long(made.split, 1000 + 10 * seconds));
	next_segment();
	second = fill(made.time + 10 * seconds, any_stack);
	CHECK(first > 100000 && second >= first);
	finish();
	free_files();
}

/* --- bytes ------------------------------------------------------------------------------------ */

static struct codec codec;

/* A profile with these records in a chunk, and a chunk with this number and record. */
static enum profile_state state_of(const struct record *records, size_t n)
{
	const struct record header = {.kind = RECORD_header,
				      .header = {{"gcprof", 6}, FORMAT_NUMBER, {"", 0}}};
	struct buffer plain = {0};
	enum profile_state state;
	size_t size;
	char *packed;

	codec_reset(&codec, 0);
	CHECK_EQ(codec_encode(&codec, &header, &plain), 0);
	for (size_t i = 0; i < n; i++) {
		if (records[i].kind == RECORD_chunk)
			codec_reset(&codec, records[i].chunk.time);
		CHECK_EQ(codec_encode(&codec, &records[i], &plain), 0);
	}
	size = ZSTD_compressBound(plain.size);
	packed = malloc(size);
	size = ZSTD_compress(packed, size, plain.data, plain.size, 1);
	state = read_bytes(packed, size).status.state;
	free(packed);
	buffer_free(&plain);
	return state;
}

static struct record repeats(uint64_t back, struct buffer *records, enum record_kind kind)
{
	const struct record record = {.kind = kind};
	struct record again = {.kind = RECORD_again, .again = {.back = back}};

	codec_reset(&codec, 0);
	records->size = 0;
	CHECK_EQ(codec_encode(&codec, &record, records), 0);
	again.again.records = (struct bytes){records->data, records->size};
	return again;
}

TEST(segments_are_numbered_and_repeat_definitions_only)
{
	static const enum record_kind refused[] = {RECORD_header, RECORD_chunk, RECORD_segment,
						   RECORD_again, RECORD_end};
	struct record chunk = {.kind = RECORD_chunk}, comm = {.kind = RECORD_comm};
	struct record segment = {.kind = RECORD_segment, .segment = {7, 1000}};
	struct buffer bytes = {0};

	CHECK_EQ(state_of((struct record[]){chunk, comm, chunk, segment}, 4), PROFILE_UNFINISHED);
	CHECK_EQ(state_of((struct record[]){chunk, comm, chunk, comm}, 4), PROFILE_DAMAGED);
	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
		struct record again = repeats(1, &bytes, refused[i]);

		CHECK_EQ(state_of((struct record[]){chunk, segment, again}, 3), PROFILE_DAMAGED);
		again.again.back = 0;
		CHECK_EQ(state_of((struct record[]){chunk, segment, again}, 3), PROFILE_UNFINISHED);
		again.again.back = UINT64_MAX;
		CHECK_EQ(state_of((struct record[]){chunk, segment, again}, 3), PROFILE_DAMAGED);
	}
	CHECK_EQ(state_of((struct record[]){chunk, segment, repeats(1, &bytes, RECORD_comm)}, 3),
		 PROFILE_UNFINISHED);
	buffer_free(&bytes);
}
