/* SPDX-License-Identifier: BSD-2-Clause */
/* cpython_layout.c: layouts of Python interpreter structures, by version. */
/*
 * One row per version, each compared with that version's headers and run. Later versions have part
 * of this at the start of _PyRuntime, for debuggers. That part also tells about builds without the
 * global lock, in which objects have a different header.
 */
#include "cpython_layout.h"

#include <string.h>

#include "find.h"

static const struct row {
	uint32_t version; /* the first two numbers, one byte each */
	uint16_t at[CPYTHON_ITEMS];
} rows[] = {
	{0x030b,
	 {[CPYTHON_INTERPRETERS] = 40,
	  [CPYTHON_INTERPRETER_NEXT] = 0,
	  [CPYTHON_THREADS] = 16,
	  [CPYTHON_THREAD_NEXT] = 8,
	  [CPYTHON_THREAD_ID] = 152,
	  [CPYTHON_THREAD_CFRAME] = 56,
	  [CPYTHON_THREAD_FRAME] = CPYTHON_NONE,
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
	  [CPYTHON_TEXT_ASCII] = 40,
	  [CPYTHON_TEXT_WIDE] = 56}},
	{0x030d,
	 {[CPYTHON_INTERPRETERS] = 632,
	  [CPYTHON_INTERPRETER_NEXT] = 7264,
	  [CPYTHON_THREADS] = 7344,
	  [CPYTHON_THREAD_NEXT] = 8,
	  [CPYTHON_THREAD_ID] = 152,
	  [CPYTHON_THREAD_CFRAME] = CPYTHON_NONE,
	  [CPYTHON_THREAD_FRAME] = 72,
	  [CPYTHON_CFRAME_FRAME] = CPYTHON_NONE,
	  [CPYTHON_CFRAME_PREVIOUS] = CPYTHON_NONE,
	  [CPYTHON_FRAME_CODE] = 0,
	  [CPYTHON_FRAME_PREVIOUS] = 8,
	  [CPYTHON_FRAME_INSTRUCTION] = 56,
	  [CPYTHON_FRAME_ENTRY] = CPYTHON_NONE,
	  [CPYTHON_FRAME_OWNER] = 70,
	  [CPYTHON_CODE_LINE] = 68,
	  [CPYTHON_CODE_FILE] = 112,
	  [CPYTHON_CODE_NAME] = 128,
	  [CPYTHON_CODE_TABLE] = 136,
	  [CPYTHON_CODE_BYTECODE] = 200,
	  [CPYTHON_TEXT_ASCII] = 40,
	  [CPYTHON_TEXT_WIDE] = 56}},
};

/* _PyRuntime begins with this since 3.13. */
struct debug_offsets {
	char cookie[8];
	uint64_t version, free_threaded;
	uint64_t runtime_size, finalizing, interpreters;
	uint64_t interpreter_size, interpreter_id, interpreter_next, threads;
};

bool cpython_version(struct runtime_file *file, uint32_t *version)
{
	uint64_t at;

	return runtime_exported(file, "Py_Version", &at) &&
	       runtime_read(file, at, version, sizeof(*version));
}

/* Does the build of the file match the row? */
static bool matches_build(struct runtime_file *file, const struct row *row, uint64_t runtime)
{
	struct debug_offsets offsets;

	if (row->at[CPYTHON_THREAD_FRAME] == CPYTHON_NONE)
		return true;
	return runtime_read(file, runtime, &offsets, sizeof(offsets)) &&
	       !memcmp(offsets.cookie, "xdebugpy", sizeof(offsets.cookie)) &&
	       !offsets.free_threaded && offsets.interpreters == row->at[CPYTHON_INTERPRETERS] &&
	       offsets.interpreter_next == row->at[CPYTHON_INTERPRETER_NEXT] &&
	       offsets.threads == row->at[CPYTHON_THREADS];
}

bool cpython_layout_of(struct runtime_file *file, struct cpython_layout *out)
{
	uint64_t runtime, code_type;
	uint32_t version;

	memset(out, 0, sizeof(*out));
	if (!runtime_exported(file, "_PyRuntime", &runtime) ||
	    !runtime_exported(file, "PyCode_Type", &code_type) || !cpython_version(file, &version))
		return false;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].version != version >> 16 || !matches_build(file, &rows[i], runtime))
			continue;
		out->runtime = runtime;
		if (!runtime_symbol_size(file, runtime, &out->runtime_size))
			out->runtime_size = 0;
		out->code_type = code_type;
		memcpy(out->at, rows[i].at, sizeof(out->at));
		return true;
	}
	return false;
}
