// SPDX-License-Identifier: BSD-2-Clause
/* name_table.c: tests of name tables in the memory of programs: right, wrong and endless. */
/* Plain: workers have their limits only without sanitizers. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "provider/provider.h"
#include "reader/reader.h"
#include "reader/worker.h"
#include "record/opener/opener_process.h"
#include "test.h"

extern struct gcprof_control gcprof_control;

struct seen {
	uint32_t types, codes;
	struct table_name last;
	char text[TABLE_TEXT_MAX + 1], file[TABLE_TEXT_MAX + 1];
};

static void see(void *context, const struct table_name *name, const char *text, const char *file)
{
	struct seen *seen = context;

	seen->types += name->kind == GCPROF_NAME_TYPE;
	seen->codes += name->kind == GCPROF_NAME_CODE;
	seen->last = *name;
	snprintf(seen->text, sizeof(seen->text), "%.*s", name->text_size, text);
	snprintf(seen->file, sizeof(seen->file), "%.*s", name->file_size, file);
}

/* The socket of this process's memory. */
static int serve_own(void)
{
	int memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC), socket;

	CHECK(memory >= 0);
	socket = opener_serve_space(memory, (uint32_t)getpid(), 0);
	close(memory);
	return socket;
}

/* Has a reader read the table of this process. */
static int read_own(const struct gcprof_control *control, struct seen *seen)
{
	const struct table_request wanted = {(uint64_t)(uintptr_t)control};
	int memory = serve_own(), err;
	struct worker_order order = {
		.kind = READ_TABLE,
		.data = &wanted,
		.size = sizeof(wanted),
		.fds = &memory,
		.n_fds = 1,
		.cpu_ns = UINT64_C(5000000000),
		.wall_ns = UINT64_C(20000000000),
		.answer_max = TABLE_ANSWER_MAX,
	};
	struct worker_answer answer;
	struct worker *worker;

	CHECK(memory >= 0);
	CHECK_EQ(worker_create(WORKER_READER, false, &worker), 0);
	CHECK_EQ(worker_start(worker, &order), 0);
	while (worker_wait(worker, &answer) != WORKER_ANSWERED)
		;
	*seen = (struct seen){0};
	err = answer.err ? answer.err : table_take(answer.data, answer.size, see, seen);
	worker_free(worker);
	close(memory);
	return err;
}

TEST(names_are_read_in_the_order_in_which_they_were_made)
{
	const struct gcprof_gc_name stall = {GCPROF_GC_NAMES_FIRST, 0, "stall"};
	struct gcprof_options options = {.name = "toy", .version = "1.0"};
	struct gcprof_provider *provider, *other;
	char name[32], *last = memset(malloc(1001), 'x', 1000);
	struct seen seen;

	last[1000] = '\0';
	CHECK_EQ(gcprof_open(&options, &provider), 0);
	CHECK_EQ(read_own(&gcprof_control, &seen), 0);
	CHECK_EQ(seen.last.kind, GCPROF_NAME_PROVIDER);
	CHECK_STR(seen.text, "toy");
	CHECK_STR(seen.file, "1.0");
	CHECK_EQ(seen.last.line, 0);
	for (int i = 0; i < 5000; i++) {
		snprintf(name, sizeof(name), "type %d", i);
		CHECK_EQ(gcprof_type(provider, name) & 0xfffff, (uint64_t)i + 1);
	}
	CHECK_EQ(gcprof_code("work", "work.c", 12), 1);
	CHECK_EQ(read_own(&gcprof_control, &seen), 0);
	CHECK(seen.types == 5000 && seen.codes == 1);
	CHECK(seen.last.id == 1 && seen.last.line == 12);
	CHECK_STR(seen.text, "work");
	CHECK_STR(seen.file, "work.c");
	options.gc_names = &stall;
	options.n_gc_names = 1;
	CHECK_EQ(gcprof_open(&options, &other), 0);
	CHECK_EQ(read_own(&gcprof_control, &seen), 0);
	CHECK(seen.last.kind == GCPROF_NAME_GC && seen.last.id == GCPROF_GC_NAMES_FIRST);
	CHECK_STR(seen.text, "stall");
	gcprof_close(other);
	options.refused = GCPROF_REFUSED_PARTS;
	CHECK_EQ(gcprof_open(&options, &other), 0);
	CHECK_EQ(read_own(&gcprof_control, &seen), 0);
	CHECK_EQ(seen.last.line, GCPROF_REFUSED_PARTS);
	gcprof_close(other);
	/* They outlive their provider, and a name that is too long is cut. */
	CHECK(gcprof_type(provider, last));
	gcprof_close(provider);
	CHECK_EQ(read_own(&gcprof_control, &seen), 0);
	CHECK_EQ(seen.types, 5001);
	CHECK_EQ(strlen(seen.text), TABLE_TEXT_MAX);
	free(last);
}

