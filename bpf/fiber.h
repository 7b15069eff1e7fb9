/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* fiber.h: which of its runtime's own threads (fibers: goroutines, say) does a thread run? */
#ifndef GCPROF_BPF_FIBER_H
#define GCPROF_BPF_FIBER_H

#include "filter.h"

/* Not inlined, as all global functions here: the verifier checks it once. */
__noinline uint32_t fiber_find(const struct task_state *state)
{
	const struct fiber_path *path;
	uint64_t at, value;
	uint32_t process;

	if (!state)
		return 0;
	process = state->process;
	path = bpf_map_lookup_elem(&fiber_paths, &process);
	if (!path || path->since < state->image)
		return 0;
	at = thread_storage(bpf_get_current_task_btf()) + path->base;
	UNROLL
	for (uint32_t i = 0; i <= FIBER_STEPS; i++) {
		if (bpf_probe_read_user(&value, sizeof(value), (const void *)at) || !value)
			return 0;
		if (i == path->count)
			return (uint32_t)value;
		if (i < FIBER_STEPS)
			at = value + path->steps[i];
	}
	return 0;
}

/* The fiber of the current thread, 0: it runs none, or its runtime has none that are known. */
static __always_inline uint32_t fiber_now(const struct task_state *state)
{
	return fibers_known ? fiber_find(state) : 0;
}

#endif
