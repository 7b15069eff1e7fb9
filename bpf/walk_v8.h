/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* walk_v8.h: finds the JavaScript function of a V8 frame, and what its name needs. */
/*
 * Used and compiled like walk_native.h. All code of V8 keeps frame pointers, so the native walk
 * follows them. The frame of a function, interpreted or compiled, has its context and the
 * JSFunction at fixed offsets; other frames have a small integer there.
 *
 * The collector moves these objects. A function is therefore identified by its contents (the number
 * of its script, which is never reused, and its position in it), and its name and line are read at
 * once, while the thread is stopped here.
 *
 * Nothing that is read is trusted: objects are verified by the types in their maps, and steps are
 * bounded.
 */
#ifndef GCPROF_WALK_V8_H
#define GCPROF_WALK_V8_H

#include "events.h"
#include "v8.h"

#define V8_NAME_WORDS  8 /* of a ScopeInfo, enough for a name */
#define V8_CHECK_BYTES 14
#define V8_TEXT_STEPS  4 /* from a string to its characters */
#define V8_BLOCK_WORDS 32
#define V8_BLOCK       256 /* bytes */
/* Lines of a source are counted once; the count before each such piece is kept. */
#define V8_PIECE_SHIFT 16
#define V8_PIECES      32

#ifdef __bpf__
#define V8_PART __noinline /* the verifier checks it once */
#else
#define V8_PART static inline
#endif

struct v8_text {
	uint64_t at;     /* of its characters; 0: none */
	uint32_t length; /* characters */
	uint32_t width;  /* bytes per character: 1 or 2 */
};

/* Lines before each piece of a source, as far as they were counted. */
struct v8_lines {
	uint64_t script;
	uint32_t known, reserved;
	uint32_t before[V8_PIECES];
};

struct walk_v8 {
	struct v8_layout layout;
	uint64_t shared, words[V8_SHARED_WORDS]; /* of the function found */
	uint64_t script, source;
	uint64_t code[6];  /* around the instruction of the innermost function */
	uint32_t made;     /* 1: the code was generated at run time */
	uint32_t no_frame; /* 1: only the function's return address is on the stack */
	uint64_t name[V8_NAME_WORDS];
	uint64_t block[V8_BLOCK_WORDS];
	struct v8_text text;
	struct v8_lines lines;
	uint64_t function; /* its name, if it has one */
	uint32_t begin;    /* offset in the source, characters */
	uint32_t counted;  /* bytes in which lines were counted */
	uint32_t line;     /* first line; 0: unknown */
	uint32_t reserved;
};

/* --- objects -------------------------------------------------------------------------------- */

static inline int v8_is_object(uint64_t word)
{
	return (word & V8_TAG_BITS) == V8_TAG;
}

V8_PART uint64_t v8_word(uint64_t from)
{
	uint64_t word = 0;

	return walk_read(NULL, &word, sizeof(word), from) ? 0 : word;
}

static inline uint64_t v8_field(const struct walk_v8 *walk, uint64_t object,
				const enum v8_item item)
{
	return v8_word(object - V8_TAG + walk->layout.at[item]);
}

/* Half of a word, at a multiple of 4. */
static inline uint64_t v8_half(uint64_t at)
{
	return (uint32_t)(v8_word(at & ~UINT64_C(7)) >> (at & 4) * 8);
}

/* The type of an object; 0xffff if it is none, or unreadable. */
static inline uint32_t v8_type(const struct walk_v8 *walk, uint64_t object)
{
	uint64_t map = v8_is_object(object) ? v8_word(object - V8_TAG) : 0;

	return v8_is_object(map)
		       ? (uint32_t)v8_half(map - V8_TAG + walk->layout.at[V8_MAP_TYPE]) & 0xffff
		       : 0xffff;
}

static inline uint64_t v8_shared(const struct walk_v8 *walk, const enum v8_item item)
{
	return walk->words[walk->layout.at[item] / sizeof(uint64_t) & (V8_SHARED_WORDS - 1)];
}

/* --- functions ------------------------------------------------------------------------------ */

