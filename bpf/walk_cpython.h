/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* walk_cpython.h: one step of a walk up the Python frames of a thread. */
/*
 * Compiled into the BPF object and into the tests. Before including it, a file declares
 *
 *	long cpython_read(void *to, uint32_t size, uint64_t from);
 *
 * which copies memory of the walked thread and returns 0 or an error.
 *
 * The interpreter's loop (_PyEval_EvalFrameDefault) runs Python functions that call each other
 * without another C function: an activation. Each activation has something on its C stack, whose
 * address identifies the native function: up to 3.11 a _PyCFrame, which points to that of the
 * calling activation; since 3.12 a frame at the end of the frames that it runs. It is returned as a
 * frame without a function.
 *
 * Nothing that is read is trusted: code objects are verified by their type, and the steps are
 * bounded.
 */
#ifndef GCPROF_WALK_CPYTHON_H
#define GCPROF_WALK_CPYTHON_H

#include "cpython.h"
#include "events.h"

#define CPYTHON_THREADS_MAX 1024 /* steps of a search */
#define CPYTHON_FRAMES_MAX  4096 /* read while looking for an activation */

struct walk_cpython {
	struct cpython_layout layout;
	uint64_t bias;                /* load bias of its file */
	uint64_t interpreter, thread; /* at which the search is */
	uint64_t stack, stack_size;   /* of the thread, from its stack pointer on; 0: by id only */
	uint64_t found[2];            /* states of the thread, innermost first; 0: none */
	uint64_t frame;               /* at which the walk is; 0: at the end */
	uint64_t activation;          /* its _PyCFrame; 0: none */
	uint64_t raw[16];             /* of the current frame */
	uint64_t code, code_words[32];
	uint64_t instruction;
	uint32_t looked;  /* frames read */
	uint32_t count;   /* frames returned */
	uint32_t quality; /* enum stack_quality, managed bits */
	uint32_t reserved;
};

static inline uint64_t cpython_word(uint64_t from)
{
	uint64_t word = 0;

	return from && !cpython_read(&word, sizeof(word), from) ? word : 0;
}

static inline uint64_t cpython_field(const struct walk_cpython *walk, uint64_t from,
				     const enum cpython_item item)
{
	return from ? cpython_word(from + walk->layout.at[item]) : 0;
}

/*
 * Is it a state of the thread with this id? Up to 3.12 the state of a subinterpreter has the id of
 * the thread that created it; the thread that runs it has the activation on its stack.
 */
static inline int cpython_is_thread(const struct walk_cpython *walk, uint64_t thread, uint64_t id)
{
	if (!thread)
		return 0;
	if (walk->stack_size)
		return cpython_field(walk, thread, CPYTHON_THREAD_CFRAME) - walk->stack <
		       walk->stack_size;
	return cpython_field(walk, thread, CPYTHON_THREAD_ID) == id;
}

/* The newest interpreter. */
static inline uint64_t cpython_newest(const struct walk_cpython *walk)
{
	return cpython_field(walk, walk->bias + walk->layout.runtime, CPYTHON_INTERPRETERS);
}

/* Starts a search through the threads of all interpreters. */
static inline void cpython_search_begin(struct walk_cpython *walk)
{
	walk->thread = walk->found[0] = walk->found[1] = 0;
	walk->interpreter = cpython_newest(walk);
}

/*
 * One step: 1 at the end. A thread has one state in each interpreter that it has entered. The
 * newest interpreters come first, which others have entered.
 */
static inline int cpython_search(struct walk_cpython *walk, uint64_t id)
{
	if (cpython_is_thread(walk, walk->thread, id)) {
		walk->found[walk->found[0] != 0] = walk->thread;
		walk->thread = 0;
		return walk->found[1] || !walk->interpreter;
	}
	if (walk->thread) {
		walk->thread = cpython_field(walk, walk->thread, CPYTHON_THREAD_NEXT);
		return 0;
	}
	if (!walk->interpreter)
		return 1;
	walk->thread = cpython_field(walk, walk->interpreter, CPYTHON_THREADS);
	walk->interpreter = cpython_field(walk, walk->interpreter, CPYTHON_INTERPRETER_NEXT);
	return 0;
}

/* Continues the walk with a state of the thread. */
static inline void cpython_enter(struct walk_cpython *walk, uint64_t thread)
{
	walk->activation = 0;
	if (walk->layout.at[CPYTHON_THREAD_CFRAME] == CPYTHON_NONE) {
		walk->frame = cpython_field(walk, thread, CPYTHON_THREAD_FRAME);
		return;
	}
	walk->activation = cpython_field(walk, thread, CPYTHON_THREAD_CFRAME);
	walk->frame = cpython_field(walk, walk->activation, CPYTHON_CFRAME_FRAME);
}

/* Starts a walk of the thread, in the innermost interpreter. */
static inline void cpython_begin(struct walk_cpython *walk)
{
	walk->looked = 0;
	walk->count = 0;
	walk->quality = 0;
	cpython_enter(walk, walk->found[0]);
}

