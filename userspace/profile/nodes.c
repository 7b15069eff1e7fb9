// SPDX-License-Identifier: BSD-2-Clause
/* nodes.c: the stacks that a profile has defined: a frame, and the stack that called it. */
#include "nodes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../util/map.h"

enum { FIRST_SLOTS = 1024 };

struct node {
	uint64_t parent;
	uint32_t frame;
	uint32_t number; /* among the remembered stacks, from 1; 0: empty */
};

struct nodes {
	struct node *slots;
	uint32_t n_slots; /* a power of two, at least twice `count` */
	uint32_t count;
	uint64_t forgotten; /* ids below the remembered ones */
	uint64_t seed;
};

int nodes_create(struct nodes **out)
{
	struct nodes *nodes = calloc(1, sizeof(*nodes));

	if (!nodes)
		return -ENOMEM;
	nodes->n_slots = FIRST_SLOTS;
	nodes->seed = map_seed();
	nodes->slots = calloc(nodes->n_slots, sizeof(*nodes->slots));
	if (!nodes->slots) {
		free(nodes);
		return -ENOMEM;
	}
	*out = nodes;
	return 0;
}

void nodes_free(struct nodes *nodes)
{
	if (!nodes)
		return;
	free(nodes->slots);
	free(nodes);
}

/* The slot of the node, or the empty slot for it. */
static struct node *nodes_find(const struct nodes *nodes, uint64_t parent, uint32_t frame)
{
	const uint32_t mask = nodes->n_slots - 1;
	unsigned __int128 product =
		(unsigned __int128)(parent << 32 ^ parent >> 32 ^ frame ^ nodes->seed) *
		UINT64_C(0xd6e8feb86659fd93);

	for (uint32_t at = (uint32_t)(product >> 64) ^ (uint32_t)product;; at++) {
		struct node *node = &nodes->slots[at & mask];

		if (!node->number || (node->parent == parent && node->frame == frame))
			return node;
	}
}

static bool grow(struct nodes *nodes)
{
	struct nodes larger = *nodes;

	larger.n_slots *= 2;
	larger.slots = calloc(larger.n_slots, sizeof(*larger.slots));
	if (!larger.slots)
		return false;
	for (uint32_t i = 0; i < nodes->n_slots; i++) {
		const struct node *node = &nodes->slots[i];

		if (node->number)
			*nodes_find(&larger, node->parent, node->frame) = *node;
	}
	free(nodes->slots);
	*nodes = larger;
	return true;
}

static void nodes_forget(struct nodes *nodes)
{
	memset(nodes->slots, 0, nodes->n_slots * sizeof(*nodes->slots));
	nodes->forgotten += nodes->count;
	nodes->count = 0;
}

uint64_t nodes_put(struct nodes *nodes, uint64_t parent, uint64_t frame, bool *added)
{
	struct node *node;

	*added = false;
	if (frame > UINT32_MAX)
		return 0; /* impossible: so many frames do not fit into memory */
	node = nodes_find(nodes, parent, (uint32_t)frame);
	if (node->number)
		return nodes->forgotten + node->number;
	if (nodes->count == NODES_MAX)
		nodes_forget(nodes);
	if (nodes->count >= nodes->n_slots / 2 && !grow(nodes))
		return 0;
	node = nodes_find(nodes, parent, (uint32_t)frame);
	*node = (struct node){parent, (uint32_t)frame, ++nodes->count};
	*added = true;
	return nodes->forgotten + node->number;
}
