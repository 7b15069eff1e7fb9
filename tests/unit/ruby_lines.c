// SPDX-License-Identifier: BSD-2-Clause
/* ruby_lines.c: tests of the lines of Ruby functions, by tables made by hand. */
#include "../../bpf/ruby.h"
#include "runtimes/ruby/lines.h"
#include "test.h"

enum { WORDS = 54 + 512 + 100 };

static struct {
	uint64_t first[6];
	struct {
		uint64_t before, parts, begins[8];
	} blocks[2];
	uint32_t entries[512][3];
} table;

/* An entry begins at every third word of code; the n-th, from 1 on, has line 100 + n. */
static void make(void)
{
	uint32_t entries = 0;

	memset(&table, 0, sizeof(table));
	for (unsigned at = 0; at < WORDS; at++) {
		unsigned behind = at - RUBY_INDEX_FIRST, block = behind / 512,
			 part = behind % 512 / 64;

		if (at >= RUBY_INDEX_FIRST && behind % 512 == 0)
			table.blocks[block].before = entries;
		if (at >= RUBY_INDEX_FIRST && behind % 64 == 0 && part)
			table.blocks[block].parts |= (entries - table.blocks[block].before)
						     << (part - 1) * 9;
		if (at % 3 == 0)
			table.entries[entries++][0] = 101 + at / 3;
		if (at < RUBY_INDEX_FIRST)
			table.first[at / 9] |= (uint64_t)entries << at % 9 * 7;
		else if (at % 3 == 0)
			table.blocks[block].begins[part] |= UINT64_C(1) << behind % 64;
	}
}

static uint32_t line(size_t size, uint32_t words, uint64_t instruction)
{
	return ruby_line((const unsigned char *)&table, size, words, instruction);
}

TEST(each_word_has_the_line_of_the_last_entry)
{
	make();
	CHECK_EQ(sizeof(table) - sizeof(table.entries), ruby_index_bytes(WORDS));
	for (unsigned at = 0; at < WORDS; at++)
		CHECK_EQ(line(sizeof(table), WORDS, at), 101 + at / 3);
}

TEST(what_is_missing_has_no_line)
{
	const size_t index = ruby_index_bytes(WORDS);

	make();
	CHECK_EQ(line(index + 2 * RUBY_ENTRY_BYTES, WORDS, 5), 102);
	CHECK_EQ(line(index + 2 * RUBY_ENTRY_BYTES, WORDS, 6), 0);
	CHECK_EQ(line(index, WORDS, 0), 0);
	CHECK_EQ(line(index - 1, WORDS, 0), 0);
	CHECK_EQ(line(0, 1, 0), 0);
	CHECK_EQ(line(sizeof(table), WORDS, WORDS), 0);
	CHECK_EQ(line(sizeof(table), WORDS, UINT64_MAX), 0);
	CHECK_EQ(line(sizeof(table), UINT32_MAX, 0), 0);
	memset(&table, 0xff, sizeof(table));
	CHECK_EQ(line(sizeof(table), WORDS, 0), 0);
	CHECK_EQ(line(sizeof(table), WORDS, WORDS - 1), 0);
}
