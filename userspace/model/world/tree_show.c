/* SPDX-License-Identifier: BSD-2-Clause */
/* tree_show.c: keeps only frames of one kind on the stacks, or only a part of a frame. */
/*
 * A stack whose frame is hidden is replaced by its nearest shown caller, and its costs move
 * there. If no frame remains, they become costs without a stack.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tree.h"

static bool is_shown(const struct tree *tree, const struct frame *frame, enum model_frames frames)
{
	const struct module *module = dense_get(&tree->modules, frame->module);
	bool managed = frame->runtime == RUNTIME_MANAGED || (module && module->generated_by);

	return frames == MODEL_FRAMES_ALL || managed == (frames == MODEL_FRAMES_MANAGED);
}

/* Decides a stack and its undecided callers, outermost first. */
static void resolve_path(struct tree *tree, uint32_t id, enum model_frames frames)
{
	uint32_t path[STACK_NODES_MAX + 1], depth = 0;

	for (; id && !tree->shown[id]; id = tree_node(tree, id)->parent)
		path[depth++] = id;
	while (depth) {
		struct stack *node = tree_node(tree, path[--depth]);
		uint32_t shown;

		node->parent = tree_shown(tree, node->parent);
		shown = is_shown(tree, tree_frame(tree, node->frame), frames) ? path[depth]
									      : node->parent;
		tree->shown[path[depth]] = shown + 1;
	}
}

/* Moves a cost to those without a stack. */
static int move_cost(struct tree *tree, struct cost *from)
{
	struct cost *to = &tree->costs[0];
	struct cost_rest *rest = tree_rest(tree, 0);
	const struct cost_rest *moved = tree_rest_of(tree, from);

	if (!rest)
		return -ENOMEM;
	cost_add_samples(to, from->cpu_samples, from->cpu_ns);
	rest->syscall_ns += moved->syscall_ns;
	rest->off_cpu_ns += moved->off_cpu_ns;
	rest->faults += moved->faults;
	rest->gc_faults += moved->gc_faults;
	if (from->life && !tree_life(tree, 0))
		return -ENOMEM;
	if (from->life)
		stack_life_join(&tree->lives, to->life, from->life);
	memset(from, 0, sizeof(*from));
	return 0;
}

int tree_show(struct tree *tree, enum model_frames frames)
{
	int error = 0;

	big_free(tree->marks, tree->marks_capacity, sizeof(*tree->marks));
	tree->marks = NULL;
	tree->marks_capacity = 0;
	if (frames == MODEL_FRAMES_ALL)
		return 0;
	tree->shown = calloc(tree->nodes.limit + 1, sizeof(*tree->shown));
	if (!tree->shown)
		return -ENOMEM;
	for (uint64_t id = 1; id < tree->nodes.limit; id++)
		if (tree_node(tree, id))
			resolve_path(tree, (uint32_t)id, frames);
	for (size_t i = 1; i < tree->n_costs && !error; i++) {
		tree->costs[i].stack = tree_shown(tree, tree->costs[i].stack);
		if (!tree->costs[i].stack && i != tree->unselected)
			error = move_cost(tree, &tree->costs[i]);
	}
	return error;
}

uint32_t tree_shorten(struct tree *tree, uint32_t stack, uint32_t n_functions)
{
	uint64_t id = tree->nodes.limit, frame_id = tree->frames.limit;
	struct stack *node = dense_define(&tree->nodes, id);
	struct frame *frame = dense_define(&tree->frames, frame_id);
	uint32_t *shown = tree->shown;

	if (shown)
		shown = realloc(shown, (id + 2) * sizeof(*shown));
	if (!node || !frame || id >= UINT32_MAX || frame_id >= UINT32_MAX ||
	    (tree->shown && !shown))
		return 0;
	if (shown)
		shown[id] = (uint32_t)id + 1;
	tree->shown = shown;
	*node = *tree_node(tree, stack);
	*frame = *tree_frame(tree, node->frame);
	frame->n_functions = frame->n_own = n_functions;
	node->frame = (uint32_t)frame_id;
	node->cost = 0;
	return (uint32_t)id;
}
