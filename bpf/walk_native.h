/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* walk_native.h: one step of a walk up a thread's native stack. */
/*
 * Compiled into the BPF object and into the tests. Before including it, a file declares
 *
 *	long walk_read(struct walk_window *window, void *to, uint32_t size, uint64_t from);
 *
 * which copies memory of the walked thread and returns 0 or an error, and
 *
 *	int walk_rule(struct walk_rows *rows, uint64_t ip, struct unwind_rule *rule);
 *
 * which finds the rule for an instruction: 1, or 0 if there is none. Window and rows belong to that
 * file; both may be NULL.
 *
 * A rule (unwind_rows.h) says where the caller's registers are. Without a rule the walk follows the
 * frame pointer, as if the function kept one:
 *
 *	frame + 8   return address
 *	frame       the caller's frame pointer
 *
 * Nothing that is read is trusted. A frame must be aligned and lie above the previous one, so the
 * walk ends even on hostile memory. Only a signal may have interrupted code on any other stack, in
 * either direction, and code that keeps its stack pointer in rbx may have left its stack, as that
 * of OCaml does to call C; the depth limit bounds such steps. The outermost function is recognized
 * by its rule, or by a frame pointer or return address of 0. All other ends are marked
 * STACK_USER_END.
 */
#ifndef GCPROF_WALK_NATIVE_H
#define GCPROF_WALK_NATIVE_H

#include "events.h"
#include "unwind_rows.h"

#define WALK_ADDRESS_MIN UINT64_C(0x1000)
#define WALK_ADDRESS_END (UINT64_C(1) << 56)

struct walk_native {
	uint64_t ip, sp, bp, bx; /* of the current function */
	uint64_t fiber;          /* of the thread; 0: none, or the walk is already on its stack */
	uint64_t cfa;            /* 0: unknown; the frame pointer is followed */
	uint32_t called;         /* 1: `ip` is a return address */
	uint32_t count;          /* functions returned */
	uint32_t quality;        /* enum stack_quality, user bits */
	uint32_t guessed;        /* functions without a rule: frame pointer followed, or the end */
	uint32_t keeps;          /* 1: code without rows is known to keep frame pointers */
	uint32_t narrow;         /* 1: a 32-bit program, with words of 4 bytes */
	struct unwind_rule rule; /* of the function, if `cfa` is known */
};

/* Starts a walk with the thread's registers. */
static inline void walk_native_begin(struct walk_native *walk, uint64_t ip, uint64_t sp,
				     uint64_t bp, uint64_t bx)
{
	walk->ip = ip;
	walk->sp = sp;
	walk->bp = bp;
	walk->bx = bx;
	walk->fiber = 0;
	walk->called = 0;
	walk->count = 0;
	walk->quality = 0;
	walk->guessed = 0;
	walk->keeps = 0;
	walk->narrow = 0;
}

/* The same in a 32-bit program: where its frame pointers end, the stack may not. */
static inline void walk_native_narrow(struct walk_native *walk)
{
	walk->narrow = walk->keeps = 1;
	walk->quality = STACK_NARROW;
}

/* Replaces *value with the word that it points to. */
static inline long walk_native_deref(struct walk_window *window, uint64_t *value)
{
	uint64_t from = *value;

	return from >= WALK_ADDRESS_END ? -1 : walk_read(window, value, sizeof(*value), from);
}

/* The CFA by the rule; 0 if impossible: unreadable memory, or a step back. */
static inline uint64_t walk_native_cfa(const struct walk_native *walk, struct walk_window *window)
{
	uint32_t kind = walk->rule.cfa & ~UNWIND_CFA_SIGNAL;
	uint64_t base = walk->sp, cfa = 0;

	if (kind == UNWIND_CFA_NONE)
		return 0;
	if (kind == UNWIND_CFA_BP || kind == UNWIND_CFA_BP_DEREF)
		base = walk->bp;
	if (kind == UNWIND_CFA_BX || kind == UNWIND_CFA_BX_DEREF)
		base = walk->bx;
	if (kind == UNWIND_CFA_PLT) {
		cfa = base + 8;
		if ((walk->ip & 15) >= (uint32_t)walk->rule.cfa_offset)
			cfa += 8;
	} else {
		cfa = base + (int64_t)walk->rule.cfa_offset;
	}
	if (kind == UNWIND_CFA_SP_DEREF_TWICE && walk_native_deref(window, &cfa))
		return 0;
	if (kind == UNWIND_CFA_SP_DEREF || kind == UNWIND_CFA_BP_DEREF ||
	    kind == UNWIND_CFA_BX_DEREF || kind == UNWIND_CFA_SP_DEREF_TWICE) {
		if (walk_native_deref(window, &cfa))
			return 0;
		cfa += (int64_t)walk->rule.cfa_add;
	}
	if (cfa < WALK_ADDRESS_MIN || cfa >= WALK_ADDRESS_END)
		return 0;
	if (walk->rule.cfa & UNWIND_CFA_SIGNAL)
		return cfa;
	if (kind == UNWIND_CFA_BX && cfa % 8 == 0)
		return cfa;
	return cfa > walk->sp && cfa % 8 == 0 ? cfa : 0;
}

/* Finds the rule of the current function: 1, or 0 if there is no function. */
static inline int walk_native_find(struct walk_native *walk, struct walk_rows *rows)
{
	if (walk->count == 0 && walk->ip < WALK_ADDRESS_MIN) {
		walk->quality |= STACK_USER_FAILED;
		return 0;
	}
	/* A return address may belong to the next function; the call does not. */
	if (!walk_rule(rows, walk->ip - walk->called, &walk->rule))
		walk->rule.cfa = UNWIND_CFA_NONE;
	return 1;
}

