/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* cost.h: what our own programs take of the CPU: every run is counted, some are timed. */
#ifndef GCPROF_COST_H
#define GCPROF_COST_H

#include "maps.h"

#define COST_EACH    61 /* of the runs of a frequent program one is timed */
#define COST_SELDOM  7
#define COST_RUN_MAX 50000 /* ns: a longer run was interrupted, or its CPU was taken away */

/* A run that is timed: returns when it began. */
__noinline uint64_t cost_turn(uint32_t program, uint32_t every)
{
	struct cost *cost = bpf_map_lookup_elem(&costs, &program);

	if (!cost)
		return 0;
	cost->runs += every;
	cost->left = every - 1;
	cost->began = bpf_ktime_get_ns();
	return cost->began;
}

/*
 * A run of a program begins. One of `every` on a CPU is timed: then this returns when
 * it began, else 0. `every` is a prime, so that the turns of a loop are all timed now
 * and then.
 */
static __always_inline uint64_t cost_begin(uint32_t program, uint32_t every)
{
	struct cost *cost = bpf_map_lookup_elem(&costs, &program);

	if (!cost)
		return 0;
	if (!cost->left)
		return cost_turn(program, every);
	cost->left--;
	return 0;
}

__noinline int cost_add(uint32_t program, uint64_t began)
{
	struct cost *cost = bpf_map_lookup_elem(&costs, &program);
	uint64_t ns = bpf_ktime_get_ns() - began;

	if (!cost)
		return 0;
	cost->timed++;
	cost->ns += ns < COST_RUN_MAX ? ns : COST_RUN_MAX;
	return 0;
}

/*
 * For a program whose stack has no room for what cost_begin() returned: it is kept in the map.
 * Where another takes the CPU meanwhile one of the two gets the time of both, the other none.
 */
__noinline int cost_end(uint32_t program)
{
	struct cost *cost = bpf_map_lookup_elem(&costs, &program);
	uint64_t began;

	if (!cost || !cost->began)
		return 0;
	began = cost->began;
	cost->began = 0;
	return cost_add(program, began);
}

/* Runs `body`, an expression, as a run of `program`. */
#define COST_OF(program, every, body)                                                   \
	({                                                                              \
		uint64_t cost_began = config.governed ? cost_begin(program, every) : 0; \
		body;                                                                   \
		if (cost_began)                                                         \
			cost_add(program, cost_began);                                  \
		0;                                                                      \
	})

#endif
