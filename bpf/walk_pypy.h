/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* walk_pypy.h: one step of a walk up the functions that PyPy runs on a thread. */
/*
 * Used and compiled like walk_managed.h. Each thread has a list of what it runs, for PyPy's own
 * profiler, innermost first: functions that the interpreter runs, and stretches of compiled code. A
 * skip list has the begin of each piece of compiled code, and a table of the functions inlined
 * there: entries of four words, each with a function's id, its begin and end in the code, and the
 * index of the first entry that is not inlined into it.
 *
 * A step reads a few words of one of these. Functions inlined into each other are collected first,
 * since the table has the outermost one first. Compiled code goes on with the function that entered
 * it, and recursion is inlined in part, so these functions are marked: repeats say nothing.
 *
 * Code that is seldom executed lies behind that of all functions and jumps back. What it calls is
 * charged to where it jumps.
 *
 * Nothing that is read is trusted; the steps are bounded.
 */
#ifndef GCPROF_WALK_PYPY_H
#define GCPROF_WALK_PYPY_H

#include "events.h"
#include "pypy.h"
#include "verifier.h"

#define PYPY_STEPS_MAX    4096
#define PYPY_SEARCH_STEPS 4   /* of a search in the skip list, in one step of the walk */
#define PYPY_INLINED_MAX  64  /* functions inlined into each other */
#define PYPY_ENTERED_MAX  128 /* functions of the list that are placed among the native ones */
#define PYPY_BELOW        24  /* below a CFA: within that function */

#ifdef __bpf__
#define PYPY_PART __noinline /* the verifier checks it once */
#else
#define PYPY_PART static inline
#endif

enum pypy_state { PYPY_IN_LIST, PYPY_IN_CODES, PYPY_IN_TABLE, PYPY_IN_GROUP };

struct walk_pypy {
	struct pypy_layout layout;
	uint64_t bias;     /* load bias of its file */
	uint64_t entry;    /* next one of the thread's list; 0: the end */
	uint64_t leaf;     /* where the thread is, until an entry was read */
	uint64_t frame;    /* rsp of compiled code */
	uint64_t pc;       /* where that is */
	uint64_t code;     /* the node of the skip list reached */
	uint64_t table;    /* of the functions in the code */
	uint64_t address;  /* of the function returned, as in struct event_managed; 0: unknown */
	uint64_t id;       /* of that function */
	uint64_t words[4]; /* read last */
	uint32_t level;    /* of the skip list */
	uint32_t at, end;  /* index in the table; its length */
	uint32_t n_group, n_entered;
	uint32_t state;                   /* enum pypy_state */
	uint32_t tries;                   /* 1: `pc` is the leaf, which may lie elsewhere */
	uint32_t functions;               /* of the list, returned */
	uint32_t skipped;                 /* innermost ones that no native function runs */
	uint32_t looked;                  /* steps */
	uint32_t count;                   /* functions returned */
	uint32_t quality;                 /* enum stack_quality, managed bits */
	uint64_t group[PYPY_INLINED_MAX]; /* functions inlined, outermost first */
	uint64_t stack;                   /* the thread's rsp */
	/* CFAs of native functions that run one, innermost first, as distances from that. */
	uint32_t entered[PYPY_ENTERED_MAX];
};

PYPY_PART uint64_t pypy_word(uint64_t from)
{
	uint64_t word = 0;

	return walk_read(NULL, &word, sizeof(word), from) ? 0 : word;
}

/* Starts a walk of the thread that is at `ip`; 0 if it has no functions. `storage` is the base of
 * its thread-local storage, whose second word leads to the blocks of the modules (glibc). */
