/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* stack_bytecode.h: appends a thread's Python or Ruby frames to the record in a scratch. */
#ifndef GCPROF_STACK_BYTECODE_H
#define GCPROF_STACK_BYTECODE_H

#include "stack_python.h"

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

/* Adds the current frame and goes to its caller; 1 at the end. */
static long stack_bytecode_step(uint32_t index, struct bytecode_loop *loop)
{
	struct scratch *scratch = loop->scratch;
	uint64_t address = 0, instruction = 0, place = 0;
	struct event_managed *frame;
	int found = stack_bytecode_next(scratch, &address, &instruction);
	uint32_t number;

	if (found == 2) {
		number = bytecode_find(scratch, loop->state);
		if (!number) {
			number = bytecode_report(scratch, loop->state);
			bytecode_keep(scratch, loop->state, number);
		}
		place = frame_place(number, instruction);
	}
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

/* Finds the innermost frame of the current thread; 0 if it has none. `again`: for a second walk. */
__noinline int stack_bytecode_begin(struct scratch *scratch, struct task_state *state, int again)
{
	uint32_t process = bpf_get_current_pid_tgid() >> 32;
	struct interpreters *place = bpf_map_lookup_elem(&interpreters, &process);
	uint64_t storage = thread_storage(bpf_get_current_task_btf());

	if (!scratch || !state || !place || place->since < state->image)
		return 0;
	if (again)
		return scratch->bytecode.runtime == BYTECODE_RUBY && ruby_again(&scratch->ruby) &&
		       ruby_begin(&scratch->ruby, storage);
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
		if (scratch->bytecode.runtime == BYTECODE_RUBY) {
			scratch->managed.count = scratch->ruby.count;
			scratch->managed.quality = scratch->ruby.quality;
		} else {
			scratch->managed.count = scratch->cpython.count;
			scratch->managed.quality = scratch->cpython.quality;
		}
	}
	return 0;
}

#endif
