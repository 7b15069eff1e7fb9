/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* stack.h: appends the kernel, user and managed stacks to the record in a scratch. */
#ifndef GCPROF_STACK_H
#define GCPROF_STACK_H

#include "copy.h"
#include "fiber.h"
#include "stack_bytecode.h"
#include "stack_pypy.h"
#include "stack_v8.h"

/* The most frames that the kernel returns (kernel.perf_event_max_stack). */
#define KERNEL_STACK_BYTES (127 * sizeof(uint64_t))

/* The counts follow the header in every record with a stack. */
static __always_inline struct event_stack *stack_counts(struct scratch *scratch)
{
	return (struct event_stack *)(scratch->data + sizeof(struct event_header));
}

/* Managed frames per loop iteration: calling the body costs as much as a frame. */
#define STACK_STEP 4

/* Argument of the loops' callbacks: pointers only; mutable state is in the scratch. */
struct stack_loop {
	struct scratch *scratch;
	struct walk_rows *rows;
	struct task_state *state;
};

static __always_inline uint32_t stack_java_loss(uint64_t kind)
{
	if (kind == HOTSPOT_COMPILED || kind == HOTSPOT_NATIVE)
		return LOSS_JAVA_COMPILED;
	return kind == HOTSPOT_INTERPRETER ? LOSS_JAVA_INTERPRETED : LOSS_JAVA_STUB;
}

/* The same for a frame of a Java virtual machine; -1 if it is none. */
__noinline int stack_java_frame(struct scratch *scratch)
{
	struct event_native *frame;
	int found;

	if (!scratch)
		return 1;
	if (!hotspot_find(&scratch->hotspot, &scratch->window, scratch->native.ip))
		return -1;
	hotspot_take(&scratch->hotspot, &scratch->native);
	found = hotspot_caller(&scratch->hotspot, &scratch->window);
	frame = scratch_room(scratch, sizeof(*frame));
	if (!frame)
		return 1;
	scratch->size += sizeof(*frame);
	if (hotspot_up(&scratch->hotspot, &scratch->native, found, frame))
		return 0;
	if (scratch->native.quality & STACK_JAVA_END)
		loss_count(stack_java_loss(scratch->hotspot.kind));
	return 1;
}

/* Reads the data of the process's Java virtual machine; `id` is that of its table. */
__noinline int stack_java_learn(struct scratch *scratch, const struct unwind_table *table,
				uint32_t id)
{
	struct hotspot_layout *layout;
	struct scratch *same;
	uint32_t number, slot;

	if (!scratch || !table || !table->hotspot)
		return 0;
	number = table->hotspot - 1;
	layout = bpf_map_lookup_elem(&hotspot_files, &number);
	if (!layout || !hotspot_learn(&scratch->hotspot, &scratch->window, layout, table->bias))
		return 0;
	/* Linux 6.1 requires a value that it knows to be in a map. */
	slot = scratch->slot;
	same = bpf_map_lookup_elem(&scratches, &slot);
	if (same)
		bpf_map_update_elem(&hotspot_spaces, &id, &same->hotspot.space, BPF_ANY);
	return 1;
}

/* Copies that data to the scratch; false if the process has no Java virtual machine. */
static __always_inline bool stack_java_begin(struct scratch *scratch, struct walk_rows *rows)
{
	struct hotspot_space *space;
	uint32_t id;

	if (!rows->table || !rows->table->hotspot || !rows->rules)
		return 0;
	scratch->hotspot.ax = scratch->regs.ax;
	scratch->hotspot.r13 = scratch->regs.r13;
	id = rows->rules->table;
	space = bpf_map_lookup_elem(&hotspot_spaces, &id);
	if (!space)
		return stack_java_learn(scratch, rows->table, id) != 0;
	scratch->hotspot.space = *space;
	return 1;
}

