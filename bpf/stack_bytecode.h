/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* stack_bytecode.h: appends a thread's Python, PyPy or Ruby frames to the record in a scratch. */
#ifndef GCPROF_STACK_BYTECODE_H
#define GCPROF_STACK_BYTECODE_H

#include "bytecode.h"

/* --- the Python frames of a thread --- */

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

/* Sets what distinguishes the current Ruby function from others. */
static __always_inline void stack_ruby_identify(struct scratch *scratch)
{
	const struct walk_ruby *walk = &scratch->ruby;
	uint64_t print = ruby_body_part(walk, RUBY_BODY_NAME);

	print = print * UINT64_C(0x9e3779b97f4a7c15) + ruby_body_part(walk, RUBY_BODY_FILE);
	print = print * UINT64_C(0x9e3779b97f4a7c15) + ruby_body_part(walk, RUBY_BODY_INDEX);
	scratch->bytecode.address = walk->code[RUBY_CODE_BODY];
	scratch->bytecode.print = print ^ ruby_body_part(walk, RUBY_BODY_LINE);
}

/* As cpython_next() and ruby_next(), and identifies the function. */
__noinline int stack_bytecode_next(struct scratch *scratch, uint64_t *address,
				   uint64_t *instruction)
{
	int found;

	if (!scratch || !address || !instruction)
		return -1;
	if (scratch->bytecode.runtime == BYTECODE_PYPY) {
		found = pypy_next(&scratch->pypy);
		*address = scratch->pypy.address;
		return found;
	}
	if (scratch->bytecode.runtime == BYTECODE_RUBY) {
		found = ruby_next(&scratch->ruby, &scratch->window);
		*address = scratch->ruby.address;
		*instruction = scratch->ruby.instruction;
		if (found == 2)
			stack_ruby_identify(scratch);
		return found;
	}
	found = cpython_next(&scratch->cpython, address);
	*instruction = scratch->cpython.instruction;
	if (found == 2)
		stack_python_identify(scratch);
	return found;
}

/* The place of the current function. */
static __always_inline uint64_t stack_bytecode_place(struct scratch *scratch,
						     const struct task_state *state,
						     uint64_t instruction)
{
	uint64_t number;

	if (scratch->bytecode.runtime == BYTECODE_PYPY)
		return frame_own_place(scratch->pypy.id >> 2, state->image);
	number = bytecode_find(scratch, state);
	if (!number) {
		number = bytecode_report(scratch, state);
		bytecode_keep(scratch, state, (uint32_t)number);
	}
	return frame_place(number, instruction);
}

/* Adds the current frame and goes to its caller; 1 at the end. */
static long stack_bytecode_step(uint32_t index, struct bytecode_loop *loop)
{
	struct scratch *scratch = loop->scratch;
	uint64_t address = 0, instruction = 0, place = 0;
	struct event_managed *frame;
	int found = stack_bytecode_next(scratch, &address, &instruction);

	if (found == 2)
		place = stack_bytecode_place(scratch, loop->state, instruction);
	if (found <= 0)
		return found < 0;
	frame = scratch_room(scratch, sizeof(*frame));
	if (!frame)
		return 1;
	frame->address = address | MANAGED_PLACE;
	frame->code = place >> 32;
	frame->pc = (uint32_t)place;
	scratch->size += sizeof(*frame);
	return 0;
}

/* Begins a second walk, where one is needed. */
static __always_inline int stack_bytecode_again(struct scratch *scratch, uint64_t storage)
{
	if (scratch->bytecode.runtime == BYTECODE_RUBY)
		return ruby_again(&scratch->ruby) && ruby_begin(&scratch->ruby, storage);
	return scratch->bytecode.runtime == BYTECODE_PYPY &&
	       pypy_again(&scratch->pypy, scratch->native.quality != 0) &&
	       pypy_begin(&scratch->pypy, storage, scratch->regs.ip);
}

/* Finds the innermost frame of the current thread; 0 if it has none. `again`: for a second walk. */
__noinline int stack_bytecode_begin(struct scratch *scratch, struct task_state *state, int again)
{
	uint32_t process = bpf_get_current_pid_tgid() >> 32;
	struct interpreters *place = bpf_map_lookup_elem(&interpreters, &process);
	uint64_t storage = thread_storage(bpf_get_current_task_btf());

	if (!scratch || !state || !place || place->since < state->image)
		return 0;
	if (again)
		return stack_bytecode_again(scratch, storage);
	if (place->pypy.storage) {
		scratch->bytecode.runtime = BYTECODE_PYPY;
		return scratch->pypy_on && pypy_begin(&scratch->pypy, storage, scratch->regs.ip);
	}
	if (!place->ruby.storage) {
		scratch->bytecode.runtime = BYTECODE_PYTHON;
		return place->cpython.runtime && stack_python_begin(scratch, state, place);
	}
	scratch->bytecode.runtime = BYTECODE_RUBY;
	scratch->ruby.layout = place->ruby;
	scratch->ruby.bias = place->ruby_bias;
	scratch->ruby.first_marked = scratch->ruby.first_targets = 0;
	return ruby_begin(&scratch->ruby, storage);
}

/* Takes over what the walk says of its frames. */
__noinline int stack_bytecode_end(struct scratch *scratch)
{
	if (!scratch)
		return 0;
	if (scratch->bytecode.runtime == BYTECODE_RUBY) {
		scratch->managed.count = scratch->ruby.count;
		scratch->managed.quality = scratch->ruby.quality;
	} else if (scratch->bytecode.runtime == BYTECODE_PYPY) {
		scratch->managed.count = scratch->pypy.count;
		scratch->managed.quality = scratch->pypy.quality;
	} else {
		scratch->managed.count = scratch->cpython.count;
		scratch->managed.quality = scratch->cpython.quality;
	}
	return 0;
}

/* Appends the interpreted frames of the current thread, if any. */
__noinline int stack_bytecode(struct scratch *scratch, struct task_state *state)
{
	struct bytecode_loop loop = {scratch, state};
	uint32_t size;

	if (!scratch || !state)
		return 0;
	size = scratch->size;
	for (int again = 0; again < 2 && stack_bytecode_begin(scratch, state, again); again++) {
		scratch->size = size;
		bpf_loop(CPYTHON_FRAMES_MAX, stack_bytecode_step, &loop, 0);
		stack_bytecode_end(scratch);
	}
	return 0;
}

#endif
