/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* cost.h: the CPU time of our own programs: every run is counted, some are timed. */
#ifndef GCPROF_COST_H
#define GCPROF_COST_H

#include "maps.h"

#define COST_EACH    61 /* one run in so many is timed, for frequent programs */
#define COST_SELDOM  7
#define COST_RUN_MAX 50000 /* ns: a longer run was interrupted or preempted */

/* Starts a timed run. Returns its begin. */
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
 * Counts a run of a program. Times one run in `every` on a CPU and returns its begin then, else 0.
 * `every` is prime, so that each position in a loop is timed from time to time.
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

/* Counts a run that is not timed. */
static __always_inline int cost_count(uint32_t program)
{
	struct cost *cost = bpf_map_lookup_elem(&costs, &program);

	if (cost)
		cost->runs++;
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

/* Adds to a timed run, which has begun, how many links its probe has. */
__noinline int cost_links(uint32_t program, uint32_t links)
{
	struct cost *cost = bpf_map_lookup_elem(&costs, &program);

	if (cost && cost->began)
		cost->links += links;
	return 0;
}

/*
 * For programs whose stack has no room for the result of cost_begin(), which is kept in the map. If
 * another run preempts this one, one of them is charged for both and the other for nothing.
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
		uint64_t cost_began = config.measured ? cost_begin(program, every) : 0; \
		body;                                                                   \
		if (cost_began)                                                         \
			cost_add(program, cost_began);                                  \
		0;                                                                      \
	})

#endif
