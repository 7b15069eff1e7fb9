/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* stack_python.h: appends a thread's Python frames to the record in a scratch. */
#ifndef GCPROF_STACK_PYTHON_H
#define GCPROF_STACK_PYTHON_H

#include "bytecode.h"

/* Result of a loop callback: 0 or 1, as the compiler knows, but not the verifier. */
static __always_inline long stack_ends(int end)
{
	asm volatile("" : "+r"(end));
	return end != 0;
}

/* Argument of the loops' callbacks: as small as possible, since the stack is short. */
struct python_loop {
	struct scratch *scratch;
	struct task_state *state;
};

__noinline int stack_python_search_step(struct scratch *scratch)
{
	return !scratch ||
	       cpython_search(&scratch->cpython, thread_storage(bpf_get_current_task_btf()));
}

static long stack_python_search(uint32_t index, struct python_loop *loop)
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
	struct python_loop loop = {scratch, state};
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
	scratch->bytecode.runtime = BYTECODE_PYTHON;
}

/* Adds the current frame and goes to its caller; 1 at the end. */
static long stack_python_step(uint32_t index, struct python_loop *loop)
{
	struct scratch *scratch = loop->scratch;
	uint64_t address = 0, place = 0;
	struct event_managed *frame;
	int found = cpython_next(&scratch->cpython, &address);
	uint32_t at, number;

	if (found == 2) {
		stack_python_identify(scratch);
		number = bytecode_find(scratch, loop->state);
		if (!number) {
			number = bytecode_report(scratch, loop->state);
			bytecode_keep(scratch, loop->state, number);
		}
		place = frame_place(number, scratch->cpython.instruction);
	}
	/* Only now: Linux 6.1 loses the bounds of a number across calls. */
	at = scratch->size;
	asm volatile("" : "+r"(at));
	if (found < 0 || at > sizeof(scratch->data) - sizeof(*frame))
		return 1;
	if (!found)
		return 0;
	frame = (struct event_managed *)(scratch->data + at);
	frame->address = address | MANAGED_PLACE;
	frame->code = place >> 32;
	frame->pc = (uint32_t)place;
	scratch->size = at + sizeof(*frame);
	return 0;
}

/* Appends the Python frames of the current thread, if any. */
__noinline int stack_python(struct scratch *scratch, struct task_state *state)
{
	struct python_loop loop = {scratch, state};
	uint32_t process = bpf_get_current_pid_tgid() >> 32;
	struct interpreters *place = bpf_map_lookup_elem(&interpreters, &process);

	if (!scratch || !state || !place || place->since < state->image || !place->cpython.runtime)
		return 0;
	scratch->cpython.layout = place->cpython;
	scratch->cpython.bias = place->cpython_bias;
	if (!stack_python_thread(scratch, state))
		return 0;
	cpython_begin(&scratch->cpython);
	bpf_loop(CPYTHON_FRAMES_MAX, stack_python_step, &loop, 0);
	scratch->managed.count = scratch->cpython.count;
	scratch->managed.quality = scratch->cpython.quality;
	return 0;
}

#endif
