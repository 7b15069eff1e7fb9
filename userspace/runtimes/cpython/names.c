/* SPDX-License-Identifier: BSD-2-Clause */
/* names.c: decodes an interpreted function's name, file and line table. */
/*
 * JavaScript functions have no line table, and ruby_lines.c decodes Ruby's. Python's (co_linetable)
 * has an entry for each range of instructions with the same source position. Its first byte has bit
 * 7 set, the kind of entry in bits 3 to 6, and the number of instructions minus one in the others.
 * Lines are differences from the previous entry, initially from the function's first line:
 *
 *	0 to 9		same line; a byte of columns follows
 *	10 to 12	kind - 10 lines further on; two bytes of columns
 *	13		a signed number
 *	14		a signed number; then three numbers of columns
 *	15		no line
 *
 * Numbers have six bits per byte, the lowest first; bit 6 says that another byte follows.
 */
#include "names.h"

#include <stdio.h>
#include <string.h>

#include "../../util/path_base.h"
#include "../ruby/lines.h"

enum {
	SHORT_LAST = 9,
	ONE_LINE = 10,
	ONE_LINE_LAST = 12,
	NO_COLUMNS = 13,
	LONG = 14,
	NO_LINE = 15
};

/* --- texts ---------------------------------------------------------------------------------- */

static size_t put_utf8(uint32_t character, char *out)
{
	size_t size = character < 0x80 ? 1 : character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;

	if (size == 1) {
		out[0] = (char)character;
		return size;
	}
	for (size_t i = size - 1; i; i--, character >>= 6)
		out[i] = (char)(0x80 | (character & 0x3f));
	out[0] = (char)(0xf00 >> size | character);
	return size;
}

/* The character at *at, which advances to the next one; some of V8's take two units of 2 bytes. */
static uint32_t take_character(const char *text, size_t size, size_t width, size_t *at)
{
	uint32_t character = 0, second = 0;

	memcpy(&character, text + *at, width);
	*at += width;
	if (width != 2 || character >> 10 != 0x36 || *at + width > size)
		return character;
	memcpy(&second, text + *at, width);
	if (second >> 10 != 0x37)
		return character;
	*at += width;
	return 0x10000 + ((character & 0x3ff) << 10) + (second & 0x3ff);
}

/* Converts units of 1, 2 or 4 bytes, up to a zero, to UTF-8; `width` 0: it is UTF-8. Each unit
 * becomes at most 3 bytes, or 4 for a unit of 4 bytes; a pair of 2-byte units is not longer either.
 */
static void cpython_names_put_text(const char *text, size_t size, size_t width, char *out)
{
	if (!width) {
		size = strnlen(text, size);
		memcpy(out, text, size);
		out += size;
	}
	for (size_t at = 0; (width == 1 || width == 2 || width == 4) && at + width <= size;) {
		uint32_t character = take_character(text, size, width, &at);

		if (!character || character > 0x10ffff)
			break;
		out += put_utf8(character, out);
	}
	*out = '\0';
}

/* --- lines ---------------------------------------------------------------------------------- */

struct lines {
	const unsigned char *at, *end;
};

static uint32_t take_number(struct lines *lines)
{
	uint32_t number = 0, byte;

	for (unsigned shift = 0; lines->at < lines->end && shift < 30; shift += 6) {
		byte = *lines->at++;
		number |= (byte & 0x3f) << shift;
		if (!(byte & 0x40))
			break;
	}
	return number;
}

/* The lowest bit is the sign. */
static int64_t take_difference(struct lines *lines)
{
	uint32_t number = take_number(lines);

	return number & 1 ? -(int64_t)(number >> 1) : (int64_t)(number >> 1);
}

/* The line difference of an entry of this kind. */
static int64_t take_lines(struct lines *lines, uint32_t kind)
{
	if (kind == NO_COLUMNS || kind == LONG)
		return take_difference(lines);
	return kind >= ONE_LINE && kind <= ONE_LINE_LAST ? kind - ONE_LINE : 0;
}

/* Skips to the next entry, recognised by bit 7: only first bytes have it set. */
static void skip_columns(struct lines *lines)
{
	while (lines->at < lines->end && !(*lines->at & 0x80))
		lines->at++;
}

/* 0: unknown, or no line. */
static uint32_t find_line(struct lines lines, uint64_t instruction, uint32_t begin)
{
	int64_t line = begin;
	uint64_t reached = 0;

	while (lines.at < lines.end) {
		uint32_t byte = *lines.at++, kind = byte >> 3 & 15;

		line += take_lines(&lines, kind);
		skip_columns(&lines);
		reached += (byte & 7) + 1;
		if (instruction < reached)
			return kind == NO_LINE || line < 0 || line > INT32_MAX ? 0 : (uint32_t)line;
	}
	return 0;
}

/* --- functions ------------------------------------------------------------------------------ */

static size_t padded(size_t size)
{
	return (size + 7) & ~(size_t)7;
}

/* Modules have URLs. Functions may be anonymous, and a file may have many of those. */
static void finish_javascript(struct cpython_function *function, uint32_t line)
{
	static const char scheme[] = "file://";
	const size_t n = sizeof(scheme) - 1;

	if (!strncmp(function->file, scheme, n))
		memmove(function->file, function->file + n, strlen(function->file + n) + 1);
	if (!function->name[0])
		snprintf(function->name, sizeof(function->name), "(anonymous %.200s:%u)",
			 path_base(function->file), line);
}

bool cpython_name(struct cpython_function *function, uint64_t instruction, struct symbol *out)
{
	const struct event_bytecode *event = &function->in.event;
	const char *name = function->in.bytes + sizeof(*event), *file, *table;
	struct lines lines;

	if (function->size < sizeof(*event) || function->size > sizeof(function->in) ||
	    event->name_size >= BYTECODE_TEXT_MAX || event->file_size >= BYTECODE_TEXT_MAX ||
	    event->table_size >= BYTECODE_TABLE_MAX)
		return false;
	file = name + padded(event->name_size);
	table = file + padded(event->file_size);
	if ((size_t)(table - function->in.bytes) + event->table_size > function->size)
		return false;
	cpython_names_put_text(name, event->name_size, event->name_width, function->name);
	cpython_names_put_text(file, event->file_size, event->file_width, function->file);
	lines.at = (const unsigned char *)table;
	lines.end = lines.at + event->table_size;
	if (event->runtime == BYTECODE_V8)
		finish_javascript(function, event->line);
	*out = (struct symbol){
		.name = function->name,
		.file = function->file[0] ? function->file : NULL,
		.line = event->runtime == BYTECODE_RUBY
				? ruby_line(lines.at, event->table_size, event->words, instruction)
				: find_line(lines, instruction, event->line),
		.begin = event->line,
	};
	return function->name[0] != '\0';
}