/* Returns the current function, after its rule was looked up. */
static inline void walk_native_get(struct walk_native *walk, struct walk_window *window,
				   struct event_native *out)
{
	walk->cfa = walk_native_cfa(walk, window);
	/* One that was left without a call is reported as if it had called: a byte before lies in
	 * it. */
	out->ip = walk->ip + (walk->count && !walk->called);
	out->frame = walk->cfa ? walk->cfa - 16 : walk->bp;
	walk->count++;
}

/* Replaces *value, the callee's register, with the caller's. */
static inline long walk_native_place(const struct walk_native *walk, struct walk_window *window,
				     uint32_t place, int64_t offset, uint64_t *value)
{
	uint64_t base = walk->cfa;

	if (place == UNWIND_SAME)
		return 0;
	if (place == UNWIND_AT_SP)
		base = walk->sp;
	if (place == UNWIND_AT_BP)
		base = walk->bp;
	base += offset;
	if (base >= WALK_ADDRESS_END)
		return -1;
	return walk_read(window, value, sizeof(*value), base);
}

/* Return address and rbp of the caller; read together where they are adjacent. */
static inline long walk_native_pair(const struct walk_native *walk, struct walk_window *window,
				    uint64_t *ip, uint64_t *bp)
{
	const struct unwind_rule *rule = &walk->rule;
	uint64_t pair[2] = {0, 0};
	long err;

	if (rule->ra == UNWIND_AT_CFA && rule->bp == UNWIND_AT_CFA && rule->ra_offset == -8 &&
	    rule->bp_offset == -16) {
		err = walk_read(window, pair, sizeof(pair), walk->cfa - sizeof(pair));
		*bp = pair[0];
		*ip = pair[1];
		return err;
	}
	err = walk_native_place(walk, window, rule->ra, rule->ra_offset, ip);
	return err ? err : walk_native_place(walk, window, rule->bp, rule->bp_offset, bp);
}

/* Continues where the fiber left its stack: 0 if there is no such place. */
static inline int walk_native_to_fiber(struct walk_native *walk, struct walk_window *window)
{
	uint64_t fiber = walk->fiber, sp = 0, ip = 0, bp = 0;

	walk->fiber = 0;
	if (fiber < WALK_ADDRESS_MIN || fiber >= WALK_ADDRESS_END ||
	    walk_read(window, &sp, sizeof(sp), fiber + (int64_t)walk->rule.cfa_add) ||
	    walk_read(window, &ip, sizeof(ip), fiber + (int64_t)walk->rule.ra_offset) || !sp)
		return 0;
	if (walk->rule.bp_offset)
		walk_read(window, &bp, sizeof(bp), fiber + (int64_t)walk->rule.bp_offset);
	walk->called = 0;
	walk->sp = sp;
	walk->bp = bp;
	walk->ip = ip;
	return 1;
}

/* Follows the rule. As walk_native_up(), without the depth limit. */
static inline int walk_native_by_rule(struct walk_native *walk, struct walk_window *window)
{
	uint64_t ip = 0, bp = walk->bp, bx = walk->bx;

	if (walk->rule.ra == UNWIND_STOP)
		return 0;
	if (walk->rule.ra == UNWIND_FIBER)
		return walk_native_to_fiber(walk, window);
	if (walk_native_pair(walk, window, &ip, &bp) ||
	    walk_native_place(walk, window, walk->rule.bx, walk->rule.bx_offset, &bx)) {
		walk->quality |= STACK_USER_END;
		return 0;
	}
	walk->called = !(walk->rule.cfa & UNWIND_CFA_SIGNAL);
	walk->sp = walk->cfa;
	walk->bp = bp;
	walk->bx = bx;
	walk->ip = ip;
	return 1;
}

/* Frame pointer and return address of the caller, where the frame pointer leads. */
static inline long walk_native_frame(const struct walk_native *walk, struct walk_window *window,
				     uint64_t pair[2])
{
	if (!walk->narrow)
		return walk_read(window, pair, 2 * sizeof(*pair), walk->bp);
	if (walk_read(window, pair, sizeof(*pair), walk->bp))
		return -1;
	pair[1] = pair[0] >> 32;
	pair[0] = (uint32_t)pair[0];
	return 0;
}

/* Follows the frame pointer. As walk_native_up(), without the depth limit. */
static inline int walk_native_by_frame(struct walk_native *walk, struct walk_window *window)
{
	uint64_t pair[2] = {0, 0};
	uint64_t frame = walk->bp, word = walk->narrow ? 4 : 8;

	walk->guessed += !walk->keeps;
	if (!frame)
		return 0;
	if (frame < walk->sp || frame % word || frame >= WALK_ADDRESS_END ||
	    walk_native_frame(walk, window, pair)) {
		walk->quality |= STACK_USER_END;
		return 0;
	}
	walk->called = 1;
	walk->sp = frame + 2 * word;
	walk->bp = pair[0];
	walk->ip = pair[1];
	return 1;
}

/* Goes to the caller: 1, or 0 at the end, with the reason in `quality`. */
static inline int walk_native_up(struct walk_native *walk, struct walk_window *window)
{
	int found = walk->cfa ? walk_native_by_rule(walk, window)
			      : walk_native_by_frame(walk, window);

	if (!found || !walk->ip)
		return 0;
	if (walk->ip < WALK_ADDRESS_MIN || walk->ip >= WALK_ADDRESS_END) {
		walk->quality |= STACK_USER_END;
		return 0;
	}
	if (walk->count >= STACK_DEPTH_MAX) {
		walk->quality |= STACK_USER_CUT;
		return 0;
	}
	return 1;
}

#endif
