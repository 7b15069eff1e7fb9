/* SPDX-License-Identifier: BSD-2-Clause */
/* model_load.c: tests of loading: truncated, hostile and contradictory profiles; tables. */
#include <errno.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "model/world/arena.h"
#include "model/world/text.h"
#include "../../bpf/events.h"
#include "synthetic.h"

/* The recorder's own overhead belongs to no function unless the view wants it. */
TEST(recording_overhead_belongs_to_no_function)
{
	struct model_view view = {.recording = true};
	struct synthetic synthetic;
	struct source *source;
	struct model *model;
	uint64_t stack;

	synthetic_begin(&synthetic);
	PUT(&synthetic, recording, .start = 1000, .frequency = 1000);
	synthetic_process(&synthetic, 1000);
	stack = synthetic_stack(
		&synthetic, (uint64_t[]){synthetic_function(&synthetic, "/bin/app", 1, "f"), 0});
	PUT(&synthetic, cpu, .time = 2000, .thread = 1, .stack = stack, .mode = 1);
	PUT(&synthetic, cpu, .time = 3000, .thread = 1, .stack = stack, .mode = 2, .recording = 1);
	PUT(&synthetic, cpu, .time = 4000, .thread = 1, .stack = stack, .mode = 2, .ticks = 3,
	    .recording = 1);
	model = synthetic_loaded(&synthetic, 9000);
	CHECK_EQ(model->cpu.on_cpu_ns, 5000000);
	CHECK_EQ(model->cpu.kernel_ns, 0);
	CHECK_EQ(model->cpu.recording_ns, 4000000);
	CHECK(is_near(find_function(model, "f")->cpu_total_ns, 1e6, 1));
	model_free(model);
	CHECK_EQ(source_memory_open(synthetic.data, synthetic.size, &source), 0);
	CHECK_EQ(model_load_view(source, "x", &view, &model), 0);
	CHECK_EQ(model->cpu.on_cpu_ns, 5000000);
	CHECK_EQ(model->cpu.recording_ns, 0);
	synthetic_close(&synthetic, model);
}

/* A profile from a recorder that was killed on this machine, or that ended normally. */
static void check_warning(bool killed)
{
	char text[512] = {0};
	struct synthetic synthetic;
	struct utsname system;
	FILE *log = tmpfile();

	CHECK(log && dup2(fileno(log), STDERR_FILENO) >= 0 && uname(&system) == 0);
	synthetic_program(&synthetic, 1000);
	PUT(&synthetic, meta, .key = bytes_of("host"), .value = bytes_of(system.nodename));
	synthetic_function(&synthetic, "/bin/without-id", 1, NULL);
	synthetic_function(&synthetic, "/bin/without-id", 2, NULL);
	CHECK_EQ(profile_writer_flush(synthetic.writer), 0);
	if (killed)
		CHECK_EQ(profile_writer_close(synthetic.writer), 0);
	else
		synthetic_end(&synthetic, 2000);
	model_free(synthetic_load(&synthetic, synthetic.size));
	CHECK(pread(fileno(log), text, sizeof(text) - 1, 0) >= 0);
	CHECK_STR(text,
		  killed ? "gcprof: warning: /bin/without-id: its functions have no names: without "
			   "a build-id it may be another file than the recorded one\n"
			 : "");
	synthetic_free(&synthetic);
}

TEST(files_without_build_ids_are_not_symbolized)
{
	check_warning(true);
	check_warning(false);
}

TEST(truncated_profiles_give_what_could_be_read)
{
	struct synthetic synthetic;
	struct model *model;
	uint64_t last = 0;
	size_t whole;

	synthetic_program(&synthetic, 1000);
	for (uint64_t i = 0; i < 20; i++) {
		PUT(&synthetic, cpu, .time = 2000 + i, .thread = 1, .mode = 1);
		CHECK_EQ(profile_writer_flush(synthetic.writer), 0);
	}
	synthetic_end(&synthetic, 3000);
	whole = synthetic.size;
	for (size_t size = 1; size <= whole; size++) {
		struct source *source;
		int error;

		CHECK_EQ(source_memory_open(synthetic.data, size, &source), 0);
		model = NULL;
		error = model_load(source, "cut", &model);
		if (error) {
			/* Shorter than the header. */
			CHECK(last == 0);
			continue;
		}
		CHECK((size == whole) == (model->state == PROFILE_COMPLETE));
		CHECK(model->state != PROFILE_DAMAGED);
		CHECK(model->cpu.samples >= last);
		last = model->cpu.samples;
		model_free(model);
	}
	CHECK_EQ(last, 20);
	synthetic_free(&synthetic);
}

