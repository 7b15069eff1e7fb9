/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* walk_hotspot.h: one step of a walk up Java frames: compiled, interpreted, stubs. */
/*
 * Used and compiled like walk_native.h. It takes over when the native walk reaches an address in a
 * code heap, and goes from HotSpot frame to caller up to the call stub, through which C++ calls
 * Java. HotSpot keeps no frame pointers:
 *
 *	compiled     by frame size, with return address and rbp at its top; in the prologue and
 *	             after the epilogue what is on the stack so far; saved registers below
 *	native       the same for the wrapper of a native method, with rbp as frame pointer
 *	interpreted  rbp is the frame pointer: -8 sender's rsp, -24 Method, -64 bytecode
 *	adapters     only the return address
 *	stubs        by frame size, or rbp, or the return address alone
 *	leaves       the return address, possibly with some registers below
 *	barrier      by the nearest word that leads to Java code: the method that runs the virtual
 *	             thread. The frames between are in the heap
 *
 * Nothing that is read is trusted: each step goes up the stack or ends the walk, and searches are
 * bounded.
 */
#ifndef GCPROF_WALK_HOTSPOT_H
#define GCPROF_WALK_HOTSPOT_H

#include "hotspot_blob.h"

#define HOTSPOT_SCAN_WORDS 32

/* --- callers -------------------------------------------------------------------------------- */

/* Sets the caller's registers. */
static inline int hotspot_to(struct walk_hotspot *at, uint64_t ip, uint64_t sp, uint64_t bp)
{
	at->ip = ip;
	at->sp = sp;
	at->bp = bp;
	return ip != 0;
}

/* With the return address at the end of the frame; `top` is the caller's rsp. */
static inline int hotspot_by_end(struct walk_hotspot *at, struct walk_window *window, uint64_t top)
{
	uint64_t ip = hotspot_word(window, top - 8);

	return hotspot_to(at, ip, top, hotspot_word(window, top - 16));
}

/* The same, if that is a return address in Java code. */
static inline int hotspot_try_end(struct walk_hotspot *at, struct walk_window *window, uint64_t top)
{
	return hotspot_is_code(at, hotspot_word(window, top - 8)) &&
	       hotspot_by_end(at, window, top);
}

/* Only the return address is on the stack, or rbp was pushed as well. */
static inline int hotspot_try_leaf(struct walk_hotspot *at, struct walk_window *window)
{
	uint64_t ip = hotspot_word(window, at->low);

	if (hotspot_is_code(at, ip))
		return hotspot_to(at, ip, at->low + 8, at->frame);
	return hotspot_try_end(at, window, at->low + 16);
}

/* By rbp, if it is a frame pointer close to rsp. */
static inline int hotspot_try_frame(struct walk_hotspot *at, struct walk_window *window,
				    uint64_t most)
{
	return at->frame - at->low < most && !(at->frame & 7) &&
	       hotspot_try_end(at, window, at->frame + 16);
}

/* The nearest return address in Java code, for stubs that move rsp. */
HOTSPOT_PART int hotspot_scan(struct walk_hotspot *at, struct walk_window *window)
{
	if (!at)
		return 0;
	for (uint32_t i = 0; i < HOTSPOT_SCAN_WORDS; i++) {
		uint64_t ip = hotspot_word(window, at->low + 8 * i);

		if (hotspot_is_code(at, ip))
			return hotspot_to(at, ip, at->low + 8 * i + 8,
					  i ? hotspot_word(window, at->low + 8 * i - 8)
					    : at->frame);
	}
	return 0;
}

/* --- kinds of frames ------------------------------------------------------------------------ */

/* Is this in the epilogue, after the frame was released? pop %rbp; return poll (cmp, ja); ret. */
static inline int hotspot_is_epilogue(uint64_t code)
{
	return (code & 0xff) == 0xc3 || (code & 0xff) == 0x5d || (code & 0xffffff) == 0xa73b49 ||
	       (code & 0xffffff) == 0x673b49 ||
	       (((code & 0xffff) == 0x870f || (code & 0xffff) == 0x850f) &&
		(code >> 48 & 0xff) == 0xc3);
}