PYPY_PART int pypy_begin(struct walk_pypy *walk, uint64_t storage, uint64_t ip)
{
	uint64_t own;

	if (!walk)
		return 0;
	walk->functions = walk->looked = walk->count = walk->quality = 0;
	walk->state = PYPY_IN_LIST;
	walk->leaf = ip;
	walk->entry = 0;
	if (walk_read(NULL, walk->words, 2 * sizeof(uint64_t), walk->bias + walk->layout.storage))
		return 0;
	own = pypy_word(pypy_word(storage + 8) + 16 * walk->words[0]);
	if (!own || (uint32_t)pypy_word(own + walk->words[1]) != PYPY_READY)
		return 0;
	walk->entry = pypy_word(own + walk->words[1] + walk->layout.list);
	return walk->entry != 0;
}

/* Prepares a second walk, if the first one needs it: functions of the list may be run without a
 * native function of their own, when compiled code is left. These are innermost. `is_cut`: not all
 * native functions are known. */
static inline int pypy_again(struct walk_pypy *walk, int is_cut)
{
	if (walk->quality || is_cut || !walk->n_entered || walk->functions <= walk->n_entered)
		return 0;
	walk->skipped = walk->functions - walk->n_entered;
	return 1;
}

/* A native walk left a function, at the CFA, that runs one of the list. */
static inline void pypy_enter(struct walk_pypy *walk, uint64_t cfa)
{
	if (walk->n_entered < PYPY_ENTERED_MAX)
		walk->entered[opaque(walk->n_entered) & (PYPY_ENTERED_MAX - 1)] =
			(uint32_t)(cfa - walk->stack);
	walk->n_entered++;
}

/* Ends the walk with an error. */
static inline int pypy_fail(struct walk_pypy *walk, uint32_t quality)
{
	walk->quality |= quality;
	return -1;
}

PYPY_PART int pypy_found(struct walk_pypy *walk, uint64_t id, uint64_t address)
{
	if (!walk)
		return -1;
	if (walk->count >= MANAGED_DEPTH_MAX - 1)
		return pypy_fail(walk, STACK_MANAGED_CUT);
	walk->count++;
	walk->id = id;
	walk->address = address;
	return 2;
}

PYPY_PART int pypy_search(struct walk_pypy *walk, uint64_t pc)
{
	if (!walk)
		return -1;
	walk->pc = pc;
	walk->code = walk->bias + walk->layout.codes;
	walk->level = PYPY_CODE_LEVELS - 1;
	walk->state = PYPY_IN_CODES;
	return 0;
}

/*
 * Looks for the functions at which the compiled code waits for what it called. What lies behind its
 * functions ends with "jmp BACK", mostly after "mov $n,%r11".
 */
PYPY_PART int pypy_return(struct walk_pypy *walk)
{
	uint64_t at, next, to = 0;

	if (!walk)
		return -1;
	next = at = pypy_word(walk->frame - 8);
	if (walk_read(NULL, walk->words, 2 * sizeof(uint64_t), at))
		return pypy_search(walk, at - 1);
	if ((walk->words[0] & 0xffff) == 0xbb49) {
		next += 10;
		walk->words[0] = walk->words[1] >> 16;
	}
	if ((walk->words[0] & 0xff) == 0xeb)
		to = next + 2 + (uint64_t)(signed char)(walk->words[0] >> 8);
	if ((walk->words[0] & 0xff) == 0xe9)
		to = next + 5 + (uint64_t)(int32_t)(walk->words[0] >> 8);
	return pypy_search(walk, to && to < at ? to - 1 : at - 1);
}

/* An address in the frame that runs the next function of the list; 0: unknown. */
static inline uint64_t pypy_place(const struct walk_pypy *walk)
{
	uint32_t place = walk->functions - walk->skipped;

	if (place >= PYPY_ENTERED_MAX || place >= walk->n_entered)
		return 0;
	return walk->stack + walk->entered[opaque(place) & (PYPY_ENTERED_MAX - 1)] - PYPY_BELOW;
}