TEST(files_that_are_not_profiles_are_refused)
{
	struct source *source;
	struct model *model = NULL;

	CHECK_EQ(source_memory_open("", 0, &source), 0);
	CHECK_EQ(model_load(source, "empty", &model), -ENODATA);
	CHECK_EQ(source_memory_open("\177ELF, or so", 11, &source), 0);
	CHECK_EQ(model_load(source, "other", &model), -EBADMSG);
	CHECK(model == NULL);
	model_free(NULL);
}

/* Impossible ids, duplicate ids, and references to undefined ids. */
TEST(contradictory_records_are_refused_and_counted)
{
	struct synthetic synthetic;
	struct model *model;
	uint64_t frame, stack;

	synthetic_program(&synthetic, 1000);
	frame = synthetic_function(&synthetic, "/bin/app", 1, "f");
	stack = synthetic_stack(&synthetic, (uint64_t[]){frame, 0});
	PUT(&synthetic, process, .id = 1, .pid = 7);                       /* again */
	PUT(&synthetic, thread, .id = UINT64_MAX, .process = 1, .tid = 7); /* too far */
	PUT(&synthetic, thread, .id = 9, .process = 77, .tid = 7);         /* no process */
	PUT(&synthetic, string, .id = UINT64_MAX / 2, .text = bytes_of("x"));
	PUT(&synthetic, stack, .id = stack, .parent = stack, .frame = frame); /* its own parent */
	PUT(&synthetic, stack, .id = stack + 1, .parent = stack + 2, .frame = frame);
	PUT(&synthetic, stack, .id = stack + 3, .parent = stack,
	    .frame = frame); /* nothing wrong */
	PUT(&synthetic, stack, .id = stack + 2, .parent = stack + 3, .frame = frame);
	PUT(&synthetic, stack, .id = UINT64_C(1) << 40, .parent = 0, .frame = frame);
	PUT(&synthetic, cpu, .time = 2000, .thread = 5, .stack = stack);
	PUT(&synthetic, gc_begin, .time = 2000, .thread = 1, .kind = 99);
	PUT(&synthetic, fate, .time = 2000, .process = 1, .sample = 1, .outcome = 17);
	PUT(&synthetic, alloc, .time = 2000, .thread = 0, .sample = 1, .size = 8, .period = 8);
	PUT(&synthetic, loss, .time = 2000, .kind = UINT64_MAX, .count = 1);
	PUT(&synthetic, stream, .stream = UINT64_MAX, .attached = 1);
	PUT(&synthetic, cpu, .time = 2001, .thread = 1, .stack = UINT64_MAX);
	PUT(&synthetic, cpu, .time = 2002, .thread = 1, .stack = stack);
	model = synthetic_loaded(&synthetic, 4000);
	CHECK_EQ(model->refused, 14);
	CHECK_EQ(model->cpu.samples, 2);
	CHECK_EQ(find_function(model, "f")->cpu_samples, 1);
	CHECK_EQ(find_function(model, "(no stack)")->cpu_samples, 1);
	synthetic_close(&synthetic, model);
}

TEST(extreme_numbers_do_not_break_sums)
{
	struct synthetic synthetic;
	struct model *model;

	synthetic_program(&synthetic, 1000);
	PUT(&synthetic, alloc, .time = UINT64_MAX, .thread = 1, .sample = 1, .size = UINT64_MAX,
	    .period = 1);
	PUT(&synthetic, alloc, .time = 0, .thread = 1, .sample = 2, .size = 1,
	    .period = UINT64_MAX);
	PUT(&synthetic, alloc, .time = 0, .thread = 1, .sample = 3, .size = 0, .period = 0);
	PUT(&synthetic, alloc, .time = 0, .thread = 1, .sample = 3, .size = 1, .period = 1);
	PUT(&synthetic, gc_begin, .time = UINT64_MAX, .thread = 1, .heap = 1, .kind = 1);
	PUT(&synthetic, gc_end, .time = 5, .thread = 1, .heap = 1, .kind = 1, .has_stats = 1,
	    .promoted_bytes = UINT64_MAX);
	PUT(&synthetic, syscall, .time = 5, .thread = 1, .number = UINT64_MAX,
	    .duration = UINT64_MAX, .result = INT64_MIN, .gc_ns = UINT64_MAX);
	model = synthetic_loaded(&synthetic, 4000);
	CHECK_EQ(model->alloc.samples, 4); /* two have the same number */
	CHECK_EQ(model->refused, 0);
	CHECK(model->alloc.bytes.value > 1e19 && model->alloc.bytes.value < 1e20);
	CHECK_EQ(model->gc.minor.max_ns, 0);
	CHECK_EQ(model->n_syscalls, 1);
	synthetic_close(&synthetic, model);
}

