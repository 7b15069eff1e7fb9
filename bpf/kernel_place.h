/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* kernel_place.h: where in the kernel threads waited: stacks of the last wait and of the longest.
 */
/*
 * The kernel stack of a system call is worth nothing at its begin and at its end:
 * it shows the way in and out. What took the time shows where the thread waited.
 * That is read when the thread is about to run again and the wait was long
 * enough to be reported: until then its stack lies as it left it, and short waits
 * cost nothing. The records are made later, by the thread itself.
 */
#ifndef GCPROF_KERNEL_PLACE_H
#define GCPROF_KERNEL_PLACE_H

#include "emit.h"

#define PLACE_DEPTH 64

struct kernel_places {
	uint64_t longest_ns; /* of the waits in the open system call, 0: none was long enough */
	uint32_t last, longest;
	int64_t bytes[2]; /* what the kernel handed out, negative: nothing */
	uint64_t frames[2][PLACE_DEPTH];
};

/* Made with a thread's state: where threads are switched, memory must not be asked for. */
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

/* The current thread begins a system call. */
static __always_inline void place_forget(void)
{
	struct kernel_places *places;

	if (!config.kernel_stacks)
		return;
	places = bpf_task_storage_get(&kernel_places, bpf_get_current_task_btf(), NULL, 0);
	if (places)
		places->longest_ns = 0;
}

/* A wait of a thread that is not running is over, after `length` ns. */
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

/* Appends the frames of a place to the record in the scratch, before its user stack. */
static __always_inline void place_put(struct scratch *scratch, struct event_stack *counts,
				      const struct kernel_places *places, uint32_t slot)
{
	int64_t bytes = places->bytes[slot & 1];
	uint32_t at = scratch->size;

	if (bytes <= 0 || bytes > (int64_t)sizeof(places->frames[0]) ||
	    at > sizeof(scratch->data) - sizeof(places->frames[0])) {
		counts->quality |= STACK_KERNEL_FAILED;
		return;
	}
	if (bytes == sizeof(places->frames[0]))
		counts->quality |= STACK_KERNEL_CUT;
	bpf_probe_read_kernel(scratch->data + at, bytes, places->frames[slot & 1]);
	counts->n_kernel = bytes / sizeof(uint64_t);
	scratch->size = at + bytes;
}

/* The same of the last wait of a thread that is being reported. */
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

/* Of the longest wait in the current thread's system call, if there was one. */
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
