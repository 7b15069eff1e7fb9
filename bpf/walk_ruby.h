/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* walk_ruby.h: one step of a walk up the Ruby frames of a thread. */
/*
 * Used and compiled like walk_managed.h. A thread has an execution context, and each of its fibers
 * another one; ruby_current_ec, in thread-local storage, points to the one that runs. Its frames
 * lie one behind the other, up to the end of a stack of their own. Those of C functions are left
 * out: these functions are on the C stack.
 *
 * rb_vm_exec() runs Ruby functions that call each other without another C function: an activation,
 * whose outermost frame is marked. It leaves a jump target for exceptions on its C stack, in a list
 * with those of other C functions. A target has an address in the function that left it, and the
 * stack pointer there. Right below lies what rb_vm_exec() calls: the interpreter's loop, whose
 * place the activation's functions take.
 *
 * An outermost frame is made shortly before its activation's target, and removed shortly before
 * that. So both are counted. Where the counts differ, a second walk leaves out the innermost
 * targets without a frame, or puts the innermost frames without a target below all C functions.
 *
 * Nothing that is read is trusted: function objects are verified by their type, and the steps are
 * bounded.
 */
#ifndef GCPROF_WALK_RUBY_H
#define GCPROF_WALK_RUBY_H

#include "events.h"
#include "ruby.h"

#define RUBY_STEPS_MAX 4096
#define RUBY_NOWHERE   0xffffffff /* compiled code seldom says where it is */
#define RUBY_BELOW     24 /* below a stack pointer: within the function that was called there */
#define RUBY_INNERMOST 8  /* an activation below all C functions */

struct walk_ruby {
	struct ruby_layout layout;
	uint64_t bias;       /* load bias of its file */
	uint64_t frame, end; /* at which the walk is; where no function's frames begin */
	uint64_t target;     /* the next jump target; 0: no more */
	uint64_t activation; /* an address in the loop's own frame; 0: unknown, as the caller's */
	uint64_t address;    /* the same of the frame returned */
	uint64_t words[5];   /* read last */
	uint64_t code[RUBY_CODE_WORDS];
	uint64_t body[32];
	uint64_t instruction;                 /* in words of code; RUBY_NOWHERE: unknown */
	uint32_t searches;                    /* 1: goes on through the jump targets */
	uint32_t ends;                        /* 1: all frames were returned */
	uint32_t marked;                      /* outermost frames of activations returned */
	uint32_t targets;                     /* of rb_vm_exec() found */
	uint32_t first_marked, first_targets; /* innermost ones without the other */
	uint32_t looked;                      /* steps */
	uint32_t count;                       /* frames returned */
	uint32_t quality;                     /* enum stack_quality, managed bits */
	uint32_t reserved;
};

static inline uint64_t ruby_word(uint64_t from)
{
	uint64_t word = 0;

	return from && !walk_read(NULL, &word, sizeof(word), from) ? word : 0;
}

/* The execution context that the thread runs; 0: none. `storage` is the base of its thread-local
 * storage, whose second word leads to the blocks of the modules (glibc). */
static inline uint64_t ruby_context(struct walk_ruby *walk, uint64_t storage)
{
	uint64_t block;

	if (walk_read(NULL, walk->words, 2 * sizeof(uint64_t), walk->bias + walk->layout.storage))
		return 0;
	block = ruby_word(ruby_word(storage + 8) + 16 * walk->words[0]);
	return block ? ruby_word(block + walk->words[1]) : 0;
}

/* Starts a walk; 0 if the thread has no Ruby frames. */
static inline int ruby_begin(struct walk_ruby *walk, uint64_t storage)
{
	uint64_t context = ruby_context(walk, storage);

	walk->activation = walk->first_marked ? RUBY_INNERMOST : 0;
	walk->address = walk->ends = 0;
	walk->marked = walk->targets = 0;
	walk->looked = walk->count = walk->quality = 0;
	walk->searches = !walk->first_marked;
	if (!context ||
	    walk_read(NULL, walk->words, RUBY_CONTEXT_WORDS * sizeof(uint64_t), context))
		return 0;
	/* The last frame is no function's. */
	walk->end = walk->words[0] + walk->words[1] * sizeof(uint64_t) -
		    walk->layout.at[RUBY_FRAME_BYTES];
	walk->frame = walk->words[2];
	walk->target = walk->words[3];
	return walk->frame && walk->frame < walk->end;
}