static const struct model_syscall *find_call(const struct model *model, const char *name)
{
	for (size_t i = 0; i < model->n_syscalls; i++)
		if (strcmp(model->syscalls[i].name, name) == 0)
			return &model->syscalls[i];
	test_fail(__FILE__, __LINE__, "no call %s", name);
}

TEST(kernel_totals_of_system_calls_win_if_larger)
{
	struct synthetic synthetic;
	struct model *model;

	synthetic_program(&synthetic, 1000);
	PUT(&synthetic, process, .id = 2, .pid = 200, .time = 1000);
	/* Totals of read for two processes. The second process has two, which add up. */
	PUT(&synthetic, syscall_total, .time = 1, .process = 1, .number = 0, .count = 100,
	    .errors = 3, .total_ns = 1000, .max_ns = 90, .gc_count = 2, .gc_ns = 15,
	    .histogram = {"\x08\x63\x04\x01", 4}); /* bucket 8: 99, bucket 12: 1 */
	PUT(&synthetic, syscall_total, .time = 2, .process = 2, .number = 0, .count = 1);
	PUT(&synthetic, syscall_total, .time = 3, .process = 2, .number = 0, .count = 9,
	    .total_ns = 500, .max_ns = 80, .histogram = {"\x09\x0a", 2});
	PUT(&synthetic, syscall, .time = 4, .thread = 1, .number = 0, .duration = 5);
	/* write was called after the last totals. */
	PUT(&synthetic, syscall, .time = 4, .thread = 1, .number = 1, .duration = 700,
	    .result = -32, .gc_ns = 9);
	PUT(&synthetic, syscall, .time = 5, .thread = 1, .number = 1, .duration = 300,
	    .result = -5000);
	PUT(&synthetic, syscall, .time = 6, .thread = 1, .number = 999, .duration = 1);
	PUT(&synthetic, syscall, .time = 6, .thread = 1, .number = 4, .duration = 1, .flags = 4);
	PUT(&synthetic, cpu, .time = 7, .thread = 1, .mode = 2, .call = 1);
	PUT(&synthetic, cpu, .time = 8, .thread = 1, .mode = 2, .call = 1, .ticks = 2);
	PUT(&synthetic, cpu, .time = 9, .thread = 1, .mode = 2, .call = 2);
	PUT(&synthetic, cpu, .time = 10, .thread = 1, .mode = 2);
	PUT(&synthetic, cpu, .time = 11, .thread = 1, .mode = 2, .call = 1 + (UINT64_C(1) << 31));
	model = synthetic_loaded(&synthetic, 4000);
	CHECK_EQ(find_call(model, "read")->cpu_ns, 3 * find_call(model, "write")->cpu_ns);
	CHECK(find_call(model, "write")->cpu_ns > 0);
	CHECK_EQ(find_call(model, "read")->count, 110);
	CHECK_EQ(find_call(model, "read")->errors, 3);
	CHECK_EQ(find_call(model, "read")->total_ns, 1500);
	CHECK_EQ(find_call(model, "read")->max_ns, 90);
	CHECK_EQ(find_call(model, "read")->in_gc_count, 2);
	CHECK_EQ(find_call(model, "read")->in_gc_ns, 15);
	/* Bucket 8 is 8 to 9 ns, bucket 9 is 10 to 11 ns. */
	CHECK_EQ(find_call(model, "read")->p50_ns, 9);
	CHECK_EQ(find_call(model, "read")->p99_ns, 11);
	CHECK_EQ(find_call(model, "write")->count, 2);
	CHECK_EQ(find_call(model, "write")->errors, 1);
	CHECK_EQ(find_call(model, "write")->max_ns, 700);
	CHECK_EQ(find_call(model, "write")->in_gc_count, 1);
	CHECK_EQ(find_call(model, "syscall_999")->count, 1);
	CHECK_EQ(find_call(model, "write (32-bit)")->count, 1);
	CHECK_EQ(model->syscall_count, 114);
	synthetic_close(&synthetic, model);
}