/* Where a deoptimised frame, whose return address is the handler, would have continued. */
static inline uint64_t hotspot_original(struct walk_hotspot *at, struct walk_window *window)
{
	const uint64_t *value = at->space.value;
	uint64_t handler, offset, ip;

	if (value[HOTSPOT_DEOPT_HANDLER] != HOTSPOT_NONE)
		handler = hotspot_word(window, at->blob + value[HOTSPOT_DEOPT_HANDLER]);
	else
		handler = at->begin +
			  hotspot_part(window, at->blob + value[HOTSPOT_DEOPT_OFFSET], 32);
	if (at->here != handler)
		return at->here;
	offset = hotspot_part(window, at->blob + value[HOTSPOT_ORIGINAL_PC], 32);
	ip = offset < HOTSPOT_FRAME_MAX ? hotspot_word(window, at->low + offset) : 0;
	return ip - at->begin < UINT64_C(1) << 30 ? ip : at->here;
}

HOTSPOT_PART int hotspot_compiled(struct walk_hotspot *at, struct walk_window *window)
{
	int found = 0;

	if (!at)
		return 0;
	at->place = at->here;
	if (at->called)
		at->place = hotspot_original(at, window);
	else if (at->here - at->begin < at->complete ||
		 hotspot_is_epilogue(hotspot_word(window, at->here)))
		found = hotspot_try_leaf(at, window);
	at->place = hotspot_code(at->place, at->compile_id);
	if (found)
		return 1;
	if (at->kind == HOTSPOT_NATIVE && hotspot_try_frame(at, window, at->frame_size + 48))
		return 1;
	if (hotspot_try_end(at, window, at->low + at->frame_size))
		return 1;
	/* Barriers of concurrent collectors save registers below the frame. */
	at->low += at->frame_size - 8;
	return hotspot_scan(at, window) || hotspot_by_end(at, window, at->low + 8);
}

HOTSPOT_PART int hotspot_stub(struct walk_hotspot *at, struct walk_window *window)
{
	if (!at)
		return 0;
	if (at->here == at->space.call_stub)
		return hotspot_by_end(at, window, at->frame + 16);
	if (at->called) {
		if (at->frame_size && hotspot_try_end(at, window, at->low + at->frame_size))
			return 1;
		return hotspot_try_frame(at, window, HOTSPOT_FRAME_MAX) || hotspot_scan(at, window);
	}
	if (hotspot_is_code(at, hotspot_word(window, at->low)))
		return hotspot_try_leaf(at, window);
	return hotspot_try_frame(at, window, 4096) || hotspot_try_leaf(at, window) ||
	       (at->frame_size && hotspot_try_end(at, window, at->low + at->frame_size)) ||
	       hotspot_scan(at, window);
}

/* An adapter may have popped the return address; it is then in rax, and the sender's rsp in r13. */
HOTSPOT_PART int hotspot_adapter(struct walk_hotspot *at, struct walk_window *window)
{
	if (!at)
		return 0;
	if (hotspot_is_code(at, hotspot_word(window, at->low)))
		return hotspot_try_leaf(at, window);
	if (hotspot_is_code(at, at->ax))
		return hotspot_to(at, at->ax,
				  at->r13 - at->low < HOTSPOT_FRAME_MAX ? at->r13 : at->low,
				  at->frame);
	return hotspot_scan(at, window);
}

/* The index of a bytecode in a method; HOTSPOT_NONE: it is outside. */
HOTSPOT_PART uint64_t hotspot_bci(const struct walk_hotspot *at, struct walk_window *window,
				  uint64_t method, uint64_t bcp)
{
	uint64_t constant, size, bci;
	const uint64_t *value;

	if (!at)
		return 0;
	value = at->space.value;
	constant = hotspot_word(window, method + value[HOTSPOT_METHOD_CONST]);
	size = hotspot_part(window, constant + value[HOTSPOT_CONST_CODE_SIZE], 16);
	bci = bcp - constant - value[HOTSPOT_CONST_SIZE];
	return constant && bci < size ? bci : HOTSPOT_NONE;
}

/* The frame is being built: return address and sender's rsp are in registers or on the stack. The
 * method is in rbx. */
static inline int hotspot_entering(struct walk_hotspot *at, struct walk_window *window)
{
	uint64_t sender = at->r13;

	if (!sender || sender - at->low >= HOTSPOT_FRAME_MAX || sender & 7)
		return 0;
	at->place = hotspot_interpreted(at->bx, 0);
	if (at->frame < sender && hotspot_try_frame(at, window, 128))
		return at->sp = sender, 1;
	if (hotspot_is_code(at, at->ax))
		return hotspot_to(at, at->ax, sender, at->frame);
	return hotspot_try_leaf(at, window) && (at->sp = sender);
}

