/* SPDX-License-Identifier: BSD-2-Clause */
/* parts.c: the CPU time of the parts of collectors' work, by the stacks of timer samples. */
#include "parts.h"

#include <errno.h>
#include <stdlib.h>

#include "../../util/map.h"
#include "../world/world.h"

#define PRIOR_SAMPLES 50

/* For the sums. */
struct adder {
	struct world *world;
	uint8_t *of_frames; /* by frame: 1 + enum gc_part; 0: not looked for yet */
};

void parts_free(struct parts *parts)
{
	free(parts->items);
	map_free(parts->index);
}

int parts_unselected(struct parts *parts, const struct record_cpu *record)
{
	uint64_t *number;

	if (!record->stack)
		return 0;
	if (!parts->index)
		parts->index = map_create(sizeof(record->stack));
	number = parts->index ? map_put(parts->index, &record->stack, NULL) : NULL;
	if (!number ||
	    array_reserve(&parts->items, &parts->capacity, parts->count, sizeof(*parts->items)) < 0)
		return -ENOMEM;
	if (!*number) {
		parts->items[parts->count++] = (struct part_cost){.stack = record->stack};
		*number = parts->count;
	}
	parts->items[*number - 1].samples += record_cpu_ticks(record);
	parts->items[*number - 1].ns += record->ns;
	return 0;
}

static bool has_parts(const struct world *world)
{
	const struct runtimes *runtimes = &world->runtimes;

	for (size_t i = 0; i < runtimes->count; i++)
		for (int part = 0; part < GC_PARTS; part++)
			if (runtimes->rows[i].parts[part])
				return true;
	return false;
}

/* That of the innermost function that has one; GC_PARTS: none. */
static enum gc_part part_of_frame(struct adder *adder, uint32_t id)
{
	const struct tree *tree = &adder->world->tree;
	const struct frame *frame = tree_frame(tree, id);
	enum gc_part part = GC_PARTS, found;

	if (adder->of_frames[id])
		return (enum gc_part)(adder->of_frames[id] - 1);
	for (uint32_t i = frame ? frame->first_symbol : 0; i; i = tree->symbols[i].next) {
		found = runtimes_part(&adder->world->runtimes, tree->symbols[i].name);
		part = found < GC_PARTS ? found : part;
	}
	adder->of_frames[id] = (uint8_t)(part + 1);
	return part;
}

static void add(struct adder *adder, const struct part_cost *cost)
{
	struct model_gc *gc = &adder->world->model->gc;
	const struct stack *node = tree_node(&adder->world->tree, cost->stack);
	enum gc_part part = GC_PARTS;

	while (node && part == GC_PARTS) {
		part = part_of_frame(adder, node->frame);
		node = tree_node(&adder->world->tree, node->parent);
	}
	if (part == GC_PARTS)
		return;
	gc->parts_ns[part] += cost->ns;
	gc->parts_samples += cost->samples;
}

int parts_finish(const struct parts *parts, struct world *world)
{
	const struct tree *tree = &world->tree;
	struct adder adder = {.world = world};

	if (!has_parts(world))
		return 0;
	adder.of_frames = calloc(tree->frames.limit + 1, 1);
	if (!adder.of_frames)
		return -ENOMEM;
	for (size_t i = 1; i < tree->n_costs; i++)
		if (tree->costs[i].cpu_ns)
			add(&adder,
			    &(struct part_cost){tree->costs[i].stack, tree->costs[i].cpu_samples,
						tree->costs[i].cpu_ns});
	for (size_t i = 0; i < parts->count; i++)
		add(&adder, &parts->items[i]);
	free(adder.of_frames);
	return 0;
}

double parts_copying(const struct model_gc *gc)
{
	double all = 0, copying, young, samples;

	for (int part = 0; part < GC_PARTS; part++)
		all += (double)gc->parts_ns[part];
	copying = (double)gc->parts_ns[GC_COPYING] + (double)gc->parts_ns[GC_CARDS];
	young = copying + (double)gc->parts_ns[GC_ROOTS];
	if (young <= 0)
		return -1;
	samples = (double)gc->parts_samples * young / all;
	return (copying / young * samples + PRIOR_SAMPLES / 2.0) / (samples + PRIOR_SAMPLES);
}