/* The next entry of the thread's list. */
static inline int pypy_entry(struct walk_pypy *walk)
{
	uint64_t place = pypy_place(walk);

	if (!walk->entry)
		return -1;
	if (walk_read(NULL, walk->words, 3 * sizeof(uint64_t), walk->entry))
		return pypy_fail(walk, STACK_MANAGED_TORN);
	walk->entry = walk->words[0];
	walk->tries = walk->leaf != 0;
	walk->pc = walk->leaf;
	walk->leaf = 0;
	if (walk->words[2] == PYPY_FUNCTION) {
		walk->functions++;
		return pypy_found(walk, walk->words[1], place);
	}
	if (walk->words[2] != PYPY_COMPILED)
		return 0;
	walk->frame = walk->words[1];
	return walk->tries ? pypy_search(walk, walk->pc) : pypy_return(walk);
}

/* The last node that does not begin behind the code was found. */
static inline int pypy_code(struct walk_pypy *walk)
{
	uint64_t begin;

	walk->state = PYPY_IN_LIST;
	walk->words[0] = 0;
	if (walk->code != walk->bias + walk->layout.codes &&
	    !walk_read(NULL, walk->words, 2 * sizeof(uint64_t), walk->code)) {
		begin = walk->words[0];
		if (walk_read(NULL, walk->words, 2 * sizeof(uint64_t), walk->words[1]))
			walk->words[0] = 0;
		walk->pc -= begin;
	}
	if (walk->pc < (uint32_t)walk->words[0]) {
		walk->end = (uint32_t)(walk->words[0] >> 32);
		walk->table = walk->words[1];
		walk->at = walk->n_group = 0;
		walk->state = PYPY_IN_TABLE;
	} else if (walk->tries) {
		walk->tries = 0;
		return pypy_return(walk);
	}
	return 0;
}

static inline int pypy_codes(struct walk_pypy *walk)
{
	UNROLL
	for (int i = 0; i < PYPY_SEARCH_STEPS; i++) {
		uint64_t next =
			pypy_word(walk->code + PYPY_CODE_NEXT + walk->level * sizeof(uint64_t));

		if (next && pypy_word(next) <= walk->pc)
			walk->code = next;
		else if (!walk->level--)
			return pypy_code(walk);
	}
	return 0;
}

/* An entry of the table. */
static inline int pypy_table(struct walk_pypy *walk)
{
	uint64_t id;

	if (walk->at >= walk->end ||
	    walk_read(NULL, walk->words, sizeof(walk->words),
		      walk->table + walk->at * sizeof(uint64_t)) ||
	    walk->words[1] > walk->pc) {
		walk->state = PYPY_IN_GROUP;
		return 0;
	}
	id = walk->words[0];
	if (walk->words[2] > walk->pc) {
		walk->at += 4;
		if (!id || id == ~UINT64_C(0))
			return 0;
		if (walk->n_group >= PYPY_INLINED_MAX)
			return pypy_fail(walk, STACK_MANAGED_CUT);
		walk->group[opaque(walk->n_group++) & (PYPY_INLINED_MAX - 1)] = id;
		return 0;
	}
	if (walk->words[3] <= walk->at)
		walk->state = PYPY_IN_GROUP;
	walk->at = (uint32_t)walk->words[3];
	return 0;
}

/* The innermost function of the group. */
static inline int pypy_group(struct walk_pypy *walk)
{
	if (!walk->n_group) {
		walk->state = PYPY_IN_LIST;
		return 0;
	}
	walk->n_group--;
	return pypy_found(walk, walk->group[opaque(walk->n_group) & (PYPY_INLINED_MAX - 1)],
			  walk->frame | MANAGED_COMPILED);
}

/* Takes a step: 2 if a function was found; 0 if none; -1 at the end, with the reason in `quality`.
 */
static inline int pypy_next(struct walk_pypy *walk)
{
	if (walk->looked++ >= PYPY_STEPS_MAX - 1)
		return pypy_fail(walk, STACK_MANAGED_CUT);
	switch (walk->state) {
	case PYPY_IN_CODES:
		return pypy_codes(walk);
	case PYPY_IN_TABLE:
		return pypy_table(walk);
	case PYPY_IN_GROUP:
		return pypy_group(walk);
	default:
		return pypy_entry(walk);
	}
}

#endif
