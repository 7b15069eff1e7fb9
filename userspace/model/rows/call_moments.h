/* SPDX-License-Identifier: BSD-2-Clause */
/* call_moments.h: when the costs of a tree of calls arose: parts of them, by windows of time. */
#ifndef GCPROF_CALL_MOMENTS_H
#define GCPROF_CALL_MOMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What nodes are sorted by, and shown as a share of. */
enum call_measure {
	CALLS_CPU,
	CALLS_ALLOC,
	CALLS_GC,
	CALLS_SYSCALLS,
	CALLS_OFF_CPU,
	CALLS_SURVIVED,
	CALLS_MEASURES
};

struct event;
struct world;

struct call_moment {
	uint32_t window;  /* each `step_ns` long, from the start of the recording */
	uint32_t node;    /* of the tree; until call_moments_finish() number of the stack's cost */
	uint32_t measure; /* enum call_measure, of those that are known when an event happens */
	double value;
};

/*
 * Sorted by measure, window and node once finished, one for each of these. All zero is empty.
 * Memory is bounded: where there are too many, windows become longer, and in the end none are
 * kept.
 */
struct call_moments {
	struct call_moment *items;
	size_t count, capacity;
	uint64_t step_ns;
	size_t most; /* of those at once while the profile is read; 0: four million */
	bool lost;   /* there were too many for any length of windows: count is 0 */
};

/* Where the stack of a cost ends in the tree: its time, and what it allocates. */
struct call_ends {
	uint32_t time, memory;
};

/* Takes any record that is not refused. 0 or -ENOMEM. */
int call_moments_record(struct call_moments *moments, const struct world *world,
			const struct event *event);

/* Once the tree is built, `ends` by number of the cost. No more than TIMELINE_WINDOWS windows are
 * left. */
void call_moments_finish(struct call_moments *moments, const struct world *world,
			 const struct call_ends *ends);

/* Gives each node another number. */
void call_moments_renumber(struct call_moments *moments, const uint32_t *numbers);

/* Makes windows longer until there are no more than `most` moments, or one window. */
void call_moments_limit(struct call_moments *moments, size_t most);

void call_moments_free(struct call_moments *moments);

#endif
