/* SPDX-License-Identifier: BSD-2-Clause */
/* call_tree.h: who calls whom: stacks merged by function, from either end. */
#ifndef GCPROF_CALL_TREE_H
#define GCPROF_CALL_TREE_H

#include "../load.h"
#include "call_moments.h"

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