/* Copies the data of the process's V8 engine or PyPy to the scratch, if it has one. */
static __always_inline void stack_engine_begin(struct scratch *scratch,
					       const struct task_state *state)
{
	uint32_t process = bpf_get_current_pid_tgid() >> 32;
	struct interpreters *found = bpf_map_lookup_elem(&interpreters, &process);

	scratch->v8_on = scratch->pypy_on = 0;
	if (scratch->java || !found || found->since < state->image)
		return;
	scratch->v8_on = found->v8.at[V8_FUNCTION_SHARED] != 0;
	scratch->pypy_on = !scratch->v8_on && found->pypy.storage;
	if (scratch->v8_on)
		scratch->v8.layout = found->v8;
	if (scratch->pypy_on)
		stack_pypy_begin(scratch, found);
}

/* Not inlined: its stack space is free again when frames are read (512 bytes in all). */
static __attribute__((noinline)) int stack_native_find(struct stack_loop *loop)
{
	return walk_native_find(&loop->scratch->native, loop->rows);
}

static long stack_native_step(uint32_t index, struct stack_loop *loop)
{
	int end;

	if (!stack_native_find(loop))
		return 1;
	if (loop->scratch->pypy_on)
		return stack_ends(stack_pypy_frame(loop->scratch));
	end = -1;
	if (loop->scratch->java && loop->scratch->native.rule.cfa == UNWIND_CFA_NONE)
		end = stack_java_frame(loop->scratch);
	if (loop->scratch->v8_on && loop->scratch->native.rule.cfa == UNWIND_CFA_NONE) {
		loop->scratch->v8.made = loop->rows->table &&
					 !walk_rows_mapping(loop->rows, loop->scratch->native.ip);
		end = stack_v8_frame(loop->scratch, loop->state);
	}
	if (end < 0)
		end = stack_native_frame(loop->scratch);
	return stack_ends(end);
}

__noinline int stack_managed_frame(struct scratch *scratch)
{
	struct event_managed frame = {}, *to;
	int found;

	if (!scratch)
		return 1;
	found = walk_managed_next(&scratch->managed, &scratch->window, &frame);
	if (found <= 0)
		return found < 0;
	to = scratch_room(scratch, sizeof(*to));
	if (!to)
		return 1;
	*to = frame;
	scratch->size += sizeof(*to);
	return 0;
}

static long stack_managed_step(uint32_t index, struct stack_loop *loop)
{
	UNROLL
	for (int i = 0; i < STACK_STEP; i++)
		if (stack_managed_frame(loop->scratch))
			return 1;
	return 0;
}

__noinline int stack_count_losses(uint32_t quality)
{
	if (!quality)
		return 0;
	if (quality & STACK_USER_FAILED)
		loss_count(LOSS_STACK_USER);
	if (quality & STACK_KERNEL_FAILED)
		loss_count(LOSS_STACK_KERNEL);
	if (quality & (STACK_USER_CUT | STACK_KERNEL_CUT))
		loss_count(LOSS_STACK_DEPTH);
	if (quality & STACK_MANAGED_TORN)
		loss_count(LOSS_MANAGED_TORN);
	if (quality & STACK_MANAGED_CUT)
		loss_count(LOSS_MANAGED_DEPTH);
	return 0;
}

/* How long rows may be missing after code was mapped, on a busy machine. */
#define STACK_EARLY_NS 300000000

static __always_inline bool stack_is_early(uint32_t index, uint64_t now)
{
	struct process_state *process = bpf_map_lookup_elem(&processes, &index);

	return process && now - process->mapped < STACK_EARLY_NS;
}

/*
 * Decides whether the recorder shall unwind this stack. It will know the mappings, and rules that
 * rows cannot express, but not the callers of code generated at run time.
 */
static __always_inline void stack_wants_copy(struct scratch *scratch,
					     const struct task_state *state,
					     const struct walk_rows *rows)
{
	const struct event_header *header = (const struct event_header *)scratch->data;

	if (!config.copy_bytes || scratch->native.narrow)
		return;
	if (!config.copy_always &&
	    !(scratch->native.guessed &&
	      (!rows->table || rows->rules->bare || stack_is_early(state->process, header->time))))
		return;
	scratch->copy_flags = config.copy_always ? 0 : COPY_WALKED;
	scratch->copying = 1;
}