TEST(threads_streams_and_losses_have_their_rows)
{
	struct synthetic synthetic;
	struct model *model;

	synthetic_program(&synthetic, 1000);
	PUT(&synthetic, stream, .stream = 1, .name = bytes_of("alloc"), .attached = 0,
	    .why_not = bytes_of("no gcprof probes"));
	PUT(&synthetic, stream, .stream = 3, .name = bytes_of("cpu"), .attached = 0,
	    .why_not = bytes_of("not yet"));
	PUT(&synthetic, stream, .stream = 3, .name = bytes_of("cpu"), .attached = 1);
	PUT(&synthetic, loss_kind, .kind = 2, .stream = 3, .severity = 1, .name = bytes_of("CPU"),
	    .text = bytes_of("timer samples were lost"));
	PUT(&synthetic, loss_kind, .kind = 3, .stream = 3, .severity = 2, .name = bytes_of("CUT"),
	    .text = bytes_of("were cut"), .one = bytes_of("was cut"));
	PUT(&synthetic, loss_kind, .kind = LOSS_UNPROBED, .stream = 3, .severity = 1,
	    .name = bytes_of("UNPROBED"), .text = bytes_of("milliseconds passed"));
	PUT(&synthetic, loss, .time = 1500, .kind = LOSS_UNPROBED, .count = 657);
	PUT(&synthetic, loss, .time = 1500, .kind = 2, .count = 3);
	PUT(&synthetic, loss, .time = 1500, .kind = 3, .count = 1);
	PUT(&synthetic, loss, .time = 2500, .kind = 2, .count = 2);
	PUT(&synthetic, comm, .time = 1100, .thread = 1,
	    .name = synthetic_string(&synthetic, "main-thread"));
	PUT(&synthetic, thread, .id = 2, .process = 1, .tid = 101);
	PUT(&synthetic, fork, .time = 1200, .thread = 1, .child = 2, .kind = 1);
	PUT(&synthetic, cpu, .time = 2000, .thread = 2, .mode = 2);
	PUT(&synthetic, comm, .time = 2500, .thread = 1,
	    .name = synthetic_string(&synthetic, "renamed"));
	model = synthetic_loaded(&synthetic, 4000);
	CHECK_EQ(model->n_threads, 2);
	CHECK_EQ(model->threads[0].tid, 101);
	CHECK_STR(model->threads[0].name, "main-thread");
	CHECK_STR(model->threads[1].name, "renamed");
	CHECK_EQ(model->cpu.kernel_ns, 1000000);
	CHECK_EQ(model->n_losses, 3);
	CHECK_STR(model->losses[0].unit, "events");
	CHECK_STR(model->losses[2].unit, "milliseconds");
	CHECK_EQ(model->losses[0].count, 5);
	CHECK_STR(model->losses[0].stream, "cpu");
	CHECK_STR(model->losses[0].text, "timer samples were lost");
	CHECK_STR(model->losses[1].text, "was cut");
	CHECK_STR(model->streams[0].why_not, "no gcprof probes");
	CHECK(model->streams[2].attached);
	/* Milliseconds are no events. */
	CHECK_EQ(model->streams[2].lost, 5);
	CHECK_EQ(model->streams[2].events, 1);
	CHECK_EQ(model->run.duration, 3000);
	synthetic_close(&synthetic, model);
}

/* Every stream alike, though the options read differently. */
TEST(streams_that_were_not_asked_for_name_their_option)
{
	static const char *const options[STREAM_END] = {
		[STREAM_CPU] = "-F 0",
		[STREAM_SYSCALL] = "--syscalls off",
		[STREAM_SCHED] = "--off-cpu",
		[STREAM_FAULT] = "--faults",
	};
	struct synthetic synthetic;
	struct model *model;
	char text[64];

	synthetic_program(&synthetic, 1000);
	for (uint64_t i = 1; i < STREAM_END; i++)
		PUT(&synthetic, stream, .stream = i, .name = bytes_of(stream_name(i)),
		    .attached = i == STREAM_ALLOC, .why = i > STREAM_GC ? WHY_UNASKED : WHY_TEXT,
		    .why_not = bytes_of(i == STREAM_GC ? "not asked for: a text" : ""));
	model = synthetic_loaded(&synthetic, 4000);
	CHECK(!model->streams[STREAM_ALLOC - 1].option &&
	      !model->streams[STREAM_ALLOC - 1].why_not);
	CHECK(!model->streams[STREAM_GC - 1].option);
	for (size_t i = 0; i < STREAM_END; i++) {
		if (!options[i])
			continue;
		snprintf(text, sizeof(text), "not asked for: %s", options[i]);
		CHECK_STR(model->streams[i - 1].option, options[i]);
		CHECK_STR(model->streams[i - 1].why_not, text);
	}
	synthetic_close(&synthetic, model);
}

