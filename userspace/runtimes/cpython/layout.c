/* SPDX-License-Identifier: BSD-2-Clause */
/* layout.c: layouts of Python interpreter structures, by version. */
/*
 * Up to 3.12 there is a row of offsets per version, compared with that version's headers and run.
 * Since 3.13 _PyRuntime begins with a table of them, for debuggers (_Py_DebugOffsets). Debug builds
 * have others than release builds. The rows then have the positions of the items in that table,
 * which differ between versions, too.
 */
#include "layout.h"

#include <string.h>

#include "../find.h"

#define WORD sizeof(uint64_t)

/* What precedes the type of an object; without a global lock, each thread counts its references. */
enum { HEADER = 8, HEADER_FREE = 24 };

struct row {
	uint32_t version; /* the first two numbers, one byte each */
	uint16_t at[CPYTHON_ITEMS];
};

static const struct row rows[] = {
	{0x030b,
	 {[CPYTHON_INTERPRETERS] = 40,
	  [CPYTHON_INTERPRETER_NEXT] = 0,
	  [CPYTHON_THREADS] = 16,
	  [CPYTHON_THREAD_NEXT] = 8,
	  [CPYTHON_THREAD_ID] = 152,
	  [CPYTHON_THREAD_CFRAME] = 56,
	  [CPYTHON_THREAD_FRAME] = CPYTHON_NONE,
	  [CPYTHON_THREAD_BASE] = CPYTHON_NONE,
	  [CPYTHON_CFRAME_FRAME] = 8,
	  [CPYTHON_CFRAME_PREVIOUS] = 16,
	  [CPYTHON_FRAME_CODE] = 32,
	  [CPYTHON_FRAME_PREVIOUS] = 48,
	  [CPYTHON_FRAME_INSTRUCTION] = 56,
	  [CPYTHON_FRAME_ENTRY] = 68,
	  [CPYTHON_FRAME_OWNER] = CPYTHON_NONE,
	  [CPYTHON_CODE_LINE] = 72,
	  [CPYTHON_CODE_FILE] = 112,
	  [CPYTHON_CODE_NAME] = 128,
	  [CPYTHON_CODE_TABLE] = 136,
	  [CPYTHON_CODE_BYTECODE] = 184,
	  [CPYTHON_TYPE] = HEADER,
	  [CPYTHON_TEXT_ASCII] = 48,
	  [CPYTHON_TEXT_WIDE] = 72}},
	{0x030c,
	 {[CPYTHON_INTERPRETERS] = 40,
	  [CPYTHON_INTERPRETER_NEXT] = 0,
	  [CPYTHON_THREADS] = 72,
	  [CPYTHON_THREAD_NEXT] = 8,
	  [CPYTHON_THREAD_ID] = 136,
	  [CPYTHON_THREAD_CFRAME] = 56,
	  [CPYTHON_THREAD_FRAME] = CPYTHON_NONE,
	  [CPYTHON_THREAD_BASE] = CPYTHON_NONE,
	  [CPYTHON_CFRAME_FRAME] = 0,
	  [CPYTHON_CFRAME_PREVIOUS] = 8,
	  [CPYTHON_FRAME_CODE] = 0,
	  [CPYTHON_FRAME_PREVIOUS] = 8,
	  [CPYTHON_FRAME_INSTRUCTION] = 56,
	  [CPYTHON_FRAME_ENTRY] = CPYTHON_NONE,
	  [CPYTHON_FRAME_OWNER] = 70,
	  [CPYTHON_CODE_LINE] = 68,
	  [CPYTHON_CODE_FILE] = 112,
	  [CPYTHON_CODE_NAME] = 128,
	  [CPYTHON_CODE_TABLE] = 136,
	  [CPYTHON_CODE_BYTECODE] = 192,
	  [CPYTHON_TYPE] = HEADER,
	  [CPYTHON_TEXT_ASCII] = 40,
	  [CPYTHON_TEXT_WIDE] = 56}},
};