/*
 * Appends the user and managed stack of the current thread, whose user registers are in the
 * scratch, and sets its fiber. Completes struct event_stack; the caller has set n_kernel and its
 * quality bits.
 */
__noinline int stack_user(struct scratch *scratch, struct task_state *state)
{
	const struct user_regs *regs;
	struct event_stack *counts;
	struct walk_rows rows = {};
	struct stack_loop loop = {scratch, &rows, state};
	uint64_t anchor, fiber = 0;
	uint32_t id;
	uint32_t slot; /* Linux 6.1 requires keys on the stack */

	if (!scratch || !state)
		return 0;
	regs = &scratch->regs;
	counts = stack_counts(scratch);
	id = fibers_known ? fiber_find(state, &fiber) : 0;
	((struct event_header *)scratch->data)->fiber = id;
	anchor = state->anchor;
	slot = scratch->slot;
	walk_window_clear(&scratch->window);
	scratch->native.count = scratch->managed.count = 0;
	scratch->native.quality = scratch->managed.quality = 0;
	if (config.user_stacks) {
		if (config.rows && !regs->narrow)
			walk_rows_begin(&rows, bpf_map_lookup_elem(&walk_rules, &slot),
					state->image);
		scratch->java = stack_java_begin(scratch, &rows);
		stack_engine_begin(scratch, state);
		walk_native_begin(&scratch->native, regs->ip, regs->sp, regs->bp, regs->bx);
		scratch->native.keeps = scratch->v8_on && rows.table;
		if (regs->narrow)
			walk_native_narrow(&scratch->native);
		scratch->native.fiber = id ? fiber : 0;
		bpf_loop(STACK_DEPTH_MAX, stack_native_step, &loop, 0);
	}
	if (anchor) {
		walk_managed_begin(&scratch->managed, anchor);
		/* One more step than frames: the last one finds the end, or the limit. */
		bpf_loop(MANAGED_DEPTH_MAX / STACK_STEP + 1, stack_managed_step, &loop, 0);
	} else {
		stack_bytecode(scratch, state);
	}
	counts->n_user = scratch->native.count;
	counts->n_managed = scratch->managed.count;
	counts->quality |= scratch->native.quality | scratch->managed.quality;
	if (config.rows && scratch->native.guessed)
		counts->quality |= STACK_USER_GUESSED;
	stack_count_losses(counts->quality);
	stack_wants_copy(scratch, state, &rows);
	return 0;
}

/* Does the record get a stack dump? It then needs the other registers as well. */
static __always_inline bool stack_is_copied(const struct scratch *scratch)
{
	return config.copy_bytes && scratch->copying;
}

/* Emits a record with a stack; false if there was no room, which is counted. */
static __always_inline bool stack_emit(struct scratch *scratch, void *ring, uint32_t loss)
{
	if (stack_is_copied(scratch))
		return copy_emit(scratch, stack_counts(scratch), ring, loss);
	return scratch_emit(scratch, ring, loss);
}

/* Appends the kernel stack, starting at the program's context. */
static __always_inline void stack_kernel(struct scratch *scratch, void *ctx)
{
	struct event_stack *counts = stack_counts(scratch);
	void *to = scratch_room(scratch, KERNEL_STACK_BYTES);
	long bytes = to ? bpf_get_stack(ctx, to, KERNEL_STACK_BYTES, 0) : -1;

	if (bytes <= 0) {
		counts->quality |= STACK_KERNEL_FAILED;
		return;
	}
	if (bytes >= (long)KERNEL_STACK_BYTES)
		counts->quality |= STACK_KERNEL_CUT;
	counts->n_kernel = bytes / sizeof(uint64_t);
	scratch->size += (uint32_t)bytes & ~7u;
}

#endif
