/* SPDX-License-Identifier: BSD-2-Clause */
/* call_tree.h: who calls whom: stacks put together by function, from one end or the other. */
#ifndef GCPROF_CALL_TREE_H
#define GCPROF_CALL_TREE_H

#include "../load.h"
#include "call_moments.h"

enum call_kind {
	CALLS_TREE,    /* from the outermost function down */
	CALLS_CALLERS, /* from some functions to those that call them */
	CALLS_CALLEES, /* from some functions to those that they call */
};

/* What passes through a node of the tree; `self`: ends there. */
struct call_cost {
	double cpu_ns, alloc_bytes, survived_bytes, gc_ns, syscall_ns, off_cpu_ns;
};

struct call_node {
	const char *name, *module; /* NULL name: the root, of everything */
	struct call_cost total, self;
	uint32_t first_child, next; /* numbers, 0: none; most costly first once sorted */
	uint8_t runtime, work;      /* enum runtime, enum work_kind */
};

/*
 * Node 0 is the root: its children are the outermost functions of a tree, or those
 * that were asked for. Depths are bounded: deeper parts of a stack are left out below
 * CALLS_DEPTH_MAX, and stand in their ancestors' totals.
 */
struct call_tree {
	struct call_node *nodes;
	size_t count, capacity;
};

enum { CALLS_DEPTH_MAX = 200 };

double call_value(const struct call_cost *cost, enum call_measure measure);

/*
 * An observer for model_load_observed(), that builds `tree` once the profile is read;
 * `pattern` (as in filter.h) names the functions for callers and callees. The names
 * belong to the model.
 */
struct call_builder {
	struct model_observer observer;
	enum call_kind kind;
	const char *pattern;
	struct call_tree *tree;
	struct call_moments *moments; /* filled as well; NULL, as after init: not wanted */
	const struct model *model;    /* once it is built: what it is the tree of */
};

void call_builder_init(struct call_builder *builder, enum call_kind kind, const char *pattern,
		       struct call_tree *tree);

/* 0 or -ENOMEM. */
int call_tree_sort(struct call_tree *tree, enum call_measure measure);
void call_tree_free(struct call_tree *tree);

#endif
