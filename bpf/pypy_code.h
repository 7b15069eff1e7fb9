/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* pypy_code.h: how a native walk passes PyPy's compiled code. */
/*
 * Used and compiled like walk_native.h. That code has no unwind rows; but its frames have one
 * layout, and a part of the thread's list (walk_pypy.h) is in them.
 */
#ifndef GCPROF_PYPY_CODE_H
#define GCPROF_PYPY_CODE_H

#include "walk_pypy.h"

#define PYPY_HELPER_WORDS 8 /* that code called by compiled code may have on the stack */

/* The rsp of compiled code, which a native walk reached with this stack pointer; 0: it is no
 * compiled code, or its frame is not complete. Its entry of the list has its own address. */
PYPY_PART uint64_t pypy_frame(struct walk_window *window, uint64_t sp)
{
	uint64_t pair[2] = {0, 0};

	for (int i = 0; i < PYPY_HELPER_WORDS; i++, sp += sizeof(uint64_t)) {
		if (walk_read(window, pair, sizeof(pair), sp + PYPY_FRAME_ENTRY + sizeof(uint64_t)))
			return 0;
		if (pair[0] == sp && pair[1] == PYPY_COMPILED)
			return sp;
	}
	return 0;
}

/*
 * Goes from compiled code, whose frame was found, to the C function that entered it: 1, or 0 at the
 * end. The code is no function of its own: those in it are managed, or it serves that C function,
 * as a regular expression does.
 */
static inline int pypy_up(struct walk_native *native, struct walk_window *window, uint64_t frame)
{
	uint64_t saved[2] = {0, 0}, ip = 0;

	if (walk_read(window, saved, sizeof(saved), frame + PYPY_FRAME_SAVED) ||
	    walk_read(window, &ip, sizeof(ip), frame + PYPY_FRAME_RETURN) ||
	    ip <= WALK_ADDRESS_MIN || ip >= WALK_ADDRESS_END) {
		native->quality |= STACK_USER_END;
		return 0;
	}
	/* The innermost function is given by an instruction in it. */
	native->called = native->count != 0;
	native->ip = ip - !native->count;
	native->sp = frame + PYPY_FRAME_RETURN + 8;
	native->bp = saved[0];
	native->bx = saved[1];
	return 1;
}

#endif
