/* SPDX-License-Identifier: BSD-2-Clause */
/* cpython.h: what the walker of Python frames knows of an interpreter. */
#ifndef GCPROF_CPYTHON_H
#define GCPROF_CPYTHON_H

#ifndef __bpf__
#include <stdint.h>
#endif

/* Offsets that depend on the version. */
enum cpython_item {
	CPYTHON_INTERPRETERS, /* in _PyRuntime: the first interpreter */
	CPYTHON_INTERPRETER_NEXT,
	CPYTHON_THREADS, /* in an interpreter: the first thread */
	CPYTHON_THREAD_NEXT,
	CPYTHON_THREAD_ID, /* pthread_self() */
	/* The _PyCFrame on the C stack of the current activation; up to 3.12. */
	CPYTHON_THREAD_CFRAME,
	CPYTHON_THREAD_FRAME, /* the innermost frame; since 3.13 */
	CPYTHON_THREAD_BASE,  /* a frame that calls the outermost; since 3.15 */
	CPYTHON_CFRAME_FRAME, /* the innermost frame */
	CPYTHON_CFRAME_PREVIOUS,
	CPYTHON_FRAME_CODE,
	CPYTHON_FRAME_PREVIOUS,
	CPYTHON_FRAME_INSTRUCTION,
	CPYTHON_FRAME_ENTRY, /* byte: outermost frame of its activation; 3.11 */
	CPYTHON_FRAME_OWNER, /* byte: CPYTHON_OWNER_C: an activation, not a function; since 3.12 */
	CPYTHON_CODE_LINE,   /* first line of the function */
	CPYTHON_CODE_FILE,
	CPYTHON_CODE_NAME,
	CPYTHON_CODE_TABLE,    /* the line table */
	CPYTHON_CODE_BYTECODE, /* the instructions begin here */
	CPYTHON_TYPE,          /* in all objects; what precedes it counts references */
	CPYTHON_TEXT_ASCII,    /* characters of an ASCII string */
	CPYTHON_TEXT_WIDE,     /* characters of other strings */
	CPYTHON_ITEMS
};

#define CPYTHON_NONE    0xffff /* for items that the version lacks */
#define CPYTHON_OWNER_C 3

/* How much of a frame and of a code object the walker reads. */
#define CPYTHON_FRAME_WORDS 10
#define CPYTHON_CODE_WORDS  20

/* Offsets from the type on, which are the same in all versions. */
#define CPYTHON_LENGTH        8  /* in strings and bytes objects */
#define CPYTHON_TEXT_STATE    24 /* bits 2 to 4: bytes per character; 5: compact; 6: ASCII */
#define CPYTHON_TEXT_WIDTH    2
#define CPYTHON_TEXT_COMPACT  5
#define CPYTHON_TEXT_IS_ASCII 6
#define CPYTHON_BYTES         24 /* first byte of a bytes object */

/* All 0: the file has no interpreter, or an unknown version. */
struct cpython_layout {
	uint64_t runtime;      /* link-time address of _PyRuntime */
	uint64_t runtime_size; /* it contains the global lock; 0: unknown */
	uint64_t code_type;    /* link-time address of PyCode_Type */
	uint16_t at[CPYTHON_ITEMS];
	uint16_t reserved[(4 - CPYTHON_ITEMS % 4) % 4];
};

#endif
