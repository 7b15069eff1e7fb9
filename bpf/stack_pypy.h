/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* stack_pypy.h: a native walk of a thread with PyPy: through compiled code, past its functions. */
#ifndef GCPROF_STACK_PYPY_H
#define GCPROF_STACK_PYPY_H

#include "bytecode.h"

/*
 * Adds the current function and goes to its caller; 1 at the end. Global: the verifier checks it
 * once and not for each way of finding a rule.
 */
__noinline int stack_native_frame(struct scratch *scratch)
{
	struct event_native *frame = scratch ? scratch_room(scratch, sizeof(*frame)) : NULL;

	if (!frame)
		return 1;
	walk_native_get(&scratch->native, &scratch->window, frame);
	scratch->size += sizeof(*frame);
	return !walk_native_up(&scratch->native, &scratch->window);
}

/* Adds the current function, unless it is compiled code, and goes to its caller; 1 at the end. */
__noinline int stack_pypy_frame(struct scratch *scratch)
{
	uint64_t entered, frame = 0;
	int end;

	if (!scratch)
		return 1;
	if (scratch->native.rule.cfa == UNWIND_CFA_NONE)
		frame = pypy_frame(&scratch->window, scratch->native.sp);
	if (frame)
		return !pypy_up(&scratch->native, &scratch->window, frame);
	entered = scratch->native.called && scratch->pypy.layout.entered
			  ? scratch->native.ip - scratch->pypy.bias
			  : 0;
	end = stack_native_frame(scratch);
	if (entered && entered == scratch->pypy.layout.entered && scratch->native.cfa)
		pypy_enter(&scratch->pypy, scratch->native.cfa);
	return end;
}

/* Copies the data of the process's PyPy to the scratch. */
static __always_inline void stack_pypy_begin(struct scratch *scratch,
					     const struct interpreters *found)
{
	scratch->pypy.layout = found->pypy;
	scratch->pypy.bias = found->pypy_bias;
	scratch->pypy.stack = scratch->regs.sp;
	scratch->pypy.n_entered = scratch->pypy.skipped = 0;
}

#endif
