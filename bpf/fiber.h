/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* fiber.h: finds the fiber (goroutine, for example) that the current thread runs. */
#ifndef GCPROF_BPF_FIBER_H
#define GCPROF_BPF_FIBER_H

#include "filter.h"

#define FIBER_IDLE 1 /* instead of an address: the thread has no fiber to run */

/* Returns the fiber's id and stores its address. Global: the verifier checks it once. */
__noinline uint32_t fiber_find(const struct task_state *state, uint64_t *fiber)
{
	const struct fiber_path *path;
	uint64_t at, value;
	uint32_t process;

	if (!state || !fiber)
		return 0;
	process = state->process;
	path = bpf_map_lookup_elem(&fiber_paths, &process);
	if (!path || path->since < state->image)
		return 0;
	at = thread_storage(bpf_get_current_task_btf()) + path->base;
	UNROLL
	for (uint32_t i = 0; i <= FIBER_STEPS; i++) {
		if (bpf_probe_read_user(&value, sizeof(value), (const void *)at))
			return 0;
		if (!value) {
			*fiber = i && i + 1 == path->count ? FIBER_IDLE : 0;
			return 0;
		}
		if (i == path->count)
			return (uint32_t)value;
		*fiber = value;
		if (i < FIBER_STEPS)
			at = value + path->steps[i];
	}
	return 0;
}

#endif