/* Prepares a second walk, if the first one needs it. */
static inline int ruby_again(struct walk_ruby *walk)
{
	uint32_t marked = walk->marked, targets = walk->targets;

	if (walk->quality || marked == targets)
		return 0;
	walk->first_marked = marked > targets ? marked - targets : 0;
	walk->first_targets = targets > marked ? targets - marked : 0;
	return 1;
}

/* Looks at a jump target; -1 at the end. */
static inline int ruby_search(struct walk_ruby *walk)
{
	uint64_t target = walk->target;

	walk->target = 0;
	if (!target || walk_read(NULL, walk->words, 2 * sizeof(uint64_t),
				 target + walk->layout.at[RUBY_TAG_LABEL])) {
		walk->searches = 0;
		walk->activation = 0;
		return walk->ends ? -1 : 0;
	}
	walk->target = ruby_word(target + walk->layout.at[RUBY_TAG_PREVIOUS]);
	if (walk->words[0] - walk->bias - walk->layout.loop >= walk->layout.loop_size)
		return 0;
	walk->targets++;
	if (walk->targets <= walk->first_targets || walk->ends)
		return 0;
	walk->searches = 0;
	walk->activation = walk->words[1] - RUBY_BELOW;
	return 0;
}

static inline uint64_t ruby_body_part(const struct walk_ruby *walk, const enum ruby_item item)
{
	return walk->body[walk->layout.at[item] / sizeof(uint64_t) & 31];
}

/* Words of the function's code: the second half of the body's first word. */
static inline uint32_t ruby_code_words(const struct walk_ruby *walk)
{
	return (uint32_t)(walk->body[0] >> 32);
}

/* Reads the frame's function into `code`, `body` and `instruction`; 0 if it is invalid. */
static inline int ruby_function(struct walk_ruby *walk)
{
	uint64_t at = walk->words[RUBY_FRAME_INSTRUCTION];

	if (walk_read(NULL, walk->code, sizeof(walk->code), walk->words[RUBY_FRAME_CODE]) ||
	    (walk->code[0] & RUBY_CODE_TYPE) != RUBY_CODE ||
	    walk_read(NULL, walk->body, RUBY_BODY_WORDS * sizeof(uint64_t),
		      walk->code[RUBY_CODE_BODY]))
		return 0;
	at = (at - ruby_body_part(walk, RUBY_BODY_CODE)) / sizeof(uint64_t);
	walk->instruction = at ? at - 1 : 0;
	if (at > ruby_code_words(walk))
		walk->instruction = RUBY_NOWHERE;
	return 1;
}

/* Ends the walk with an error. */
static inline int ruby_fail(struct walk_ruby *walk, uint32_t quality)
{
	walk->quality |= quality;
	return -1;
}

/*
 * Reads the current frame and goes to its caller: 2 if it has a function, with its activation in
 * `address`; 0 if it has none; -1 at the end, with the reason in `quality`.
 */
static inline int ruby_next(struct walk_ruby *walk, struct walk_window *window)
{
	uint64_t flags = 0;

	if (walk->looked++ >= RUBY_STEPS_MAX - 1)
		return ruby_fail(walk, STACK_MANAGED_CUT);
	if (walk->searches)
		return ruby_search(walk);
	if (walk->frame >= walk->end) {
		walk->ends = walk->searches = 1;
		return 0;
	}
	if (walk_read(NULL, walk->words, RUBY_FRAME_WORDS * sizeof(uint64_t), walk->frame) ||
	    walk_read(window, &flags, sizeof(flags), walk->words[RUBY_FRAME_FLAGS]))
		return ruby_fail(walk, STACK_MANAGED_TORN);
	walk->frame += walk->layout.at[RUBY_FRAME_BYTES];
	/* The other ones are made for C code that runs as if in a Ruby function, such as an
	 * extension's start. */
	if (!walk->words[RUBY_FRAME_CODE] || flags & RUBY_FLAG_C ||
	    (flags & RUBY_FLAG_FINISH && !walk->words[RUBY_FRAME_INSTRUCTION]))
		return 0;
	if (walk->count >= MANAGED_DEPTH_MAX - 1)
		return ruby_fail(walk, STACK_MANAGED_CUT);
	if (!ruby_function(walk))
		return ruby_fail(walk, STACK_MANAGED_TORN);
	walk->address = walk->activation;
	walk->count++;
	if (flags & RUBY_FLAG_FINISH) {
		walk->marked++;
		walk->searches = walk->marked >= walk->first_marked;
	}
	return 2;
}

#endif