enum { COOKIE, VERSION, FREE_THREADED };

/* Positions in the table, in words; 0: none. */
static const struct positions {
	struct row row;
	/* The offset of the length in bytes objects, and of the state in strings; the next word
	 * belongs to the same object. */
	uint8_t bytes, text;
	/* Builds without a global lock are known, too. Since 3.14 each of their threads runs a copy
	 * of a function's instructions. */
	bool free_threaded;
} tables[] = {
	{{0x030d,
	  {[CPYTHON_INTERPRETERS] = 5,
	   [CPYTHON_INTERPRETER_NEXT] = 8,
	   [CPYTHON_THREADS] = 9,
	   [CPYTHON_THREAD_NEXT] = 21,
	   [CPYTHON_THREAD_ID] = 24,
	   [CPYTHON_THREAD_FRAME] = 23,
	   [CPYTHON_FRAME_CODE] = 30,
	   [CPYTHON_FRAME_PREVIOUS] = 29,
	   [CPYTHON_FRAME_INSTRUCTION] = 31,
	   [CPYTHON_FRAME_OWNER] = 33,
	   [CPYTHON_CODE_LINE] = 39,
	   [CPYTHON_CODE_FILE] = 35,
	   [CPYTHON_CODE_NAME] = 37,
	   [CPYTHON_CODE_TABLE] = 38,
	   [CPYTHON_CODE_BYTECODE] = 43,
	   [CPYTHON_TYPE] = 45,
	   [CPYTHON_TEXT_ASCII] = 70}},
	 .bytes = 65,
	 .text = 68,
	 .free_threaded = true},
	{{0x030e,
	  {[CPYTHON_INTERPRETERS] = 5,
	   [CPYTHON_INTERPRETER_NEXT] = 8,
	   [CPYTHON_THREADS] = 9,
	   [CPYTHON_THREAD_NEXT] = 24,
	   [CPYTHON_THREAD_ID] = 27,
	   [CPYTHON_THREAD_FRAME] = 26,
	   [CPYTHON_FRAME_CODE] = 33,
	   [CPYTHON_FRAME_PREVIOUS] = 32,
	   [CPYTHON_FRAME_INSTRUCTION] = 34,
	   [CPYTHON_FRAME_OWNER] = 36,
	   [CPYTHON_CODE_LINE] = 44,
	   [CPYTHON_CODE_FILE] = 40,
	   [CPYTHON_CODE_NAME] = 42,
	   [CPYTHON_CODE_TABLE] = 43,
	   [CPYTHON_CODE_BYTECODE] = 48,
	   [CPYTHON_TYPE] = 51,
	   [CPYTHON_TEXT_ASCII] = 80}},
	 .bytes = 75,
	 .text = 78},
	{{0x030f,
	  {[CPYTHON_INTERPRETERS] = 5,
	   [CPYTHON_INTERPRETER_NEXT] = 8,
	   [CPYTHON_THREADS] = 9,
	   [CPYTHON_THREAD_NEXT] = 24,
	   [CPYTHON_THREAD_ID] = 30,
	   [CPYTHON_THREAD_FRAME] = 26,
	   [CPYTHON_THREAD_BASE] = 27,
	   [CPYTHON_FRAME_CODE] = 41,
	   [CPYTHON_FRAME_PREVIOUS] = 40,
	   [CPYTHON_FRAME_INSTRUCTION] = 42,
	   [CPYTHON_FRAME_OWNER] = 44,
	   [CPYTHON_CODE_LINE] = 52,
	   [CPYTHON_CODE_FILE] = 48,
	   [CPYTHON_CODE_NAME] = 50,
	   [CPYTHON_CODE_TABLE] = 51,
	   [CPYTHON_CODE_BYTECODE] = 56,
	   [CPYTHON_TYPE] = 59,
	   [CPYTHON_TEXT_ASCII] = 92}},
	 .bytes = 87,
	 .text = 90},
};

