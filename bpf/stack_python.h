/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* stack_python.h: finds the Python frames of a thread. */
#ifndef GCPROF_STACK_PYTHON_H
#define GCPROF_STACK_PYTHON_H

#include "bytecode.h"

__noinline int stack_python_search_step(struct scratch *scratch)
{
	return !scratch ||
	       cpython_search(&scratch->cpython, thread_storage(bpf_get_current_task_btf()));
}

static long stack_python_search(uint32_t index, struct bytecode_loop *loop)
{
	return stack_ends(stack_python_search_step(loop->scratch));
}

#define STACK_PYTHON_BYTES (UINT64_C(8) << 20) /* of a C stack, at most */

/* Prepares to find the thread's states by its stack, if there are several interpreters. */
static __always_inline bool stack_python_several(struct scratch *scratch, uint64_t newest,
						 uint64_t id)
{
	struct walk_cpython *walk = &scratch->cpython;
	uint64_t room;

	walk->stack_size = 0;
	if (!cpython_field(walk, newest, CPYTHON_INTERPRETER_NEXT))
		return 0;
	if (walk->layout.at[CPYTHON_THREAD_CFRAME] == CPYTHON_NONE)
		return 1;
	/* A thread's own storage lies right above its stack, but not the first thread's. */
	walk->stack = scratch->regs.sp;
	room = id - walk->stack;
	walk->stack_size = room < STACK_PYTHON_BYTES ? room : STACK_PYTHON_BYTES;
	return 1;
}

/* Most threads without a state never get one, and the list may be long; but a thread that is
 * starting gets one soon. So searches may take one five-hundredth of the time. */
#define STACK_SEARCH_STEP_NS 50000

/* Finds the interpreters' states of the current thread; false if there is none. Where there are
 * several interpreters, another one may have been entered since the last search. */
__noinline int stack_python_thread(struct scratch *scratch, struct task_state *state)
{
	struct bytecode_loop loop = {scratch, state};
	struct walk_cpython *walk;
	uint64_t id = thread_storage(bpf_get_current_task_btf()), now, steps, newest;
	bool known, several;

	if (!scratch || !state)
		return 0;
	walk = &scratch->cpython;
	newest = cpython_newest(walk);
	walk->found[0] = state->python[0];
	walk->found[1] = state->python[1];
	several = stack_python_several(scratch, newest, id);
	known = newest == state->python_newest && cpython_is_thread(walk, walk->found[0], id);
	if (known && !several)
		return 1;
	now = bpf_ktime_get_ns();
	if (now < state->python_search && (known || !state->python[0]))
		return known;
	cpython_search_begin(walk);
	steps = bpf_loop(CPYTHON_THREADS_MAX, stack_python_search, &loop, 0);
	state->python[0] = walk->found[0];
	state->python[1] = walk->found[1];
	state->python_newest = newest;
	state->python_search = now + steps * STACK_SEARCH_STEP_NS;
	return walk->found[0] != 0;
}

/* Sets what distinguishes the current function from others. */
static __always_inline void stack_python_identify(struct scratch *scratch)
{
	const struct walk_cpython *walk = &scratch->cpython;
	uint64_t print = cpython_code_part(walk, CPYTHON_CODE_NAME);

	print = print * UINT64_C(0x9e3779b97f4a7c15) + cpython_code_part(walk, CPYTHON_CODE_FILE);
	print = print * UINT64_C(0x9e3779b97f4a7c15) + cpython_code_part(walk, CPYTHON_CODE_TABLE);
	scratch->bytecode.address = walk->code;
	scratch->bytecode.print = print ^ cpython_code_line(walk);
}

/* Finds the current thread's frames; false if it has none. */
static __always_inline bool stack_python_begin(struct scratch *scratch, struct task_state *state,
					       const struct interpreters *place)
{
	scratch->cpython.layout = place->cpython;
	scratch->cpython.bias = place->cpython_bias;
	if (!stack_python_thread(scratch, state))
		return 0;
	cpython_begin(&scratch->cpython);
	return 1;
}

#endif
