// SPDX-License-Identifier: BSD-2-Clause
/* intern.c: assigns ids to things that a profile defines once and uses often, stacks among them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "intern.h"
#include "../util/map.h"

#define STRING_COST 64 /* bytes in the map, for each string */
#define FRAME_COST  32 /* the same for frames */
#define FRAME_BITS  40 /* of a frame's id */

size_t intern_budget = (size_t)8 << 20;

int intern_init(struct intern *intern)
{
	memset(intern, 0, sizeof(*intern));
	intern->strings = map_create(MAP_STRING_KEYS);
	intern->modules = map_create(MAP_STRING_KEYS);
	intern->natives = map_create(2 * sizeof(uint64_t));
	intern->kernels = map_create(sizeof(uint64_t));
	intern->manageds = map_create(3 * sizeof(uint64_t));
	if (intern->strings && intern->modules && intern->natives && intern->kernels &&
	    intern->manageds && !nodes_create(&intern->stacks))
		return 0;
	intern_finish(intern);
	return -ENOMEM;
}

void intern_finish(struct intern *intern)
{
	map_free(intern->strings);
	map_free(intern->modules);
	map_free(intern->natives);
	map_free(intern->kernels);
	map_free(intern->manageds);
	nodes_free(intern->stacks);
	buffer_free(&intern->frames);
	memset(intern, 0, sizeof(*intern));
}

/*
 * Programs may produce new names and call paths without end. Beyond the budget all are forgotten;
 * those that recur are defined again with new ids.
 */
static bool intern_forget(struct map **map, size_t key_size)
{
	struct map *fresh = map_create(key_size);

	if (!fresh)
		return false;
	map_free(*map);
	*map = fresh;
	return true;
}

uint64_t intern_string(struct intern *intern, const char *text, size_t size, bool *added)
{
	uint64_t *slot;

	if (intern->string_bytes > intern_budget &&
	    intern_forget(&intern->strings, MAP_STRING_KEYS))
		intern->string_bytes = 0;
	slot = map_put_string(intern->strings, text, size, added);
	if (!slot)
		return 0;
	if (*added) {
		*slot = ++intern->last_string;
		intern->string_bytes += size + STRING_COST;
	}
	return *slot;
}

uint64_t intern_module(struct intern *intern, struct bytes path, struct bytes identity, bool *added)
{
	struct buffer key = {0};
	uint64_t *slot = NULL;

	if (intern->module_bytes > intern_budget &&
	    intern_forget(&intern->modules, MAP_STRING_KEYS))
		intern->module_bytes = 0;
	/* Separated by a zero byte, which paths cannot contain. */
	if (!buffer_append(&key, path.data, path.size) && !buffer_append(&key, "", 1) &&
	    !buffer_append(&key, identity.data, identity.size))
		slot = map_put_string(intern->modules, key.data, key.size, added);
	if (slot && *added) {
		*slot = ++intern->last_module;
		intern->module_bytes += key.size + STRING_COST;
	}
	buffer_free(&key);
	return slot ? *slot : 0;
}

/* Assigns an id to a new frame; frames of all kinds share one range. */
static uint64_t number_frame(struct intern *intern, uint64_t *slot, bool added)
{
	if (!slot)
		return 0;
	if (added) {
		*slot = ++intern->last_frame;
		intern->frame_bytes += FRAME_COST;
	}
	return *slot;
}

static void forget_frames(struct intern *intern)
{
	if (intern->frame_bytes > intern_budget &&
	    intern_forget(&intern->natives, 2 * sizeof(uint64_t)) &&
	    intern_forget(&intern->kernels, sizeof(uint64_t)) &&
	    intern_forget(&intern->manageds, 3 * sizeof(uint64_t)))
		intern->frame_bytes = 0;
}

/* Reserve before the map grows, so that map and frames cannot differ. */
static int reserve_frame(struct intern *intern)
{
	forget_frames(intern);
	return buffer_reserve(&intern->frames, sizeof(struct intern_frame));
}

static void keep_frame(struct intern *intern, struct intern_frame frame)
{
	buffer_append(&intern->frames, &frame, sizeof(frame));
}

uint64_t intern_native(struct intern *intern, uint64_t module, uint64_t offset, bool *added)
{
	uint64_t key[2] = {module, offset};
	uint64_t *slot = reserve_frame(intern) ? NULL : map_put(intern->natives, key, added);
	uint64_t id = number_frame(intern, slot, slot && *added);

	if (id && *added)
		keep_frame(intern, (struct intern_frame){id, module, offset, RECORD_native_frame});
	return id;
}

uint64_t intern_kernel(struct intern *intern, uint64_t address, bool *added)
{
	uint64_t *slot = reserve_frame(intern) ? NULL : map_put(intern->kernels, &address, added);
	uint64_t id = number_frame(intern, slot, slot && *added);

	if (id && *added)
		keep_frame(intern, (struct intern_frame){id, 0, address, RECORD_kernel_frame});
	return id;
}

uint64_t intern_managed(struct intern *intern, const uint64_t key[3], bool *added)
{
	uint64_t *slot;

	forget_frames(intern);
	slot = map_put(intern->manageds, key, added);
	return number_frame(intern, slot, slot && *added);
}

uint64_t intern_stack(struct intern *intern, uint64_t parent, uint64_t frame, bool *added)
{
	return nodes_put(intern->stacks, parent, frame, added);
}

enum { FIRST_SLOTS = 1024 };

struct node {
	uint64_t parent;
	uint64_t frame : FRAME_BITS;
	uint64_t number : 64 - FRAME_BITS; /* among the remembered stacks, from 1; 0: empty */
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
static struct node *nodes_find(const struct nodes *nodes, uint64_t parent, uint64_t frame)
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
	if (frame >> FRAME_BITS)
		return 0; /* no recording lasts so long */
	node = nodes_find(nodes, parent, frame);
	if (node->number)
		return nodes->forgotten + node->number;
	if (nodes->count == NODES_MAX)
		nodes_forget(nodes);
	if (nodes->count >= nodes->n_slots / 2 && !grow(nodes))
		return 0;
	node = nodes_find(nodes, parent, frame);
	*node = (struct node){parent, frame, ++nodes->count};
	*added = true;
	return nodes->forgotten + node->number;
}

bool nodes_know(const struct nodes *nodes, uint64_t id)
{
	return id > nodes->forgotten;
}
