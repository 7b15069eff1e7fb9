/* SPDX-License-Identifier: BSD-2-Clause */
/* lines.c: decodes a Ruby function's line table. */
/*
 * An entry is the line of a range of instructions (32 bits), which begins with the word of code
 * that it is for; the other 8 bytes are not needed. The index says how many entries begin up to a
 * word, itself included, so the last of these is the word's own:
 *
 *	for the first 54 words of code: 7 bits each, 9 in a word of the index
 *	for each further 512 words: how many entries begin before them (32 bits of a word), how many
 *	more before their second to eighth 64 words (9 bits each in the next word), and for each
 *	word of code whether an entry begins there (512 bits)
 */
#include "lines.h"

#include <string.h>

#include "../../../bpf/ruby.h"

enum { PER_WORD = 9, FIRST_BITS = 7, PART = 64, PART_BITS = 9 };

static uint64_t word_at(const unsigned char *table, size_t number)
{
	uint64_t word;

	memcpy(&word, table + number * sizeof(word), sizeof(word));
	return word;
}

/* How many entries begin up to this word of code. */
static uint64_t entries_to(const unsigned char *table, uint64_t at)
{
	uint64_t block, part, count, bits;

	if (at < RUBY_INDEX_FIRST)
		return word_at(table, at / PER_WORD) >> at % PER_WORD * FIRST_BITS &
		       ((1 << FIRST_BITS) - 1);
	at -= RUBY_INDEX_FIRST;
	block = (RUBY_FIRST_BYTES + at / RUBY_INDEX_BLOCK * RUBY_BLOCK_BYTES) / sizeof(uint64_t);
	at %= RUBY_INDEX_BLOCK;
	part = at / PART;
	count = (uint32_t)word_at(table, block);
	if (part)
		count += word_at(table, block + 1) >> (part - 1) * PART_BITS &
			 ((1 << PART_BITS) - 1);
	bits = word_at(table, block + 2 + part) << (PART - 1 - at % PART);
	return count + (uint64_t)__builtin_popcountll(bits);
}

uint32_t ruby_line(const unsigned char *table, size_t size, uint32_t words, uint64_t instruction)
{
	const size_t index = ruby_index_bytes(words);
	uint64_t count;
	uint32_t line;

	if (instruction >= words || index > size)
		return 0;
	count = entries_to(table, instruction);
	if (!count || count > (size - index) / RUBY_ENTRY_BYTES)
		return 0;
	memcpy(&line, table + index + (count - 1) * RUBY_ENTRY_BYTES, sizeof(line));
	return line <= INT32_MAX ? line : 0;
}
