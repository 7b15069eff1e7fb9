/* SPDX-License-Identifier: BSD-2-Clause */
/* profile_carry.c: a recording in several files has what it has in one, and each stands alone. */
#include <errno.h>

#include "profile_make.h"
#include "profile/codes.h"
#include "../../bpf/events.h"

enum {
	PROCESSES = 3,
	THREADS = 4, /* of a process */
	FRAMES = 40,
	IDS = 4096,
	FILES = 16,
};

/* --- writing ---------------------------------------------------------------------------------- */

/* The same calls go to a writer with one file and to one with many. */
static struct {
	struct profile_writer *whole, *split;
	struct profile_bytes all, files[FILES];
	size_t n_files;
	uint64_t time, random;
	uint64_t named; /* bits: frames whose name was written */
	uint64_t calls[PROCESSES + 1];
} made;

static struct sink *next_sink(void)
{
	struct profile_bytes *bytes = &made.files[made.n_files++];
	struct sink *sink;

	CHECK(made.n_files <= FILES);
	CHECK_EQ(sink_memory_create(&bytes->data, &bytes->size, &sink), 0);
	return sink;
}

static void put(const struct record *record)
{
	CHECK_EQ(profile_writer_put(made.whole, record), 0);
	CHECK_EQ(profile_writer_put(made.split, record), 0);
}

static uint64_t text(const char *text)
{
	uint64_t id = profile_writer_string(made.whole, text, strlen(text));

	CHECK_EQ(profile_writer_string(made.split, text, strlen(text)), id);
	return id;
}

static void begin(void)
{
	struct record record = {.kind = RECORD_recording, .recording = {.start = 1000}};
	struct sink *sink;

	memset(&made, 0, sizeof(made));
	made.time = 1000;
	CHECK_EQ(sink_memory_create(&made.all.data, &made.all.size, &sink), 0);
	CHECK_EQ(profile_writer_create(sink, &made.whole), 0);
	CHECK_EQ(profile_writer_create(next_sink(), &made.split), 0);
	CHECK_EQ(profile_writer_carry(made.split), 0);
	put(&record);
}

static void next_file(void)
{
	struct record end = {.kind = RECORD_end, .end = {.time = made.time, .reason = END_NEXT}};

	CHECK_EQ(profile_writer_put(made.split, &end), 0);
	CHECK_EQ(profile_writer_next(made.split, next_sink(), made.time), 0);
}

static void finish(void)
{
	struct record end = {.kind = RECORD_end, .end = {.time = made.time, .reason = 2}};

	put(&end);
	CHECK_EQ(profile_writer_close(made.whole), 0);
	CHECK_EQ(profile_writer_close(made.split), 0);
}

static void free_files(void)
{
	free(made.all.data);
	for (size_t i = 0; i < made.n_files; i++)
		free(made.files[i].data);
}

