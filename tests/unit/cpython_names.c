// SPDX-License-Identifier: BSD-2-Clause
/* cpython_names.c: tests of the names and lines of Python functions, made by hand. */
#include "test.h"
#include "runtimes/cpython/names.h"

static struct cpython_function function;
static struct symbol found;

/* A function of line 10 with these texts, whose characters have `width` bytes, and table. */
static void make(const void *name, size_t name_size, uint8_t width, const unsigned char *table,
		 size_t table_size)
{
	static const char file[] = "f.py";
	char *at = function.in.bytes + sizeof(struct event_bytecode);

	memset(&function, 0, sizeof(function));
	function.in.event.line = 10;
	function.in.event.name_size = (uint16_t)name_size;
	function.in.event.name_width = width;
	function.in.event.file_size = 4;
	function.in.event.file_width = 1;
	function.in.event.table_size = (uint32_t)table_size;
	memcpy(at, name, name_size);
	at += (name_size + 7) & ~(size_t)7;
	memcpy(at, file, 4);
	at += 8;
	if (table_size)
		memcpy(at, table, table_size);
	function.size = (size_t)(at - function.in.bytes) + table_size;
}

static uint32_t line_at(uint64_t instruction)
{
	CHECK(cpython_name(&function, instruction, &found));
	return found.line;
}

TEST(each_kind_of_entry_has_its_line)
{
	static const unsigned char table[] = {
		0x80 | 15 << 3 | 1,                   /* 0, 1: no line */
		0x80 | 13 << 3 | 0, 4,                /* 2: 2 lines further on: 12 */
		0x80 | 3 << 3 | 2,  0x21,             /* 3 to 5: the same line */
		0x80 | 11 << 3 | 0, 1,    2,          /* 6: one further: 13 */
		0x80 | 12 << 3 | 0, 1,    2,          /* 7: two further: 15 */
		0x80 | 14 << 3 | 7, 3,    0,    1, 2, /* 8 to 15: one back: 14 */
		0x80 | 13 << 3 | 0, 0x40, 0x04,       /* 16: 128 further on: 142 */
	};

	make("share", 5, 1, table, sizeof(table));
	CHECK_EQ(line_at(0), 0);
	CHECK_EQ(line_at(1), 0);
	CHECK_EQ(line_at(2), 12);
	CHECK_EQ(line_at(3), 12);
	CHECK_EQ(line_at(5), 12);
	CHECK_EQ(line_at(6), 13);
	CHECK_EQ(line_at(7), 15);
	CHECK_EQ(line_at(8), 14);
	CHECK_EQ(line_at(15), 14);
	CHECK_EQ(line_at(16), 142);
	CHECK_EQ(line_at(17), 0);
	CHECK_STR(found.name, "share");
	CHECK_STR(found.file, "f.py");
	CHECK_EQ(found.begin, 10);
}

TEST(names_of_all_widths_become_utf8)
{
	const uint16_t two[] = {'a', 0x3b1, 0x20ac};
	const uint32_t four[] = {0x1f40d, 'b'};

	make("\xe9t\xe9", 3, 1, NULL, 0);
	CHECK(cpython_name(&function, 0, &found));
	CHECK_STR(found.name, "\xc3\xa9t\xc3\xa9");
	make(two, sizeof(two), 2, NULL, 0);
	CHECK(cpython_name(&function, 0, &found));
	CHECK_STR(found.name, "a\xce\xb1\xe2\x82\xac");
	make(four, sizeof(four), 4, NULL, 0);
	CHECK(cpython_name(&function, 0, &found));
	CHECK_STR(found.name, "\xf0\x9f\x90\x8d"
			      "b");
}

TEST(a_function_that_could_not_be_read_has_no_name)
{
	make("", 0, 0, NULL, 0);
	CHECK(!cpython_name(&function, 0, &found));
	make("a", 1, 3, NULL, 0);
	CHECK(!cpython_name(&function, 0, &found));
}

TEST(sizes_beyond_what_is_there_are_refused)
{
	make("a", 1, 1, NULL, 0);
	function.in.event.table_size = 1;
	CHECK(!cpython_name(&function, 0, &found));
	function.in.event.table_size = BYTECODE_TABLE_MAX;
	function.size = sizeof(function.in);
	CHECK(!cpython_name(&function, 0, &found));
	make("a", 1, 1, NULL, 0);
	function.in.event.name_size = UINT16_MAX;
	CHECK(!cpython_name(&function, 0, &found));
	make("a", 1, 1, NULL, 0);
	function.size = sizeof(struct event_bytecode) - 1;
	CHECK(!cpython_name(&function, 0, &found));
}

TEST(functions_of_javascript_may_have_no_name_and_modules_have_addresses)
{
	static const uint16_t wide[] = {'a', 0xd83d, 0xde00, 0xd83d, 'b'};

	make("", 0, 1, NULL, 0);
	CHECK(!cpython_name(&function, 0, &found));
	function.in.event.runtime = BYTECODE_V8;
	CHECK(cpython_name(&function, 0, &found));
	CHECK_STR(found.name, "(anonymous f.py:10)");
	CHECK_STR(found.file, "f.py");
	CHECK_EQ(found.begin, 10);
	CHECK_EQ(found.line, 0);
	memcpy(function.in.bytes + sizeof(struct event_bytecode), "file:///f", 9);
	function.in.event.file_size = 9;
	function.size += 8;
	CHECK(cpython_name(&function, 0, &found));
	CHECK_STR(found.file, "/f");
	/* Half a character is kept as it is. */
	make(wide, sizeof(wide), 2, NULL, 0);
	CHECK(cpython_name(&function, 0, &found));
	CHECK_STR(found.name, "a\xf0\x9f\x98\x80\xed\xa0\xbd"
			      "b");
}