/* The frame is being torn down: it is gone, and the return address is in r13. */
static inline int hotspot_leaving(struct walk_hotspot *at)
{
	/* Up to 256 bytes after r13, the return has happened already. */
	if (at->here - at->r13 < 256 || !hotspot_is_code(at, at->r13))
		return 0;
	at->place = hotspot_code(at->here, 0);
	return hotspot_to(at, at->r13, at->bx - at->low < HOTSPOT_FRAME_MAX ? at->bx : at->low,
			  at->frame);
}

HOTSPOT_PART int hotspot_interpreter(struct walk_hotspot *at, struct walk_window *window)
{
	uint64_t method, bci = HOTSPOT_NONE;

	if (!at)
		return 0;
	method = hotspot_word(window, at->frame - 24);
	at->place = hotspot_code(at->here, 0);
	if (at->r13) {
		if (hotspot_leaving(at))
			return 1;
		bci = hotspot_bci(at, window, method, at->r13);
		if (bci == HOTSPOT_NONE && hotspot_entering(at, window))
			return 1;
	}
	if (bci == HOTSPOT_NONE)
		bci = hotspot_bci(at, window, method, hotspot_word(window, at->frame - 64));
	if (at->frame < at->low || !hotspot_try_end(at, window, at->frame + 16))
		return !at->called && hotspot_scan(at, window);
	at->sp = hotspot_word(window, at->frame - 8);
	/* Native methods have no bytecodes. */
	at->place = hotspot_interpreted(method, bci == HOTSPOT_NONE ? 0 : bci);
	return method != 0;
}

/* --- the step ------------------------------------------------------------------------------- */

/* Takes the current frame, whose blob was found. */
static inline void hotspot_take(struct walk_hotspot *at, const struct walk_native *walk)
{
	at->here = walk->ip;
	at->low = walk->sp;
	at->frame = walk->bp;
	at->bx = walk->bx;
	at->called = walk->called;
	at->place = hotspot_code(walk->ip, 0);
	/* Known for the innermost function only. */
	if (walk->count)
		at->ax = at->r13 = 0;
}

/* Finds the caller: 1 if found, else 0; sets `place` in either case. */
static inline int hotspot_caller(struct walk_hotspot *at, struct walk_window *window)
{
	switch (at->kind) {
	case HOTSPOT_COMPILED:
	case HOTSPOT_NATIVE:
		return hotspot_compiled(at, window);
	case HOTSPOT_INTERPRETER:
		return hotspot_interpreter(at, window);
	case HOTSPOT_ADAPTER:
		return hotspot_adapter(at, window);
	case HOTSPOT_FUNCTION:
		return hotspot_to(at, hotspot_word(window, at->low), at->low + 8, at->frame);
	case HOTSPOT_LEAF:
	case HOTSPOT_CHECK:
		return hotspot_scan(at, window) &&
		       hotspot_to(at, at->ip, at->sp + (at->kind == HOTSPOT_CHECK ? 16 : 0),
				  at->frame);
	default:
		return hotspot_stub(at, window);
	}
}

/* Returns the frame and goes to the caller, if it was found: 1, or 0 at the end. */
static inline int hotspot_up(const struct walk_hotspot *at, struct walk_native *walk, int found,
			     struct event_native *out)
{
	out->ip = at->place;
	out->frame = walk->sp;
	walk->count++;
	if (at->here == at->space.barrier)
		walk->quality |= STACK_JAVA_FROZEN;
	if (!found || at->sp <= walk->sp || at->sp & 7 || at->ip < WALK_ADDRESS_MIN ||
	    at->ip >= WALK_ADDRESS_END) {
		walk->quality |= STACK_USER_END | STACK_JAVA_END;
		return 0;
	}
	out->frame = at->sp - 16;
	walk->called = 1;
	walk->ip = at->ip;
	walk->sp = at->sp;
	walk->bp = at->bp;
	if (walk->count >= STACK_DEPTH_MAX) {
		walk->quality |= STACK_USER_CUT;
		return 0;
	}
	return 1;
}

#endif