/* A word, or a byte, of what was read. */
static inline uint64_t cpython_part(const uint64_t *raw, uint32_t offset, const uint32_t mask)
{
	return raw[offset / sizeof(uint64_t) & mask];
}

static inline uint32_t cpython_byte(const struct walk_cpython *walk, const enum cpython_item item)
{
	uint32_t offset = walk->layout.at[item];

	return cpython_part(walk->raw, offset, 15) >> offset % sizeof(uint64_t) * 8 & 0xff;
}

static inline uint64_t cpython_frame_part(const struct walk_cpython *walk,
					  const enum cpython_item item)
{
	return cpython_part(walk->raw, walk->layout.at[item], 15);
}

static inline uint64_t cpython_code_part(const struct walk_cpython *walk,
					 const enum cpython_item item)
{
	return cpython_part(walk->code_words, walk->layout.at[item], 31);
}

/* The first line of the function. */
static inline uint32_t cpython_code_line(const struct walk_cpython *walk)
{
	uint32_t offset = walk->layout.at[CPYTHON_CODE_LINE];

	return (uint32_t)(cpython_part(walk->code_words, offset, 31) >>
			  offset % sizeof(uint64_t) * 8);
}

/* Reads the frame's function into `code`, `code_words` and `instruction`; false if it is
 * invalid. */
static inline int cpython_function(struct walk_cpython *walk)
{
	uint64_t begin;

	/* Since 3.14 the low bits of the pointer tell how it is counted. */
	walk->code = cpython_frame_part(walk, CPYTHON_FRAME_CODE) & ~UINT64_C(7);
	if (!walk->code ||
	    cpython_read(walk->code_words, CPYTHON_CODE_WORDS * sizeof(uint64_t), walk->code) ||
	    cpython_code_part(walk, CPYTHON_TYPE) != walk->bias + walk->layout.code_type)
		return 0;
	begin = walk->code + walk->layout.at[CPYTHON_CODE_BYTECODE];
	walk->instruction = cpython_frame_part(walk, CPYTHON_FRAME_INSTRUCTION);
	/* In units of two bytes. Before the first instruction it points just before it. */
	walk->instruction = walk->instruction > begin ? (walk->instruction - begin) / 2 : 0;
	return 1;
}

/* Ends the walk with an error. */
static inline int cpython_fail(struct walk_cpython *walk, uint32_t quality)
{
	walk->quality |= quality;
	return -1;
}

/* Leaves the outermost frame of an activation of 3.11. */
static inline void cpython_leave(struct walk_cpython *walk)
{
	walk->activation = cpython_field(walk, walk->activation, CPYTHON_CFRAME_PREVIOUS);
	if (!walk->activation)
		walk->frame = 0;
}

/*
 * Reads the current frame and goes to its caller: 2 if it has a function; 1 if it is an activation;
 * 0 if it is left out; -1 at the end, with the reason in `quality`. *address is the activation's
 * address on the C stack; 0: it is returned later.
 */
static inline int cpython_next(struct walk_cpython *walk, uint64_t *address)
{
	uint32_t is_owned = walk->layout.at[CPYTHON_FRAME_OWNER] != CPYTHON_NONE, is_entry;
	uint64_t frame = walk->frame;

	*address = walk->activation;
	if (!frame && walk->found[1]) {
		/* The interpreter that entered this one. */
		cpython_enter(walk, walk->found[1]);
		walk->found[1] = 0;
		return 0;
	}
	if (!frame)
		return -1;
	if (walk->looked++ >= CPYTHON_FRAMES_MAX)
		return cpython_fail(walk, STACK_MANAGED_CUT);
	if (frame % sizeof(uint64_t) ||
	    cpython_read(walk->raw, CPYTHON_FRAME_WORDS * sizeof(uint64_t), frame))
		return cpython_fail(walk, STACK_MANAGED_TORN);
	walk->frame = cpython_frame_part(walk, CPYTHON_FRAME_PREVIOUS);
	if (is_owned && cpython_byte(walk, CPYTHON_FRAME_OWNER) == CPYTHON_OWNER_C) {
		/* Every activation has a caller then, but for the base frame, which is none. */
		if (!walk->frame && walk->layout.at[CPYTHON_THREAD_BASE] != CPYTHON_NONE)
			return 0;
		*address = frame;
		if (walk->count >= MANAGED_DEPTH_MAX - 1)
			walk->frame = 0;
		walk->count++;
		return 1;
	}
	if (is_owned)
		*address = 0;
	/* Beyond that only the activation is wanted. */
	if (walk->count >= MANAGED_DEPTH_MAX - 1) {
		walk->quality |= STACK_MANAGED_CUT;
		return is_owned ? 0 : -1;
	}
	is_entry = !is_owned && cpython_byte(walk, CPYTHON_FRAME_ENTRY);
	if (!cpython_function(walk))
		return cpython_fail(walk, STACK_MANAGED_TORN);
	if (is_entry)
		cpython_leave(walk);
	walk->count++;
	return 2;
}

#endif
