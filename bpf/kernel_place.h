/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* kernel_place.h: kernel stacks of waiting threads: of the last wait, and of the longest in a
 * call. */
/*
 * At the begin and end of a system call, the kernel stack only shows the way in and out. The stack
 * during its longest wait shows what took the time. It is taken when the thread is about to run
 * again and the wait was long enough to be reported: the stack is unchanged until then, and short
 * waits cost nothing. The thread itself emits the records later.
 */
#ifndef GCPROF_KERNEL_PLACE_H
#define GCPROF_KERNEL_PLACE_H

#include "emit.h"

#define PLACE_DEPTH 64

struct kernel_places {
	uint64_t longest_ns; /* of the waits in the open system call; 0: none was long enough */
	uint32_t last, longest;
	int64_t bytes[2]; /* as returned by the kernel; negative: no stack */
	uint64_t frames[2][PLACE_DEPTH];
};

/* Created with a thread's state, because memory must not be allocated in a thread switch. */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct kernel_places);
} kernel_places SEC(".maps");

static __always_inline void place_make(struct task_struct *task)
{
	if (config.kernel_stacks)
		bpf_task_storage_get(&kernel_places, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
}

/* The current thread begins a system call: forgets the longest wait. */
static __always_inline void place_forget(void)
{
	struct kernel_places *places;

	if (!config.kernel_stacks)
		return;
	places = bpf_task_storage_get(&kernel_places, bpf_get_current_task_btf(), NULL, 0);
	if (places)
		places->longest_ns = 0;
}

/* A wait of a thread that is not running ended after `length` ns. */
static __always_inline void place_take(struct task_struct *task, uint64_t length)
{
	struct kernel_places *places;
	uint32_t slot;

	if (!config.kernel_stacks)
		return;
	places = bpf_task_storage_get(&kernel_places, task, NULL, 0);
	if (!places)
		return;
	slot = (places->longest ^ 1) & 1;
	places->last = slot;
	if (length > places->longest_ns) {
		places->longest = slot;
		places->longest_ns = length;
	}
	places->bytes[slot] =
		bpf_get_task_stack(task, places->frames[slot], sizeof(places->frames[slot]), 0);
}

/* Appends these frames to the record in the scratch, before its user stack. */
static __always_inline void place_put(struct scratch *scratch, struct event_stack *counts,
				      const struct kernel_places *places, uint32_t slot)
{
	int64_t bytes = places->bytes[slot & 1];
	void *to = scratch_room(scratch, sizeof(places->frames[0]));

	if (!to || bytes <= 0 || bytes > (int64_t)sizeof(places->frames[0])) {
		counts->quality |= STACK_KERNEL_FAILED;
		return;
	}
	if (bytes == sizeof(places->frames[0]))
		counts->quality |= STACK_KERNEL_CUT;
	bpf_probe_read_kernel(to, bytes, places->frames[slot & 1]);
	counts->n_kernel = bytes / sizeof(uint64_t);
	scratch->size += bytes;
}

/* The same for the last wait of the thread. */
static __always_inline void place_put_last(struct scratch *scratch, struct event_stack *counts,
					   struct task_struct *task)
{
	struct kernel_places *places;

	if (!config.kernel_stacks)
		return;
	places = bpf_task_storage_get(&kernel_places, task, NULL, 0);
	if (places)
		place_put(scratch, counts, places, places->last);
}

/* The same for the longest wait in the current thread's system call, if any. */
static __always_inline void place_put_longest(struct scratch *scratch, struct event_stack *counts)
{
	struct kernel_places *places;

	if (!config.kernel_stacks)
		return;
	places = bpf_task_storage_get(&kernel_places, bpf_get_current_task_btf(), NULL, 0);
	if (places && places->longest_ns)
		place_put(scratch, counts, places, places->longest);
}

#endif
