// SPDX-License-Identifier: BSD-2-Clause
/* go_lines.c: reads .gopclntab: functions, files, lines and inlined calls. */
/*
 * For each function the table has its entry address (relative to the text) and a record. Values
 * that change with the address (file, line, inlined call) are sequences of pairs: the change of the
 * value, and the number of code bytes for which it then holds.
 */
#include "go_lines.h"

#include <string.h>

#include "elf_file.h"

#define FUNCTIONS_MAX (1u << 24)
#define NO_FILE       UINT32_MAX

enum { MAGIC_118 = 0xfffffff0, MAGIC_120 = 0xfffffff1 };

/* Words of the header; offsets are from its start. */
enum {
	HEADER_FUNCTIONS = 8,
	HEADER_NAMES = 32,
	HEADER_UNITS = 40,
	HEADER_FILES = 48,
	HEADER_VALUES = 56,
	HEADER_TABLE = 64,
	HEADER_SIZE = 72,
};

/* Fields of a function's record, 4 bytes each; the counts of two lists and the lists follow. */
enum {
	RECORD_NAME = 4,
	RECORD_STACK = 16,
	RECORD_FILE = 20,
	RECORD_LINE = 24,
	RECORD_N_VALUES = 28,
	RECORD_UNIT = 32,
	RECORD_BEGIN = 36, /* since 1.20 */
	RECORD_FLAGS_118 = 37,
	RECORD_SIZE_118 = 40,
	RECORD_FLAGS_120 = 41,
	RECORD_SIZE_120 = 44,
};

enum { FLAG_TOP = 1, FLAG_SWITCHES = 2 };

enum { VALUES_INLINED = 2, DATA_INLINED = 3 }; /* indexes in the lists */

/* An inlined call. */
enum { CALL_NAME_118 = 12, CALL_PARENT_118 = 16, CALL_SIZE_118 = 20 };
enum { CALL_NAME_120 = 4, CALL_PARENT_120 = 8, CALL_BEGIN_120 = 12, CALL_SIZE_120 = 16 };

/* --- bytes -------------------------------------------------------------------------------- */

/* `from` without its first `bytes`; empty if that is out of range. */
static struct cursor skip(struct cursor from, uint64_t bytes)
{
	const uint8_t *at;

	return cursor_take(&from, bytes, &at) ? from : (struct cursor){from.end, from.end};
}

static bool read_at(struct cursor from, uint64_t offset, void *out, size_t size)
{
	const uint8_t *at;

	from = skip(from, offset);
	if (!cursor_take(&from, size, &at))
		return false;
	memcpy(out, at, size);
	return true;
}

/* 0 if out of range. */
static uint32_t read_32(struct cursor from, uint64_t offset)
{
	uint32_t value;

	return read_at(from, offset, &value, sizeof(value)) ? value : 0;
}

static const char *read_text(struct cursor from, uint64_t offset)
{
	size_t left;

	from = skip(from, offset);
	left = cursor_left(&from);
	if (!left || !memchr(from.at, 0, left < ELF_STRING_MAX ? left : ELF_STRING_MAX))
		return NULL;
	return (const char *)from.at;
}

/* --- parts -------------------------------------------------------------------------------- */

static struct cursor part(struct cursor all, size_t word)
{
	uint64_t offset = 0;

	read_at(all, word, &offset, sizeof(offset));
	return skip(all, offset);
}

const char *go_lines_open(struct go_lines *lines, const void *data, size_t size)
{
	struct cursor all = cursor_make(data, size);
	uint32_t magic = read_32(all, 0);

	*lines = (struct go_lines){.is_118 = magic == MAGIC_118};
	if (size < HEADER_SIZE || (magic != MAGIC_118 && magic != MAGIC_120) ||
	    read_32(all, 4) != 0x08010000) /* zeroes, instruction granularity, address size */
		return "its table of functions has an unknown layout: older than 1.18, or new";
	read_at(all, HEADER_FUNCTIONS, &lines->n_functions, sizeof(lines->n_functions));
	read_at(all, HEADER_NAMES, &lines->names_at, sizeof(lines->names_at));
	lines->names = part(all, HEADER_NAMES);
	lines->units = part(all, HEADER_UNITS);
	lines->files = part(all, HEADER_FILES);
	lines->values = part(all, HEADER_VALUES);
	lines->functions = part(all, HEADER_TABLE);
	if (lines->n_functions > FUNCTIONS_MAX ||
	    lines->n_functions * 8 > cursor_left(&lines->functions))
		return "its table of functions is cut off";
	return NULL;
}

/* --- functions ---------------------------------------------------------------------------- */

struct entry {
	uint32_t begin, record;
};

static bool read_entry(const struct go_lines *lines, size_t index, struct entry *out)
{
	return index < lines->n_functions &&
	       read_at(lines->functions, index * 8, out, sizeof(*out));
}

static struct cursor record_at(const struct go_lines *lines, size_t index)
{
	struct entry entry;

	if (!read_entry(lines, index, &entry))
		return (struct cursor){NULL, NULL};
	return skip(lines->functions, entry.record);
}

bool go_lines_function(const struct go_lines *lines, size_t index, struct go_function *out)
{
	struct entry entry;
	uint32_t end;

	if (!read_entry(lines, index, &entry))
		return false;
	end = read_32(lines->functions, (index + 1) * 8); /* the last function has an end, too */
	out->address = lines->text + entry.begin;
	out->size = end > entry.begin ? end - entry.begin : 0;
	out->name =
		read_text(lines->names, read_32(skip(lines->functions, entry.record), RECORD_NAME));
	return true;
}

