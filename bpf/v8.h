/* SPDX-License-Identifier: BSD-2-Clause */
/* v8.h: what the walker of JavaScript frames knows of a V8 engine. */
#ifndef GCPROF_V8_H
#define GCPROF_V8_H

#ifndef __bpf__
#include <stdint.h>
#endif

/* Offsets from the begin of an object, and type numbers; they depend on the version. */
enum v8_item {
	V8_MAP_TYPE,        /* of a map: the type of its objects, 16 bits */
	V8_FUNCTION_SHARED, /* of a JSFunction: the data that its closures share */
	V8_SHARED_NAME,     /* the name, or a ScopeInfo */
	V8_SHARED_SCRIPT,
	V8_SHARED_LENGTH, /* 8 bytes: constant figures of the function */
	V8_SCRIPT_SOURCE,
	V8_SCRIPT_NAME,
	V8_SCRIPT_ID,
	V8_SCOPE_LOCALS,   /* number of local variables */
	V8_SCOPE_FIRST,    /* the variable part begins here */
	V8_STRING_LENGTH,  /* in all strings: 32 bits */
	V8_STRING_CHARS,   /* of a plain string: its characters */
	V8_STRING_OTHER,   /* of an indirect string: the other string */
	V8_STRING_OFFSET,  /* of a slice: its offset in the other string */
	V8_STRING_OUTSIDE, /* of an external string: the address of its characters */
	V8_TYPE_SHARED,
	V8_TYPE_SCRIPT,
	V8_TYPE_SCOPE,
	V8_TYPE_NO_STRING, /* the first type that is not a string */
	V8_ITEMS
};

/* The same in all versions: objects have their tag in the two lowest bits, small integers are in
 * the upper half of a word. */
#define V8_TAG_BITS  3
#define V8_TAG       1
#define V8_WORD      8
#define V8_SMI_SHIFT 32
/* In a ScopeInfo: flags, of which the lowest are its kind. */
#define V8_SCOPE_FLAGS  8
#define V8_SCOPE_KINDS  15
#define V8_SCOPE_MODULE 3  /* has one more number before its names */
#define V8_SCOPE_INLINE 75 /* from this number of locals on, names are in a table */
#define V8_SCOPE_PLACE  32 /* the source position, if SCOPE_FIRST lies behind it */
/* In the type of a string. */
#define V8_STRING_FORM     7
#define V8_STRING_ONE_BYTE 8

enum v8_string { V8_PLAIN = 0, V8_JOINED = 1, V8_OUTSIDE = 2, V8_SLICED = 3, V8_THIN = 5 };

/* A JavaScript frame has its context and its function below the frame pointer. Other frames have a
 * small integer in place of the context. */
#define V8_FRAME_BYTES 16

/* V8_FUNCTION_SHARED 0: the file has no engine, or an unknown version. */
struct v8_layout {
	uint16_t at[V8_ITEMS];
	uint16_t reserved[(4 - V8_ITEMS % 4) % 4];
};

#define V8_SHARED_WORDS 8 /* words read; they contain all of its items */

#endif
