/* SPDX-License-Identifier: BSD-2-Clause */
/* profile_carry.c: a recording in several files has what it has in one, and each stands alone. */
#include <errno.h>

#include "carry_read.h"
#include "../../bpf/events.h"

/* --- tests ------------------------------------------------------------------------------------ */

TEST(carry_many_files_have_what_one_has)
{
	static char whole[sizeof(result.lines)];
	uint64_t calls[1000], call_ns[1000];

	begin();
	made.random = test_seed();
	define_world();
	for (int i = 0; i < 8; i++) {
		if (i)
			next_file();
		put_events(200);
	}
	finish();
	memset(&result, 0, sizeof(result));
	add_file(&made.all, false);
	CHECK_EQ(count(RECORD_cpu), 1600);
	memcpy(whole, result.lines, sizeof(whole));
	memcpy(calls, result.calls, sizeof(calls));
	memcpy(call_ns, result.call_ns, sizeof(call_ns));
	memset(&result, 0, sizeof(result));
	CHECK_EQ(made.n_files, 8);
	for (size_t i = 0; i < made.n_files; i++) {
		add_file(&made.files[i], false);
		CHECK(count(RECORD_cpu) == 200 && count(RECORD_recording) == 1);
		CHECK(first(RECORD_recording)->recording.start == (i ? 1000 + 200 * i : 1000));
	}
	CHECK_STR(result.lines, whole);
	for (size_t i = 100; i <= 100 * PROCESSES; i += 100) {
		CHECK_EQ(calls[i], made.calls[i / 100]);
		CHECK_EQ(result.calls[i], calls[i]);
		CHECK_EQ(result.call_ns[i], call_ns[i]);
	}
	free_files();
}

/* The last file has the names that came in all before, and each function once. */
TEST(carry_names_go_with_frames)
{
	const char *names;

	begin();
	made.random = 1;
	define_world();
	put_events(300);
	while (made.named != (UINT64_C(1) << FRAMES) - 1)
		name_frame();
	next_file();
	put_events(50);
	finish();
	memset(&result, 0, sizeof(result));
	add_file(&made.files[1], true);
	CHECK_EQ(count(RECORD_cpu), 50);
	for (names = result.lines; (names = strchr(names, '+'));) {
		unsigned offset;

		names++;
		CHECK_EQ(sscanf(names, "%u=function%*u", &offset), 1);
		names += strspn(names, "0123456789");
		CHECK(strncmp(names, "=function", 9) == 0);
		CHECK_EQ(atoi(names + 9), offset);
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

static void put_cpu(uint64_t thread)
{
	struct record record = {.kind = RECORD_cpu, .cpu = {.time = ++made.time, .thread = thread}};

	put(&record);
}

/* By comm, by their maker, by exec: and when none of these is in the file. */
TEST(carry_threads_keep_their_names)
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
		next_file();
		for (uint64_t thread = 1; thread <= 4; thread++)
			put_cpu(thread);
	}
	finish();
	for (size_t i = 1; i < 3; i++) {
		read_file(&made.files[i]);
		CHECK_EQ(count(RECORD_comm), 4);
		for (uint64_t thread = 1; thread <= 4; thread++)
			CHECK_STR(file.threads[thread].name, names[thread - 1]);
		/* Not before the file begins. */
		CHECK_EQ(first(RECORD_comm)->comm.time, first(RECORD_recording)->recording.start);
	}
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

/* One that is under way is in the file in which it ends, from its begin on; no other is. */
TEST(carry_collections_under_way)
{
	begin();
	define_world();
	put_gc(RECORD_gc_begin, 1);
	put_gc(RECORD_gc_end, 1);
	put_gc(RECORD_gc_begin, 2);
	next_file();
	put_gc(RECORD_gc_end, 2);
	next_file();
	put_cpu(1);
	finish();
	read_file(&made.files[1]);
	CHECK_EQ(count(RECORD_gc_begin), 1);
	CHECK_EQ(first(RECORD_gc_begin)->gc_begin.cycle, 2);
	CHECK_EQ(first(RECORD_gc_begin)->gc_begin.time, 1003);
	CHECK(first(RECORD_gc_begin) < first(RECORD_gc_end));
	read_file(&made.files[2]);
	CHECK_EQ(count(RECORD_gc_begin), 0);
	free_files();
}

/* What ended long ago takes no memory, and nothing of it is written any more. */
TEST(carry_forgets_threads_that_ended)
{
	struct record exit = {.kind = RECORD_exit, .exit = {.thread = 1}};
	struct record cpu = {.kind = RECORD_cpu, .cpu = {.thread = 1}};

	begin();
	define_world();
	exit.exit.time = ++made.time;
	put(&exit);
	put_cpu(1);
	made.time += UINT64_C(20000000000);
	exit.exit.time = made.time;
	exit.exit.thread = 2;
	put(&exit);
	cpu.cpu.time = ++made.time;
	CHECK_EQ(profile_writer_put(made.split, &cpu), -ENOENT);
	cpu.cpu.thread = 2;
	CHECK_EQ(profile_writer_put(made.split, &cpu), 0);
	finish();
	read_file(&made.files[0]);
	CHECK_EQ(count(RECORD_cpu), 2);
	free_files();
}
