/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* stack_v8.h: JavaScript functions on a thread's native stack. */
#ifndef GCPROF_STACK_V8_H
#define GCPROF_STACK_V8_H

#include "stack_bytecode.h"

/* Argument of the loop's callback. */
struct v8_loop {
	struct scratch *scratch;
};

__noinline int stack_v8_count_step(struct scratch *scratch)
{
	return !scratch || v8_count(&scratch->v8);
}

static long stack_v8_count(uint32_t index, struct v8_loop *loop)
{
	return stack_ends(stack_v8_count_step(loop->scratch));
}

/* Finds the first line of the function, and stores the line counts. */
__noinline int stack_v8_line(struct scratch *scratch, const struct task_state *state)
{
	struct v8_loop loop = {scratch};
	struct v8_source key = {};
	struct v8_lines *known;
	struct scratch *same;
	uint32_t slot;

	if (!scratch || !state)
		return 0;
	key.script = v8_field(&scratch->v8, scratch->v8.script, V8_SCRIPT_ID);
	key.process = state->process;
	known = bpf_map_lookup_elem(&v8_sources, &key);
	scratch->v8.lines.known = 0;
	if (known && known->script == scratch->v8.script)
		scratch->v8.lines = *known;
	scratch->v8.lines.script = scratch->v8.script;
	if (!v8_count_begin(&scratch->v8))
		return 0;
	bpf_loop(V8_COUNT_STEPS, stack_v8_count, &loop, 0);
	/* Linux 6.1 requires a value that it knows to be in a map. */
	slot = scratch->slot;
	same = bpf_map_lookup_elem(&scratches, &slot);
	if (same && same->v8.lines.known)
		bpf_map_update_elem(&v8_sources, &key, &same->v8.lines, BPF_ANY);
	return 0;
}

__noinline int stack_v8_describe(struct scratch *scratch)
{
	if (scratch)
		v8_describe(&scratch->v8);
	return 0;
}

/* Finds the current function. Global: see walk_read_words(). */
__noinline int stack_v8_innermost(struct scratch *scratch)
{
	return scratch && v8_innermost(&scratch->v8, &scratch->native, scratch->regs.di);
}

__noinline int stack_v8_find(struct scratch *scratch)
{
	if (!scratch)
		return 0;
	scratch->v8.no_frame = 0;
	if ((scratch->native.count || !scratch->v8.made || !stack_v8_innermost(scratch)) &&
	    !v8_frame(&scratch->v8, &scratch->window, scratch->native.bp, scratch->native.sp))
		return 0;
	scratch->bytecode.address = scratch->v8.shared;
	scratch->bytecode.print = v8_print(&scratch->v8);
	scratch->bytecode.runtime = BYTECODE_V8;
	return 1;
}

/* As stack_native_frame() for a JavaScript function; -1 if there is none. */
__noinline int stack_v8_frame(struct scratch *scratch, const struct task_state *state)
{
	struct event_native *frame;
	uint32_t number;

	if (!scratch || !state)
		return 1;
	if (!stack_v8_find(scratch))
		return -1;
	number = bytecode_find(scratch, state);
	if (!number) {
		stack_v8_describe(scratch);
		stack_v8_line(scratch, state);
		number = bytecode_report(scratch, state);
		bytecode_keep(scratch, state, number);
	}
	frame = scratch_room(scratch, sizeof(*frame));
	if (!frame)
		return 1;
	frame->ip = frame_place(number, 0);
	frame->frame = scratch->v8.no_frame ? scratch->native.sp - 8 : scratch->native.bp;
	scratch->size += sizeof(*frame);
	scratch->native.count++;
	scratch->native.cfa = 0;
	if (scratch->v8.no_frame)
		return !v8_up(&scratch->native, &scratch->window);
	return !walk_native_up(&scratch->native, &scratch->window);
}

#endif
