/* SPDX-License-Identifier: BSD-2-Clause */
/* call_tree.h: who calls whom: stacks merged by function, from either end. */
#ifndef GCPROF_CALL_TREE_H
#define GCPROF_CALL_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../load.h"

/* The costs of a call tree, or of other rows, by window of time. */

/* Sort key of nodes, and the total that shares refer to. */
enum call_measure {
	CALLS_CPU,
	CALLS_ALLOC,
	CALLS_GC,
	CALLS_SYSCALLS,
	CALLS_OFF_CPU,
	CALLS_SURVIVED,
	CALLS_LIVE,
	CALLS_MEASURES
};

struct event;
struct world;

struct call_moment {
	uint32_t window;  /* windows are step_ns long, from the start of the recording */
	uint32_t node;    /* tree node; before call_moments_finish() the cost of the stack */
	uint32_t measure; /* enum call_measure; only measures known at the time of the event */
	double value;
};

/*
 * After call_moments_finish(): sorted by measure, window and node, one entry for each. All zero
 * is empty. Memory is bounded: if there are too many entries, windows become longer; if that is
 * not enough, none are kept.
 */
struct call_moments {
	struct call_moment *items;
	size_t count, capacity;
	uint64_t step_ns;
	size_t most;      /* limit while the profile is read; 0: four million */
	uint32_t largest; /* bits of measures whose largest value counts, not their sum */
	bool lost;        /* too many for any window length; count is 0 */
};

/* The nodes where a cost's stack ends: for time, and for allocation. */
struct call_ends {
	uint32_t time, memory;
};

/* Accepts any record that was not refused. 0 or -ENOMEM. */
int call_moments_record(struct call_moments *moments, const struct world *world,
			const struct event *event);

/*
 * Adds a value of any kind of row: `node` and `measure` (below 32) are the caller's numbers. Values
 * that are not positive are ignored. 0 or -ENOMEM.
 */
int call_moments_add(struct call_moments *moments, const struct world *world, uint64_t time,
		     uint32_t node, uint32_t measure, double value);

/*
 * Adds a value of a stack of the profile. Measures from CALLS_MEASURES on are the caller's own, of
 * memory. 0 or -ENOMEM.
 */
int call_moments_add_stack(struct call_moments *moments, const struct world *world, uint64_t time,
			   uint64_t stack, uint32_t measure, double value);

/* Call once all values are added: the end of call_moments_finish(), for rows that are no stacks. */
void call_moments_settle(struct call_moments *moments, const struct world *world);

/*
 * Call when the tree is built. `ends` is indexed by cost. Leaves at most TIMELINE_WINDOWS
 * windows.
 */
void call_moments_finish(struct call_moments *moments, const struct world *world,
			 const struct call_ends *ends);

/* Renumbers the nodes. */
void call_moments_renumber(struct call_moments *moments, const uint32_t *numbers);

/* Lengthens windows until there are at most `most` moments, or only one window. */
void call_moments_limit(struct call_moments *moments, size_t most);

void call_moments_free(struct call_moments *moments);

enum call_kind {
	CALLS_TREE,    /* from the outermost function down */
	CALLS_CALLERS, /* from the selected functions to their callers */
	CALLS_CALLEES, /* from the selected functions to their callees */
};

/* Costs of all stacks through a node (total), or of those that end there (self). */
struct call_cost {
	double cpu_ns, alloc_bytes, survived_bytes, live_bytes, gc_ns, syscall_ns, off_cpu_ns;
};

struct call_node {
	const char *name, *module; /* NULL name: the root */
	struct call_cost total, self;
	uint32_t first_child, next; /* node numbers, 0: none; most costly first once sorted */
	uint8_t runtime, work;      /* enum runtime, enum work_kind */
};

/*
 * Node 0 is the root. Its children are the outermost functions, or the selected ones. Parts of a
 * stack deeper than CALLS_DEPTH_MAX get no nodes; their cost stays in the ancestors' totals.
 */
struct call_tree {
	struct call_node *nodes;
	size_t count, capacity;
};

enum { CALLS_DEPTH_MAX = 200 };

double call_value(const struct call_cost *cost, enum call_measure measure);

/*
 * An observer for model_load_observed() that builds `tree` after the profile is read. `pattern`
 * (as in filter.h) selects the functions for callers and callees. The model owns the names.
 */
struct call_builder {
	struct model_observer observer;
	enum call_kind kind;
	const char *pattern;
	struct call_tree *tree;
	struct call_moments *moments; /* filled as well unless NULL, the default */
	const struct model *model;    /* the model that the tree belongs to, once built */
};

void call_builder_init(struct call_builder *builder, enum call_kind kind, const char *pattern,
		       struct call_tree *tree);

/* 0 or -ENOMEM. */
int call_tree_sort(struct call_tree *tree, enum call_measure measure);
void call_tree_free(struct call_tree *tree);

#endif
