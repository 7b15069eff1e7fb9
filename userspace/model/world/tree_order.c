/* SPDX-License-Identifier: BSD-2-Clause */
/* tree_order.c: orders stacks so that those with common callers are adjacent. */
/*
 * First, the costs at and below each node are counted, children before parents: the number of
 * entries that a node needs. Then parents assign entries to their children and keep the rest for
 * their own costs. This takes two passes over all nodes in memory order, without recursion.
 */
#include <stdlib.h>

#include "tree.h"

/* The first free entry of each node; NULL: no memory. */
static uint32_t *give_places(const struct tree *tree)
{
	const struct stack *nodes = (const struct stack *)tree->nodes.items;
	uint64_t limit = tree->nodes.limit;
	uint32_t *places = calloc(limit + 1, sizeof(*places));

	if (!places)
		return NULL;
	for (size_t i = 1; i < tree->n_costs; i++)
		places[tree->costs[i].stack]++;
	places[0] = 0;
	for (uint64_t id = limit; id-- > 1;)
		if (nodes[id].parent)
			places[nodes[id].parent] += places[id];
	for (uint64_t id = 1; id < limit; id++) {
		uint32_t count = places[id], parent = nodes[id].parent;

		places[id] = places[parent];
		places[parent] += count;
	}
	return places;
}

uint32_t *tree_order(const struct tree *tree, size_t *count)
{
	uint32_t *places = give_places(tree);
	uint32_t *order = places ? malloc(tree->n_costs * sizeof(*order)) : NULL;

	*count = places ? places[0] : 0;
	/* In reverse, so that callers come first. */
	for (size_t i = 1; order && i < tree->n_costs; i++)
		if (tree->costs[i].stack)
			order[*count - ++places[tree->costs[i].stack]] = (uint32_t)i;
	free(places);
	return order;
}