size_t go_lines_index(const struct go_lines *lines, uint64_t address)
{
	size_t low = 0, high = lines->n_functions;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (lines->text + read_32(lines->functions, middle * 8) <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? low - 1 : lines->n_functions;
}

/* --- values ------------------------------------------------------------------------------- */

/* The value of a sequence at `offset` behind the function's entry; -1: none. */
static int32_t value_at(const struct go_lines *lines, uint32_t sequence, uint64_t offset)
{
	struct cursor cursor = skip(lines->values, sequence);
	uint64_t change, bytes, at = 0;
	uint32_t value = UINT32_MAX;

	while (sequence && cursor_varint(&cursor, &change) && (change || !at) &&
	       cursor_varint(&cursor, &bytes) && bytes) {
		value += (uint32_t)zigzag_unfold(change);
		at += bytes;
		if (offset < at)
			return (int32_t)value;
	}
	return -1;
}

bool go_lines_is_top(const struct go_lines *lines, size_t index)
{
	uint8_t flags = 0;

	read_at(record_at(lines, index), lines->is_118 ? RECORD_FLAGS_118 : RECORD_FLAGS_120,
		&flags, 1);
	return flags & (FLAG_TOP | FLAG_SWITCHES);
}

void go_lines_stack(const struct go_lines *lines, size_t index, go_stack_visit *visit,
		    void *context)
{
	uint32_t sequence = read_32(record_at(lines, index), RECORD_STACK);
	struct cursor cursor = skip(lines->values, sequence);
	uint64_t change, bytes, at = 0;
	uint32_t value = UINT32_MAX;

	while (sequence && cursor_varint(&cursor, &change) && (change || !at) &&
	       cursor_varint(&cursor, &bytes) && bytes) {
		value += (uint32_t)zigzag_unfold(change);
		if (visit(context, at, (int32_t)value))
			return;
		at += bytes;
	}
}

/* A function's record, and a position in the function. */
struct spot {
	const struct go_lines *lines;
	struct cursor record;
	uint64_t offset; /* from its entry */
};

static size_t record_size(const struct go_lines *lines)
{
	return lines->is_118 ? RECORD_SIZE_118 : RECORD_SIZE_120;
}

static int32_t inlined_at(const struct spot *spot)
{
	size_t lists = record_size(spot->lines);

	if (read_32(spot->record, RECORD_N_VALUES) <= VALUES_INLINED)
		return -1;
	return value_at(spot->lines, read_32(spot->record, lists + 4 * VALUES_INLINED),
			spot->offset);
}

/* The tree of calls inlined into the function; empty if there are none. */
static struct cursor tree_of(const struct spot *spot)
{
	struct cursor none = {NULL, NULL};
	size_t lists = record_size(spot->lines);
	uint64_t n_values = read_32(spot->record, RECORD_N_VALUES);
	uint8_t n_data = 0;
	uint32_t at;

	read_at(spot->record, lists - 1, &n_data, 1);
	if (n_data <= DATA_INLINED)
		return none;
	at = read_32(spot->record, lists + 4 * (n_values + DATA_INLINED));
	return at == UINT32_MAX ? none : skip(spot->lines->inlined, at);
}

static void find_line(const struct spot *spot, struct symbol *out)
{
	int32_t file = value_at(spot->lines, read_32(spot->record, RECORD_FILE), spot->offset);
	int32_t line = value_at(spot->lines, read_32(spot->record, RECORD_LINE), spot->offset);
	uint32_t text = NO_FILE;

	if (file >= 0)
		read_at(spot->lines->units,
			4 * ((uint64_t)read_32(spot->record, RECORD_UNIT) + (uint32_t)file), &text,
			sizeof(text));
	if (text != NO_FILE)
		out->file = read_text(spot->lines->files, text);
	if (out->file && line > 0)
		out->line = (uint32_t)line;
}

/* The innermost inlined call at the position; moves to the position of that call. False: none. */
static bool leave_inlined(struct spot *spot, struct symbol *out)
{
	bool old = spot->lines->is_118;
	int32_t index = inlined_at(spot);
	struct cursor call = tree_of(spot);
	uint64_t parent;

	if (index < 0)
		return false;
	call = skip(call, (uint64_t)(uint32_t)index * (old ? CALL_SIZE_118 : CALL_SIZE_120));
	parent = read_32(call, old ? CALL_PARENT_118 : CALL_PARENT_120);
	out->name =
		read_text(spot->lines->names, read_32(call, old ? CALL_NAME_118 : CALL_NAME_120));
	out->begin = old ? 0 : read_32(call, CALL_BEGIN_120);
	if (!out->name || cursor_left(&call) < (old ? CALL_SIZE_118 : CALL_SIZE_120))
		return false;
	spot->offset = parent;
	return true;
}

static void reverse(struct symbol *symbols, size_t n)
{
	for (size_t i = 0; i < n / 2; i++) {
		struct symbol swap = symbols[i];

		symbols[i] = symbols[n - 1 - i];
		symbols[n - 1 - i] = swap;
	}
}

size_t go_lines_find(const struct go_lines *lines, uint64_t address, struct symbol out[SYMBOLS_MAX])
{
	size_t index = go_lines_index(lines, address), n = 0;
	struct spot spot = {lines, record_at(lines, index), 0};
	struct go_function function;

	if (!go_lines_function(lines, index, &function) || !function.name ||
	    address - function.address >= function.size)
		return 0;
	spot.offset = address - function.address;
	do {
		out[n] = (struct symbol){0};
		find_line(&spot, &out[n]);
	} while (n < SYMBOLS_MAX - 1 && leave_inlined(&spot, &out[n]) && ++n);
	out[n].name = function.name;
	out[n].offset = address - function.address;
	out[n].begin = lines->is_118 ? 0 : read_32(spot.record, RECORD_BEGIN);
	n++;
	reverse(out, n);
	return n;
}
