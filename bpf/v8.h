/* SPDX-License-Identifier: BSD-2-Clause */
/* v8.h: what the walker of JavaScript stacks knows of a V8 engine. */
#ifndef GCPROF_V8_H
#define GCPROF_V8_H

#ifndef __bpf__
#include <stdint.h>
#endif

/* Offsets from where an object begins, and numbers of types, which differ from version to version.
 */
enum v8_item {
	V8_MAP_TYPE,        /* of a map: what its objects are, 16 bits */
	V8_FUNCTION_SHARED, /* of a JSFunction: what all closures of a function share */
	V8_SHARED_NAME,     /* the name, or a ScopeInfo */
	V8_SHARED_SCRIPT,
	V8_SHARED_LENGTH, /* 8 bytes: numbers of the function that do not change */
	V8_SCRIPT_SOURCE,
	V8_SCRIPT_NAME,
	V8_SCRIPT_ID,
	V8_SCOPE_LOCALS,   /* their number */
	V8_SCOPE_FIRST,    /* what differs in length begins here */
	V8_STRING_LENGTH,  /* of all strings: 32 bits */
	V8_STRING_CHARS,   /* of one that has them itself */
	V8_STRING_OTHER,   /* of one that leads to another: that one */
	V8_STRING_OFFSET,  /* and where in it this one begins */
	V8_STRING_OUTSIDE, /* of one whose characters are elsewhere: their address */
	V8_TYPE_SHARED,
	V8_TYPE_SCRIPT,
	V8_TYPE_SCOPE,
	V8_TYPE_NO_STRING, /* the first that is none */
	V8_ITEMS
};

/* What has been the same in all: objects are known by the two lowest bits of their address, small
 * numbers lie in the upper halves of words. */
#define V8_TAG_BITS  3
#define V8_TAG       1
#define V8_WORD      8
#define V8_SMI_SHIFT 32
/* Of a ScopeInfo: flags, of which the lowest say what it is of. */
#define V8_SCOPE_FLAGS  8
#define V8_SCOPE_KINDS  15
#define V8_SCOPE_MODULE 3  /* one number more lies before its names */
#define V8_SCOPE_INLINE 75 /* from so many locals on their names are in a table */
#define V8_SCOPE_PLACE  32 /* where the place in the source is, if SCOPE_FIRST is behind it */
/* Of the type of a string. */
#define V8_STRING_FORM     7
#define V8_STRING_ONE_BYTE 8

enum v8_string { V8_PLAIN = 0, V8_JOINED = 1, V8_OUTSIDE = 2, V8_SLICED = 3, V8_THIN = 5 };

/* Words below the frame pointer of a frame of JavaScript: the context, and the function. Other
 * frames have a small number where the context is. */
#define V8_FRAME_BYTES 16

/* V8_FUNCTION_SHARED 0: the file has no engine, or one of a version that is not known. */
struct v8_layout {
	uint16_t at[V8_ITEMS];
	uint16_t reserved[(4 - V8_ITEMS % 4) % 4];
};

#define V8_SHARED_WORDS 8 /* that are read; all of its items lie in them */

#endif