static void define_world(void)
{
	for (uint64_t i = 1; i <= PROCESSES; i++) {
		struct record process = {
			.kind = RECORD_process,
			.process = {.id = i, .pid = 100 * i, .time = 1000, .parent = i - 1}};

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

static uint64_t random_below(uint64_t limit)
{
	return test_random(&made.random) % limit;
}

static uint64_t frame(uint64_t i)
{
	char path[32];
	uint64_t module, id;

	snprintf(path, sizeof(path), "/lib/%u.so", (unsigned)(i % 4));
	module = profile_writer_module(made.whole, path, "id", 2);
	CHECK_EQ(profile_writer_module(made.split, path, "id", 2), module);
	id = profile_writer_native(made.whole, module, i);
	CHECK_EQ(profile_writer_native(made.split, module, i), id);
	return id;
}

static uint64_t stack(void)
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
static void name_frame(void)
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

static void put_events(size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t thread = 1 + random_below(PROCESSES * THREADS), where = stack();
		struct record cpu = {
			.kind = RECORD_cpu,
			.cpu = {.time = ++made.time, .thread = thread, .stack = where}};
		struct record total = {.kind = RECORD_syscall_total};
		uint64_t process = 1 + random_below(PROCESSES);

		if (random_below(4) == 0)
			name_frame();
		put(&cpu);
		made.calls[process] += random_below(10);
		total.syscall_total.time = made.time;
		total.syscall_total.process = process;
		total.syscall_total.number = 7;
		total.syscall_total.count = made.calls[process];
		total.syscall_total.total_ns = made.calls[process] * 3;
		put(&total);
	}
}

/* --- reading ---------------------------------------------------------------------------------- */

struct named_thread {
	uint64_t tid, process;
	char name[32];
};

/* What there is so far in the file that is being read. */
static struct {
	char strings[IDS][64];
	uint64_t modules[IDS]; /* path */
	struct record_native_frame frames[IDS];
	uint64_t names[IDS], n_names[IDS]; /* of a frame: the first */
	struct record_stack stacks[IDS];
	struct record_process processes[IDS];
	struct named_thread threads[IDS];
	uint64_t calls[IDS], call_ns[IDS]; /* by process */
	uint64_t defined[REFS];            /* ids */
	char histogram[64];                /* the last one */
	struct record records[IDS];
	size_t n;
} file;

/* A line for each timer sample, and sums over files. */
static struct {
	char lines[1 << 20];
	size_t used;
	uint64_t calls[1000], call_ns[1000]; /* by pid */
} result;

static void define_record(const struct record *record)
{
	enum record_ref kind = record_defines(record->kind);
	uint64_t id = record->string.id;

	/* One after the other, so that readers have them in arrays. */
	CHECK_EQ(id, ++file.defined[kind]);
	CHECK(id < IDS);
	switch (record->kind) {
	case RECORD_string:
		snprintf(file.strings[id], 64, "%.*s", (int)record->string.text.size,
			 record->string.text.data);
		break;
	case RECORD_module:
		file.modules[id] = record->module.path;
		break;
	case RECORD_native_frame:
		file.frames[id] = record->native_frame;
		break;
	case RECORD_stack:
		file.stacks[id] = record->stack;
		break;
	case RECORD_process:
		file.processes[id] = record->process;
		break;
	case RECORD_thread:
		file.threads[id].tid = record->thread.tid;
		file.threads[id].process = record->thread.process;
		break;
	default:
		break;
	}
}

/* Everything that a record refers to stands before it. */
static void check_references(const struct record *record)
{
	const struct record_info *info = record_info(record->kind);

	for (size_t i = 0; i < info->n_fields; i++) {
		uint64_t id;

		memcpy(&id, (const char *)record + info->fields[i].offset, sizeof(id));
		if (info->fields[i].ref)
			CHECK(id <= file.defined[info->fields[i].ref]);
	}
}

static void take(const struct record *record)
{
	check_references(record);
	if (record_defines(record->kind))
		define_record(record);
	if (record->kind == RECORD_symbol && !file.n_names[record->symbol.frame]++)
		file.names[record->symbol.frame] = record->symbol.name;
	if (record->kind == RECORD_comm)
		memcpy(file.threads[record->comm.thread].name, file.strings[record->comm.name], 31);
	if (record->kind == RECORD_syscall_total) {
		file.calls[record->syscall_total.process] = record->syscall_total.count;
		file.call_ns[record->syscall_total.process] = record->syscall_total.total_ns;
		snprintf(file.histogram, sizeof(file.histogram), "%.*s",
			 (int)record->syscall_total.histogram.size,
			 record->syscall_total.histogram.data);
	}
	if (!record_defines(record->kind))
		file.records[file.n++] = *record;
}

static void read_file(const struct profile_bytes *bytes)
{
	struct profile_reader *reader;
	struct profile_status status;
	struct source *source;
	struct record record;

	memset(&file, 0, sizeof(file));
	CHECK_EQ(source_memory_open(bytes->data, bytes->size, &source), 0);
	CHECK_EQ(profile_reader_open(source, &reader), 0);
	while (profile_reader_next(reader, &record) > 0)
		take(&record);
	profile_reader_status(reader, &status);
	CHECK_EQ(status.state, PROFILE_COMPLETE);
	profile_reader_close(reader);
}

/* The first record of a kind, or NULL. */
static const struct record *first(enum record_kind kind)
{
	for (size_t i = 0; i < file.n; i++)
		if (file.records[i].kind == kind)
			return &file.records[i];
	return NULL;
}

static size_t count(enum record_kind kind)
{
	size_t n = 0;

	for (size_t i = 0; i < file.n; i++)
		n += file.records[i].kind == kind;
	return n;
}

/* The sample with everything that it refers to looked up; names as of the end of the file. */
static void add_line(const struct record_cpu *cpu, bool names)
{
	const struct named_thread *thread = &file.threads[cpu->thread];
	char *at = result.lines + result.used;
	size_t room = sizeof(result.lines) - result.used, n;

	n = (size_t)snprintf(at, room, "%" PRIu64 " %" PRIu64 " %" PRIu64, cpu->time,
			     file.processes[thread->process].pid, thread->tid);
	for (uint64_t id = cpu->stack; id; id = file.stacks[id].parent) {
		const struct record_native_frame *frame = &file.frames[file.stacks[id].frame];

		n += (size_t)snprintf(at + n, room - n, " %s+%" PRIu64,
				      file.strings[file.modules[frame->module]], frame->offset);
		if (!names || !file.names[frame->id])
			continue;
		CHECK_EQ(file.n_names[frame->id], 2);
		n += (size_t)snprintf(at + n, room - n, "=%s", file.strings[file.names[frame->id]]);
	}
	n += (size_t)snprintf(at + n, room - n, "\n");
	CHECK(n < room);
	result.used += n;
}

static void add_file(const struct profile_bytes *bytes, bool names)
{
	read_file(bytes);
	for (size_t i = 0; i < file.n; i++)
		if (file.records[i].kind == RECORD_cpu)
			add_line(&file.records[i].cpu, names);
	for (uint64_t i = 1; i <= file.defined[REF_process]; i++) {
		result.calls[file.processes[i].pid] += file.calls[i];
		result.call_ns[file.processes[i].pid] += file.call_ns[i];
	}
}

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

static void put_usage(uint64_t flags, uint64_t faults, uint64_t longest)
{
	struct record record = {.kind = RECORD_usage,
				.usage = {.time = ++made.time,
					  .thread = 1,
					  .minor_faults = faults,
					  .flags = flags,
					  .call_max = longest}};

	put(&record);
}

/* Of a thread that ends after it was asked what it used, the last word counts, once. */
TEST(carry_usage_is_in_each_file_once)
{
	begin();
	define_world();
	put_usage(USAGE_GOES_ON, 10, 50);
	next_file();
	put_usage(USAGE_GOES_ON, 15, 50);
	put_usage(0, 17, 60);
	next_file();
	put_cpu(1);
	finish();
	read_file(&made.files[0]);
	CHECK_EQ(first(RECORD_usage)->usage.minor_faults, 10);
	CHECK_EQ(first(RECORD_usage)->usage.call_max, 50);
	read_file(&made.files[1]);
	CHECK_EQ(count(RECORD_usage), 1);
	CHECK_EQ(first(RECORD_usage)->usage.minor_faults, 7);
	CHECK_EQ(first(RECORD_usage)->usage.call_max, 60);
	read_file(&made.files[2]);
	CHECK_EQ(count(RECORD_usage), 0);
	free_files();
}

static void put_histogram(uint64_t count, uint64_t max, const uint8_t *pairs, size_t size)
{
	struct record record = {.kind = RECORD_syscall_total};

	record.syscall_total.time = ++made.time;
	record.syscall_total.process = 1;
	record.syscall_total.count = count;
	record.syscall_total.max_ns = max;
	record.syscall_total.histogram = (struct bytes){(const char *)pairs, size};
	put(&record);
}

/* The longest call is known if it is a new one, or else where its bucket begins. */
TEST(carry_histograms_are_subtracted)
{
	static const uint8_t before[] = {2, 5, 10, 1, 30, 1}, after[] = {2, 5, 8, 3, 2, 2, 30, 1};
	static const uint8_t difference[] = {10, 3, 2, 1};
	const struct record_syscall_total *total;

	begin();
	define_world();
	put_histogram(7, 5000, before, sizeof(before));
	next_file();
	put_histogram(11, 5000, after, sizeof(after));
	finish();
	read_file(&made.files[1]);
	total = &first(RECORD_syscall_total)->syscall_total;
	CHECK_EQ(total->count, 4);
	CHECK_EQ(total->histogram.size, sizeof(difference));
	CHECK_EQ(memcmp(file.histogram, difference, sizeof(difference)), 0);
	/* Bucket 12 begins at 4 << 2. */
	CHECK_EQ(total->max_ns, 16);
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