bool cpython_version(struct runtime_file *file, uint32_t *version)
{
	uint64_t at;

	return runtime_exported(file, "Py_Version", &at) &&
	       runtime_read(file, at, version, sizeof(*version));
}

/* An item of the table: the walker reads `size` bytes there, in a structure that it copies in part,
 * or else anywhere. */
static bool cpython_layout_take(const uint64_t *table, const struct positions *from,
				struct cpython_layout *to, enum cpython_item item)
{
	const uint32_t size = item == CPYTHON_FRAME_OWNER ? 1
			      : item == CPYTHON_CODE_LINE ? sizeof(uint32_t)
							  : WORD;
	uint64_t limit = CPYTHON_NONE, at = table[from->row.at[item]];

	if (!from->row.at[item]) {
		to->at[item] = CPYTHON_NONE;
		return true;
	}
	if (item >= CPYTHON_FRAME_CODE && item <= CPYTHON_FRAME_OWNER)
		limit = CPYTHON_FRAME_WORDS * WORD;
	else if (item >= CPYTHON_CODE_LINE && item <= CPYTHON_CODE_TABLE)
		limit = CPYTHON_CODE_WORDS * WORD;
	to->at[item] = (uint16_t)at;
	return at % size == 0 && at <= limit - size;
}

/* Does the table describe a supported build of this version? */
static bool matches(const uint64_t *table, const struct positions *from)
{
	const uint64_t type = table[FREE_THREADED] ? HEADER_FREE : HEADER;

	return !memcmp(table, "xdebugpy", WORD) && table[VERSION] >> 16 == from->row.version &&
	       (!table[FREE_THREADED] || from->free_threaded) &&
	       table[from->row.at[CPYTHON_TYPE]] == type &&
	       table[from->bytes] == type + CPYTHON_LENGTH &&
	       table[from->bytes + 1] == type + CPYTHON_BYTES &&
	       table[from->text] == type + CPYTHON_TEXT_STATE &&
	       table[from->text + 1] == type + CPYTHON_LENGTH;
}

static bool from_table(const uint64_t *table, const struct positions *from,
		       struct cpython_layout *to)
{
	if (!matches(table, from))
		return false;
	for (int i = 0; i < CPYTHON_ITEMS; i++)
		if (!cpython_layout_take(table, from, to, (enum cpython_item)i))
			return false;
	/* Other strings have two words more in front of their characters. */
	to->at[CPYTHON_TEXT_WIDE] = (uint16_t)(to->at[CPYTHON_TEXT_ASCII] + 2 * WORD);
	return true;
}

bool cpython_offsets(uint32_t version, const uint64_t table[CPYTHON_TABLE],
		     struct cpython_layout *out)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].version != version >> 16)
			continue;
		memcpy(out->at, rows[i].at, sizeof(out->at));
		return true;
	}
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		if (tables[i].row.version == version >> 16)
			return from_table(table, &tables[i], out);
	return false;
}

bool cpython_is_free_threaded(struct runtime_file *file)
{
	uint64_t table[FREE_THREADED + 1], at;

	return runtime_exported(file, "_PyRuntime", &at) &&
	       runtime_read(file, at, table, sizeof(table)) && !memcmp(table, "xdebugpy", WORD) &&
	       table[FREE_THREADED];
}

bool cpython_layout_of(struct runtime_file *file, struct cpython_layout *out)
{
	struct cpython_layout layout = {0};
	uint64_t table[CPYTHON_TABLE];
	uint32_t version;

	memset(out, 0, sizeof(*out));
	if (!runtime_exported(file, "_PyRuntime", &layout.runtime) ||
	    !runtime_exported(file, "PyCode_Type", &layout.code_type) ||
	    !cpython_version(file, &version) ||
	    !runtime_read(file, layout.runtime, table, sizeof(table)) ||
	    !cpython_offsets(version, table, &layout))
		return false;
	if (!runtime_symbol_size(file, layout.runtime, &layout.runtime_size))
		layout.runtime_size = 0;
	*out = layout;
	return true;
}