/* The previous file may have a call in its total whose record comes first in this one. */
TEST(records_of_a_split_recording_count_if_totals_are_lacking)
{
	for (uint64_t lost = 0; lost < 2; lost++) {
		struct synthetic synthetic;
		struct model *model;

		synthetic_program(&synthetic, 1000);
		PUT(&synthetic, recording, .start = 1000, .part = 2);
		PUT(&synthetic, syscall_total, .time = 2000, .process = 1, .number = 0, .count = 3);
		PUT(&synthetic, syscall, .time = 1001, .thread = 1, .number = 1, .duration = 5);
		PUT(&synthetic, loss, .time = 2000, .kind = LOSS_SYSCALL_TOTALS, .count = lost);
		model = synthetic_loaded(&synthetic, 4000);
		CHECK_EQ(model->syscall_count, 3 + lost);
		CHECK_EQ(model->n_syscalls, 1 + lost);
		synthetic_close(&synthetic, model);
	}
}

TEST(totals_read_after_the_end_do_not_prolong_the_run)
{
	struct synthetic synthetic;
	struct model *model;

	synthetic_program(&synthetic, 1000);
	PUT(&synthetic, syscall_total, .time = 9000, .process = 1, .number = 0, .count = 1);
	model = synthetic_loaded(&synthetic, 4000);
	CHECK_EQ(model->run.duration, 3000);
	CHECK_EQ(model->run.wall, 3000);
	synthetic_close(&synthetic, model);
}

TEST(types_merge_by_name_and_new_programs_have_new_types)
{
	struct synthetic synthetic;
	struct model *model;

	synthetic_program(&synthetic, 1000);
	PUT(&synthetic, type, .process = 1, .type = 1, .name = synthetic_string(&synthetic, "a"));
	PUT(&synthetic, type, .process = 1, .type = 2, .name = synthetic_string(&synthetic, "a"));
	for (uint64_t i = 1; i <= 4; i++) {
		PUT(&synthetic, alloc, .time = 2000 + i, .thread = 1, .sample = i,
		    .type = 1 + i % 3, .size = 100000, .period = 1);
		if (i == 3)
			PUT(&synthetic, type, .process = 1, .type = 2,
			    .name = synthetic_string(&synthetic, "b"));
	}
	model = synthetic_loaded(&synthetic, 4000);
	CHECK_EQ(model->n_types, 3);
	CHECK_EQ(find_type(model, "a")->samples, 2);
	CHECK_EQ(find_type(model, "b")->samples, 1);
	CHECK_EQ(find_type(model, "type 3")->samples, 1);
	synthetic_close(&synthetic, model);
}

TEST(names_are_made_printable)
{
	static const struct {
		const char *bytes, *clean;
	} names[] = {
		{"plain name", "plain name"},
		{"\x1b[31mred", "\\x1b[31mred"},
		{"a\nb\tc\x7f", "a\\x0ab\\x09c\\x7f"},
		{"gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f"},
		{"bad \xff\xc3", "bad \\xff\\xc3"},
		{"over\xc0\xaflong", "over\\xc0\\xaflong"},
		{"\xed\xa0\x80", "\\xed\\xa0\\x80"},
		{"a\xe2\x80\xae"
		 "b",
		 "a\\u{202e}b"},
		{"c1\xc2\x9b"
		 "31m",
		 "c1\\x9b31m"},
		{"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"},
	};
	struct arena *arena;
	char *big;

	CHECK_EQ(arena_create(&arena), 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		CHECK_STR(name_clean(arena, bytes_of(names[i].bytes)), names[i].clean);
	big = malloc(1 << 20);
	memset(big, 1, 1 << 20);
	CHECK(strlen(name_clean(arena, (struct bytes){big, 1 << 20})) <= NAME_SIZE_MAX + 16);
	free(big);
	arena_free(arena);
}

/* Which was asked for: of programs that keep their own, what samples say. */
TEST(the_period_is_one_that_programs_have)
{
	static const struct {
		uint64_t asked, had, shown;
	} rows[] = {{65536, 65537, 65536}, {65536, 524288, 524288}, {524288, 65536, 524288}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct synthetic synthetic;
		struct model *model;

		synthetic_program(&synthetic, 1000);
		PUT(&synthetic, recording, .start = 1000, .period = rows[i].asked);
		PUT(&synthetic, alloc, .time = 2000, .thread = 1, .sample = 1, .type = 1,
		    .size = 100, .period = rows[i].had, .kind = 4);
		model = synthetic_loaded(&synthetic, 4000);
		CHECK_EQ(model->alloc.period, rows[i].shown);
		synthetic_close(&synthetic, model);
	}
}