/* A table of another make. */
static struct {
	struct gcprof_names head;
	struct gcprof_name entries[3];
} chunk;

static struct gcprof_control control;

static uint64_t at(const void *address)
{
	return (uint64_t)(uintptr_t)address;
}

static void make_table(void)
{
	chunk.head = (struct gcprof_names){.count = 3};
	chunk.entries[0] = (struct gcprof_name){.id = 7, .name = at("seven"), .kind = 1};
	chunk.entries[1] = (struct gcprof_name){.id = 8, .name = at("eight"), .kind = 1};
	chunk.entries[2] = (struct gcprof_name){.id = 9, .name = at("nine"), .kind = 2};
	control = (struct gcprof_control){.magic = GCPROF_CONTROL_MAGIC,
					  .version = GCPROF_CONTROL_VERSION,
					  .names = at(&chunk)};
}

TEST(a_table_that_makes_no_sense_ends_soon)
{
	struct seen seen;

	make_table();
	CHECK_EQ(read_own(&control, &seen), 0);
	CHECK(seen.types == 2 && seen.codes == 1);
	/* A circle, with and without entries. */
	chunk.head.next = at(&chunk);
	CHECK_EQ(read_own(&control, &seen), -E2BIG);
	CHECK(seen.types > 1000 && seen.types + seen.codes <= TABLE_ENTRIES_MAX);
	chunk.head.count = 0;
	CHECK_EQ(read_own(&control, &seen), -E2BIG);
	CHECK_EQ(seen.types, 0);
	/* Into nowhere: what was there is read. */
	make_table();
	chunk.head.next = 0x1000; /* where nothing may be mapped */
	CHECK_EQ(read_own(&control, &seen), -EFAULT);
	CHECK(seen.types == 2 && seen.codes == 1);
	chunk.entries[0].name = UINT64_MAX;
	chunk.entries[1].kind = 99;
	chunk.head.next = 0;
	CHECK_EQ(read_own(&control, &seen), -EFAULT);
	CHECK(seen.types == 0 && seen.codes == 1);
	control.names = 1;
	CHECK_EQ(read_own(&control, &seen), -EFAULT);
	control.version++;
	CHECK_EQ(read_own(&control, &seen), -ENOENT);
	CHECK_EQ(read_own(NULL, &seen), -ESRCH);
}

TEST(a_table_without_end_is_read_up_to_a_limit)
{
	/* 2^32 - 1 entries in a GiB that reads as the same page, each with a name that is not
	 * there. */
	size_t size = (size_t)1 << 30;
	struct gcprof_names *endless = mmap(NULL, size, PROT_READ | PROT_WRITE,
					    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct gcprof_name *entries = (struct gcprof_name *)(endless + 1);
	struct seen seen;

	CHECK(endless != MAP_FAILED);
	make_table();
	endless->count = UINT32_MAX;
	control.names = at(endless);
	for (uint32_t i = 0; i < 2 * TABLE_ENTRIES_MAX; i++)
		entries[i] = (struct gcprof_name){.id = i, .name = 1, .kind = 2};
	CHECK_EQ(read_own(&control, &seen), -E2BIG);
	CHECK_EQ(seen.codes, 0);
	/* And as many long ones: more than an answer may have. */
	char *text = memset(malloc(4096), 'y', 4096);
	for (uint32_t i = 0; i < 2 * TABLE_ENTRIES_MAX; i++)
		entries[i].name = at(text);
	CHECK_EQ(read_own(&control, &seen), -E2BIG);
	CHECK(seen.codes > 10000 &&
	      seen.codes * (TABLE_TEXT_MAX + sizeof(struct table_name)) <= TABLE_ANSWER_MAX);
	munmap(endless, size);
	free(text);
}
