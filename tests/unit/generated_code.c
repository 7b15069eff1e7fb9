// SPDX-License-Identifier: BSD-2-Clause
/* generated_code.c: tests of names for code made at run time: perf maps, jitdump files, their
 * owners. */
/* Plain: workers have their limits only without sanitizers. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "reader/names.h"
#include "record/opener/code_owner.h"
#include "symbols/code_table.h"
#include "symbols/jitdump.h"
#include "test.h"
#include "util/buffer.h"

/* The name at an address, "-" if there is none. */
static const char *name_at(struct code_table *table, uint64_t address)
{
	struct symbol symbol;

	return code_table_find(table, address, UINT64_MAX, &symbol) ? symbol.name : "-";
}

TEST(perf_maps_are_read)
{
	static const char text[] = "1000 100 first\n"
				   "0x2000 0x10 JS:*second /a/b.js:1:2\n"
				   "nonsense\n"
				   "3000 zz bad\n"
				   "3000 10\n"
				   "4000 0 empty\n"
				   "ffffffffffffff00 1000 wraps\n"
				   "11111111111111111 1 long\n"
				   "1080 10 replaced\n"
				   "6000 10 \0 cut\n"
				   "5000 10 unfinished";
	struct code_table *table = code_table_create();
	size_t used;

	CHECK_EQ(perf_map_parse(table, text, sizeof(text) - 1, &used), 0);
	CHECK_EQ(used, sizeof(text) - 1 - strlen("5000 10 unfinished"));
	CHECK_STR(name_at(table, 0xfff), "-");
	CHECK_STR(name_at(table, 0x1000), "first");
	CHECK_STR(name_at(table, 0x1085), "replaced");
	CHECK_STR(name_at(table, 0x1090), "first");
	CHECK_STR(name_at(table, 0x1100), "-");
	CHECK_STR(name_at(table, 0x200f), "JS:*second /a/b.js:1:2");
	CHECK_STR(name_at(table, 0x3000), "-");
	CHECK_STR(name_at(table, 0x4000), "-");
	CHECK_STR(name_at(table, 0x5000), "-");
	CHECK_STR(name_at(table, 0x6000), "-");
	/* The later of two at one address counts. */
	CHECK_EQ(perf_map_parse(table, "1000 100 again\n", 15, &used), 0);
	CHECK_STR(name_at(table, 0x1090), "again");
	code_table_free(table);
}

static void put(struct buffer *file, const void *data, size_t size)
{
	CHECK_EQ(buffer_append(file, data, size), 0);
}

static void put32(struct buffer *file, uint32_t value)
{
	put(file, &value, sizeof(value));
}

static void put64(struct buffer *file, uint64_t value)
{
	put(file, &value, sizeof(value));
}

static void put_header(struct buffer *file)
{
	const uint32_t words[] = {0x4a695444, 1, 40, EM_X86_64, 0, 4711};

	put(file, words, sizeof(words));
	put64(file, 1);
	put64(file, 0);
}

static void put_record(struct buffer *file, uint32_t id, size_t size)
{
	put32(file, id);
	put32(file, (uint32_t)(16 + size));
	put64(file, 1);
}

static void put_load(struct buffer *file, uint64_t address, const char *name)
{
	const uint64_t numbers[] = {address, address, 4, 1};

	put_record(file, 0, 8 + sizeof(numbers) + strlen(name) + 1 + 4);
	put64(file, 0);
	put(file, numbers, sizeof(numbers));
	put(file, name, strlen(name) + 1);
	put32(file, 0x90909090);
}

static void put_lines(struct buffer *file, uint64_t address, const char *source)
{
	put_record(file, 2, 16 + 2 * (16 + strlen(source) + 1));
	put64(file, address);
	put64(file, 2);
	for (uint32_t i = 0; i < 2; i++) {
		put64(file, address + 2 * i);
		put32(file, 10 + i);
		put32(file, 0);
		put(file, source, strlen(source) + 1);
	}
}

/* Addresses are used again: who was there depends on the time. */
TEST(of_several_at_an_address_the_one_of_the_time_counts)
{
	static const uint64_t times[] = {50, 100, 150, 200, 250, 300, UINT64_MAX};
	static const char *const expected[] = {"first",  "first", "first", "second",
					       "second", "third", "third"};
	static const char *const names[] = {"first", "second", "third"};
	struct code_table *table = code_table_create();
	struct symbol symbol;

	for (uint64_t i = 0; i < 3; i++) {
		code_table_set_time(table, 100 * (i + 1));
		CHECK_EQ(code_table_add(table, 0x1000 + 0x10 * i, 0x100, names[i], strlen(names[i]),
					NULL, 0),
			 0);
	}
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		CHECK(code_table_find(table, 0x1050, times[i], &symbol));
		CHECK_STR(symbol.name, expected[i]);
	}
	code_table_free(table);
}

/* A jitdump file whose records have their times, or say that these are another clock's. */
TEST(jitdump_times_count_if_they_are_of_the_common_clock)
{
	for (uint64_t other = 0; other < 2; other++) {
		struct code_table *table = code_table_create();
		struct jitdump *dump = jitdump_create(table);
		struct buffer file = {0};
		struct symbol symbol;
		size_t used, wanted;

		put_header(&file);
		memcpy(file.data + 32, &other, sizeof(other));
		for (uint64_t i = 0; i < 2; i++) {
			uint64_t time = 1000 * (i + 1);
			size_t at = file.size;

			put_load(&file, 0x1000, i ? "second" : "first");
			memcpy(file.data + at + 8, &time, sizeof(time));
		}
		CHECK_EQ(jitdump_parse(dump, file.data, file.size, &used, &wanted), 0);
		CHECK(code_table_find(table, 0x1000, 1999, &symbol));
		CHECK_STR(symbol.name, other ? "second" : "first");
		CHECK(code_table_find(table, 0x1000, 2000, &symbol));
		CHECK_STR(symbol.name, "second");
		buffer_free(&file);
		jitdump_free(dump);
		code_table_free(table);
	}
}

