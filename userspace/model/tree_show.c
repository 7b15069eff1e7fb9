/* SPDX-License-Identifier: BSD-2-Clause */
/* tree_show.c: leaves only the frames of one kind on the stacks. */
/*
 * A stack whose frame is not shown stands for the next of its callers that is.
 * Costs move there; those of stacks of which nothing is left are costs of none.
 */
#include <string.h>

#include "tree.h"

static bool is_shown(const struct tree *tree, const struct frame *frame, enum model_frames frames)
{
	const struct module *module = dense_get(&tree->modules, frame->module);
	bool managed = frame->runtime == RUNTIME_MANAGED || (module && module->generated);

	return frames == MODEL_FRAMES_ALL || managed == (frames == MODEL_FRAMES_MANAGED);
}

/* Settles a stack and those of its callers that are not, the outermost first. */
static void settle_path(struct tree *tree, uint32_t id, enum model_frames frames)
{
	uint32_t path[STACK_NODES_MAX + 1], depth = 0;

	for (; id && !tree_node(tree, id)->settled; id = tree_node(tree, id)->parent)
		path[depth++] = id;
	while (depth) {
		struct stack *node = tree_node(tree, path[--depth]);

		node->parent = tree_shown(tree, node->parent);
		node->shown = is_shown(tree, tree_frame(tree, node->frame), frames) ? path[depth]
										    : node->parent;
		node->settled = true;
	}
}

static void add_cost(struct cost *to, struct cost *from)
{
	to->cpu_samples += from->cpu_samples;
	to->alloc_bytes += from->alloc_bytes;
	to->known_bytes += from->known_bytes;
	to->survived_bytes += from->survived_bytes;
	to->gc_ns += from->gc_ns;
	to->syscall_ns += from->syscall_ns;
	memset(from, 0, sizeof(*from));
}

void tree_show(struct tree *tree, enum model_frames frames)
{
	if (frames == MODEL_FRAMES_ALL)
		return;
	for (uint64_t id = 1; id < tree->nodes.limit; id++)
		if (tree_node(tree, id))
			settle_path(tree, (uint32_t)id, frames);
	for (size_t i = 1; i < tree->n_costs; i++) {
		tree->costs[i].stack = tree_shown(tree, tree->costs[i].stack);
		if (!tree->costs[i].stack)
			add_cost(&tree->costs[0], &tree->costs[i]);
	}
}
