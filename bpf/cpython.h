/* SPDX-License-Identifier: BSD-2-Clause */
/* cpython.h: what the walker of Python stacks knows of an interpreter. */
#ifndef GCPROF_CPYTHON_H
#define GCPROF_CPYTHON_H

#ifndef __bpf__
#include <stdint.h>
#endif

/* Offsets that differ from version to version. */
enum cpython_item {
	CPYTHON_INTERPRETERS, /* _PyRuntime: the first interpreter */
	CPYTHON_INTERPRETER_NEXT,
	CPYTHON_THREADS, /* of an interpreter: the first */
	CPYTHON_THREAD_NEXT,
	CPYTHON_THREAD_ID, /* as pthread_self() */
	/* A _PyCFrame, on the C stack of the activation that the thread runs; up to 3.12. */
	CPYTHON_THREAD_CFRAME,
	CPYTHON_THREAD_FRAME, /* the innermost frame; since 3.13 */
	CPYTHON_CFRAME_FRAME, /* the innermost frame */
	CPYTHON_CFRAME_PREVIOUS,
	CPYTHON_FRAME_CODE,
	CPYTHON_FRAME_PREVIOUS,
	CPYTHON_FRAME_INSTRUCTION,
	CPYTHON_FRAME_ENTRY, /* byte: it is the outermost one of its activation; 3.11 */
	CPYTHON_FRAME_OWNER, /* byte: CPYTHON_OWNER_C: it is none, but its activation; since 3.12 */
	CPYTHON_CODE_LINE,   /* where the function begins */
	CPYTHON_CODE_FILE,
	CPYTHON_CODE_NAME,
	CPYTHON_CODE_TABLE,    /* of lines */
	CPYTHON_CODE_BYTECODE, /* begins here */
	CPYTHON_TEXT_ASCII,    /* of a string: its characters */
	CPYTHON_TEXT_WIDE,     /* of one with others than ASCII */
	CPYTHON_ITEMS
};

#define CPYTHON_NONE    0xffff /* an item that the version does not have */
#define CPYTHON_OWNER_C 3

/* Offsets that have been the same in all. */
#define CPYTHON_TYPE          8  /* of an object */
#define CPYTHON_LENGTH        16 /* of a string or of bytes */
#define CPYTHON_TEXT_STATE    32 /* bits 2 to 4: bytes of a character; 5: compact; 6: ASCII */
#define CPYTHON_TEXT_WIDTH    2
#define CPYTHON_TEXT_COMPACT  5
#define CPYTHON_TEXT_IS_ASCII 6
#define CPYTHON_BYTES         32 /* of a bytes object: its first */

/* All 0: the file has no interpreter, or one of a version that is not known. */
struct cpython_layout {
	uint64_t runtime;      /* _PyRuntime, as the linker knows it */
	uint64_t runtime_size; /* it has the global lock; 0: unknown */
	uint64_t code_type;    /* PyCode_Type */
	uint16_t at[CPYTHON_ITEMS];
	uint16_t reserved[(4 - CPYTHON_ITEMS % 4) % 4];
};

#endif
