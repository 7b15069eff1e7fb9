/* SPDX-License-Identifier: BSD-2-Clause */
/* tree.c: the call tree in the page's order, with small nodes merged. */
#include "html.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/*
 * If there are too many nodes, those below this share of every total are merged, then twice
 * this share, and so on.
 */
#define LEAST_SHARE 0.00001

struct maker {
	const struct call_tree *calls;
	struct html_tree *tree;
	double whole[CALLS_MEASURES]; /* totals, including costs without a stack */
};

static double total_of(const struct maker *maker, uint32_t node, int measure)
{
	return call_value(&maker->calls->nodes[node].total, (enum call_measure)measure);
}

static bool is_kept(const struct maker *maker, uint32_t node)
{
	for (int i = 0; i < CALLS_MEASURES; i++) {
		double total = total_of(maker, node, i);

		if (total > 0 && total >= maker->tree->share * maker->whole[i])
			return true;
	}
	return false;
}

/* Upper bound of nodes: each kept node may have one for its merged children. */
static size_t count_kept(const struct maker *maker)
{
	size_t kept = 0;

	for (size_t i = 1; i < maker->calls->count; i++)
		kept += is_kept(maker, (uint32_t)i);
	return 2 * kept + 3;
}

static uint32_t add_node(struct html_tree *tree, uint32_t parent, uint32_t source)
{
	tree->nodes[tree->count] = (struct html_node){.parent = parent, .source = source};
	return (uint32_t)tree->count++;
}

/* Merges the children of `source` that are too small into one node. */
static void add_small(struct maker *maker, uint32_t parent, uint32_t source)
{
	const struct call_node *nodes = maker->calls->nodes;
	struct html_tree *tree = maker->tree;
	uint32_t number = 0;

	for (uint32_t at = nodes[source].first_child; at; at = nodes[at].next) {
		if (is_kept(maker, at))
			continue;
		if (!number)
			number = add_node(tree, parent, 0);
		tree->nodes[number].more++;
		tree->numbers[at] = number;
		for (int i = 0; i < CALLS_MEASURES; i++)
			tree->nodes[number].self[i] += total_of(maker, at, i);
	}
}

/* The recursion is at most CALLS_DEPTH_MAX deep. */
static void add_kept(struct maker *maker, uint32_t parent, uint32_t source)
{
	const struct call_node *nodes = maker->calls->nodes;
	struct html_tree *tree = maker->tree;
	uint32_t number = add_node(tree, parent, source);
	double rest[CALLS_MEASURES];

	tree->numbers[source] = number;
	for (int i = 0; i < CALLS_MEASURES; i++)
		rest[i] = total_of(maker, source, i);
	for (uint32_t at = nodes[source].first_child; at; at = nodes[at].next)
		for (int i = 0; i < CALLS_MEASURES; i++)
			rest[i] -= total_of(maker, at, i);
	/* Small remainders are rounding errors of sums. */
	for (int i = 0; i < CALLS_MEASURES; i++)
		tree->nodes[number].self[i] = rest[i] > 1e-9 * total_of(maker, source, i) ? rest[i]
											  : 0;
	add_small(maker, number, source);
	for (uint32_t at = nodes[source].first_child; at; at = nodes[at].next)
		if (is_kept(maker, at))
			add_kept(maker, number, at);
}

/* Columns of functions add up to the totals, including the rows for costs without a stack. */
static void sum_functions(struct maker *maker, const struct model *model)
{
	for (size_t i = 0; i < model->n_functions; i++) {
		const struct model_function *row = &model->functions[i];
		const struct call_cost cost = {
			.cpu_ns = row->cpu_self_ns,
			.alloc_bytes = row->alloc_self_bytes,
			.survived_bytes = row->survived_bytes,
			.gc_ns = row->gc_self_ns,
			.syscall_ns = row->syscall_self_ns,
			.off_cpu_ns = row->off_cpu_self_ns,
		};

		for (int j = 0; j < CALLS_MEASURES; j++)
			maker->whole[j] += call_value(&cost, (enum call_measure)j);
	}
	maker->whole[CALLS_LIVE] = model->alloc.live_bytes;
}

static void add_no_stack(struct maker *maker)
{
	uint32_t number = add_node(maker->tree, 0, 0);

	for (int i = 0; i < CALLS_MEASURES; i++) {
		double rest = maker->whole[i] - total_of(maker, 0, i);

		if (rest > 1e-9 * maker->whole[i])
			maker->tree->nodes[number].self[i] = rest;
	}
	maker->tree->numbers[0] = number;
}

/* Maps descendants of merged nodes; callers precede callees. */
static void number_rest(struct maker *maker)
{
	const struct call_node *nodes = maker->calls->nodes;
	uint32_t *numbers = maker->tree->numbers;

	for (size_t i = 1; i < maker->calls->count; i++)
		for (uint32_t at = nodes[i].first_child; at; at = nodes[at].next)
			if (!numbers[at])
				numbers[at] = numbers[i];
}

int html_tree_make(const struct call_tree *calls, const struct model *model, struct html_tree *tree)
{
	struct maker maker = {calls, tree, {0}};
	size_t most;

	*tree = (struct html_tree){0};
	sum_functions(&maker, model);
	while ((most = count_kept(&maker)) > HTML_NODES_MAX)
		tree->share = tree->share > 0 ? 2 * tree->share : LEAST_SHARE;
	tree->nodes = calloc(most, sizeof(*tree->nodes));
	tree->numbers = calloc(calls->count + 1, sizeof(*tree->numbers));
	if (!tree->nodes || !tree->numbers)
		return -ENOMEM;
	add_kept(&maker, 0, 0);
	add_no_stack(&maker);
	number_rest(&maker);
	return 0;
}

void html_tree_free(struct html_tree *tree)
{
	free(tree->nodes);
	free(tree->numbers);
	*tree = (struct html_tree){0};
}