/* Reads the data of a JSFunction: 1, or 0 if it does not belong to a script. */
V8_PART int v8_function(struct walk_v8 *walk, uint64_t function)
{
	if (!walk || !v8_is_object(function))
		return 0;
	walk->shared = v8_field(walk, function, V8_FUNCTION_SHARED);
	if (!v8_is_object(walk->shared) ||
	    walk_read(NULL, walk->words, sizeof(walk->words), walk->shared - V8_TAG) ||
	    v8_type(walk, walk->shared) != walk->layout.at[V8_TYPE_SHARED])
		return 0;
	walk->script = v8_shared(walk, V8_SHARED_SCRIPT);
	return v8_type(walk, walk->script) == walk->layout.at[V8_TYPE_SCRIPT];
}

/* The same for the function of this frame, on a stack whose end is `sp`. */
static inline int v8_frame(struct walk_v8 *walk, struct walk_window *window, uint64_t frame,
			   uint64_t sp)
{
	uint64_t pair[2] = {0, 0};

	if (frame % V8_WORD || frame < sp || frame >= WALK_ADDRESS_END ||
	    frame < WALK_ADDRESS_MIN ||
	    walk_read(window, pair, V8_FRAME_BYTES, frame - V8_FRAME_BYTES))
		return 0;
	return v8_is_object(pair[1]) && v8_function(walk, pair[0]);
}

/* Eight bytes of code, from `distance` bytes after the instruction on. */
static inline uint64_t v8_code(const struct walk_v8 *walk, uint32_t distance)
{
	uint32_t at = 1 + distance / 8, shift = distance % 8 * 8;

	return shift ? walk->code[at] >> shift | walk->code[at + 1] << (64 - shift)
		     : walk->code[at];
}

/* Is push %rbp; mov %rsp,%rbp next, after at most a check that the code is still valid? */
static inline int v8_is_entry(const struct walk_v8 *walk)
{
	UNROLL
	for (uint32_t i = 0; i <= V8_CHECK_BYTES; i++)
		if ((uint32_t)v8_code(walk, i) == 0xe5894855)
			return 1;
	return 0;
}

/* After pop %rbp: cmp $n,%rcx, which compares the number of arguments; jg; ret; pop %r10. */
static inline int v8_is_return(uint64_t code)
{
	return (code & 0xffffff) == 0xf98348 || (code & 0xff) == 0x7f || (code & 0xff) == 0xc2 ||
	       (code & 0xff) == 0xc3 || (code & 0xffff) == 0x5a41;
}

/*
 * Finds the innermost function if it has no frame yet; the JSFunction is then in rdi. If the frame
 * is already gone, it is still below the stack, and the walk continues with that. 0: the function
 * has a frame, as far as the code shows.
 */
static inline int v8_innermost(struct walk_v8 *walk, struct walk_native *native, uint64_t rdi)
{
	uint64_t code;

	if (walk_read(NULL, walk->code, sizeof(walk->code), native->ip - sizeof(uint64_t)))
		return 0;
	code = walk->code[1];
	if ((code & 0xffffff) == 0xe58948 && walk->code[0] >> 56 == 0x55) {
		if (!v8_function(walk, rdi))
			return 0;
		native->bp = native->sp;
		return 1;
	}
	if (v8_is_return(code) && v8_word(native->sp - V8_WORD) == native->bp) {
		native->sp -= V8_WORD;
		native->bp = native->sp;
		return 0;
	}
	if (native->bp - native->sp < V8_FRAME_BYTES)
		return (code & 0xff) != 0x5d && v8_function(walk, rdi);
	walk->no_frame = v8_is_entry(walk) && v8_function(walk, rdi);
	return (int)walk->no_frame;
}

/* Goes to the caller of a function without a frame. */
static inline int v8_up(struct walk_native *native, struct walk_window *window)
{
	uint64_t ip = 0;

	if (walk_read(window, &ip, sizeof(ip), native->sp) || ip < WALK_ADDRESS_MIN ||
	    ip >= WALK_ADDRESS_END) {
		native->quality |= STACK_USER_END;
		return 0;
	}
	native->called = 1;
	native->sp += V8_WORD;
	native->ip = ip;
	return 1;
}

/* Distinguishes the function from others at the same address. */
static inline uint64_t v8_print(const struct walk_v8 *walk)
{
	uint64_t print = v8_shared(walk, V8_SHARED_NAME);

	print = print * UINT64_C(0x9e3779b97f4a7c15) + walk->script;
	print = print * UINT64_C(0x9e3779b97f4a7c15) + v8_field(walk, walk->script, V8_SCRIPT_ID);
	return print * UINT64_C(0x9e3779b97f4a7c15) + v8_shared(walk, V8_SHARED_LENGTH);
}

#endif