static void put_dump(struct buffer *file)
{
	const uint64_t move[] = {0, 0x1000, 0x1000, 0x3000, 4, 1};

	put_header(file);
	put_lines(file, 0x1000, "/src/a.lua");
	put_load(file, 0x1000, "first");
	put_load(file, 0x2000, "second");
	put_record(file, 1, sizeof(move));
	put(file, move, sizeof(move));
	put_record(file, 4, 8); /* something that nobody here needs */
	put64(file, 0);
	put_load(file, 0x1000, "third");
}

static void check_dump(struct code_table *table)
{
	struct symbol symbol;

	CHECK_STR(name_at(table, 0x1000), "third");
	CHECK_STR(name_at(table, 0x2003), "second");
	CHECK_STR(name_at(table, 0x2004), "-");
	CHECK(code_table_find(table, 0x3003, UINT64_MAX, &symbol));
	CHECK_STR(symbol.name, "first");
	CHECK_STR(symbol.file, "/src/a.lua");
	CHECK_EQ(symbol.line, 11);
	CHECK_EQ(symbol.begin, 10);
}

TEST(jitdump_files_are_read)
{
	struct code_table *table = code_table_create();
	struct jitdump *dump = jitdump_create(table);
	struct buffer file = {0};
	size_t used, wanted;

	put_dump(&file);
	CHECK_EQ(jitdump_parse(dump, file.data, file.size, &used, &wanted), 0);
	CHECK_EQ(used, file.size);
	CHECK_EQ(wanted, 16);
	check_dump(table);
	/* A record that cannot be. */
	file.size = 0;
	put_record(&file, 0, 0);
	memset(file.data + 4, 0, 4);
	CHECK_EQ(jitdump_parse(dump, file.data, file.size, &used, &wanted), -EBADMSG);
	jitdump_free(dump);
	dump = jitdump_create(table);
	CHECK_EQ(jitdump_parse(dump,
			       "\x7f"
			       "ELF, or anything else of at least 40 bytes ...",
			       48, &used, &wanted),
		 -EBADMSG);
	jitdump_free(dump);
	code_table_free(table);
	buffer_free(&file);
}

/* Reads `size` bytes of a file at a time, as if it grew so. */
TEST(jitdump_files_are_read_as_they_grow)
{
	struct buffer file = {0};

	put_dump(&file);
	for (size_t step = 1; step < file.size; step += 7) {
		struct code_table *table = code_table_create();
		struct jitdump *dump = jitdump_create(table);
		size_t at = 0, used, wanted = 40;

		for (size_t end = step; at < file.size; end += step) {
			end = end < file.size ? end : file.size;
			if (end - at < wanted)
				continue;
			CHECK_EQ(jitdump_parse(dump, file.data + at, end - at, &used, &wanted), 0);
			at += used;
		}
		check_dump(table);
		jitdump_free(dump);
		code_table_free(table);
	}
	buffer_free(&file);
}

TEST(names_of_dump_files)
{
	CHECK(code_owner_is_dump("/home/a/.debug/jit/x/jit-4711.dump"));
	CHECK(code_owner_is_dump("jit-1.dump"));
	CHECK(!code_owner_is_dump("/x/jit-.dump"));
	CHECK(!code_owner_is_dump("/x/jit-1.dump (deleted)"));
	CHECK(!code_owner_is_dump("/jit-1.dump/x"));
}

/* Gives what the map has now to `files`. */
static void show(struct code_files *files, const char *path)
{
	CHECK_EQ(code_files_add(files, 1, false, open(path, O_RDONLY)), 0);
}

TEST(maps_are_read_on_as_they_grow)
{
	struct code_files *files = code_files_create();
	char path[] = "/tmp/gcprof-map-XXXXXX";
	struct symbol symbol;
	int fd = mkstemp(path);

	CHECK(fd >= 0);
	CHECK_EQ(write(fd, "1000 10 first\n2000 10 sec", 25), 25);
	show(files, path);
	CHECK(code_files_find(files, 1, 0x1000, UINT64_MAX, &symbol));
	CHECK(!code_files_find(files, 1, 0x2000, UINT64_MAX, &symbol));
	CHECK(!code_files_find(files, 2, 0x1000, UINT64_MAX, &symbol));
	CHECK_EQ(write(fd, "ond\n", 4), 4);
	show(files, path);
	CHECK(code_files_find(files, 1, 0x2000, UINT64_MAX, &symbol));
	CHECK_STR(symbol.name, "second");
	/* Written anew. */
	CHECK_EQ(ftruncate(fd, 0), 0);
	CHECK_EQ(pwrite(fd, "1000 10 other\n", 14, 0), 14);
	show(files, path);
	CHECK(code_files_find(files, 1, 0x1000, UINT64_MAX, &symbol));
	CHECK_STR(symbol.name, "other");
	close(fd);
	unlink(path);
	code_files_free(files);
}
