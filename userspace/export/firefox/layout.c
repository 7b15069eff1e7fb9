/* SPDX-License-Identifier: BSD-2-Clause */
/* layout.c: numbers the rows of the tables that all threads share. */
/*
 * Rows are numbered by arithmetic, so no table is kept in memory:
 *
 * functions  pseudo functions | type names | the model's rows
 * frames     pseudo functions | type names | for each frame its functions, outermost first
 * stacks     pseudo functions | for each stack of the profile its frame's functions |
 * for each combo the type, and below it the three survivals | for each wait its reason
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "firefox.h"

static const char no_type[] = "(unknown type)";

/* The number of a text in a list without duplicates. */
static int64_t number_text(struct map *index, const char *text, const char **list, uint32_t *count)
{
	bool added;
	uint64_t *number = map_put_string(index, text, strlen(text), &added);

	if (!number)
		return -ENOMEM;
	if (added) {
		*number = *count;
		list[(*count)++] = text;
	}
	return (int64_t)*number;
}

/* [names] Types with the same name share a function. */
static int number_types(struct firefox *firefox)
{
	const struct types *types = &firefox->world->types;
	struct layout *layout = &firefox->layout;
	struct map *index = map_create(MAP_STRING_KEYS);
	int error = -ENOMEM;

	layout->types = calloc(types->count + 1, sizeof(*layout->types));
	layout->type_names = calloc(types->count + 1, sizeof(*layout->type_names));
	if (!index || !layout->types || !layout->type_names)
		goto out;
	for (size_t i = 1; i < types->count; i++) {
		const char *name = types->items[i].name ? types->items[i].name : no_type;
		int64_t number = number_text(index, name, layout->type_names, &layout->n_types);

		if (number < 0)
			goto out;
		layout->types[i] = (uint32_t)number;
	}
	error = 0;
out:
	map_free(index);
	return error;
}

/* Source files and modules of functions. */
static int number_files(struct firefox *firefox)
{
	const struct functions *functions = &firefox->world->functions;
	struct layout *layout = &firefox->layout;
	struct map *sources = map_create(MAP_STRING_KEYS);
	struct map *modules = map_create(MAP_STRING_KEYS);
	int error = -ENOMEM;

	layout->source_of = calloc(functions->n_rows + 1, sizeof(*layout->source_of));
	layout->module_of = calloc(functions->n_rows + 1, sizeof(*layout->module_of));
	layout->sources = calloc(functions->n_rows + 1, sizeof(*layout->sources));
	layout->modules = calloc(functions->n_rows + 1, sizeof(*layout->modules));
	if (!sources || !modules || !layout->source_of || !layout->module_of || !layout->sources ||
	    !layout->modules)
		goto out;
	for (size_t i = 0; i < functions->n_rows; i++) {
		const struct model_function *row = &functions->rows[i];

		layout->source_of[i] = layout->module_of[i] = NO_FILE;
		if (row->file)
			layout->source_of[i] = number_text(sources, row->file, layout->sources,
							   &layout->n_sources);
		/* For a managed function, the module is its source file. */
		if (row->module && row->runtime != RUNTIME_MANAGED)
			layout->module_of[i] = number_text(modules, row->module, layout->modules,
							   &layout->n_modules);
		if (layout->source_of[i] == -ENOMEM || layout->module_of[i] == -ENOMEM)
			goto out;
	}
	error = 0;
out:
	map_free(sources);
	map_free(modules);
	return error;
}

static int number_frames(struct firefox *firefox)
{
	const struct world *world = firefox->world;
	struct layout *layout = &firefox->layout;
	uint64_t next = PSEUDOS + layout->n_types;
	uint32_t first;

	layout->frame_start = calloc(world->tree.frames.limit + 1, sizeof(*layout->frame_start));
	if (!layout->frame_start)
		return -ENOMEM;
	for (uint64_t id = 1; id < world->tree.frames.limit; id++) {
		const struct frame *frame = tree_frame(&world->tree, id);

		if (!frame)
			continue;
		layout->managed |= frame->runtime == RUNTIME_MANAGED;
		layout->native |= frame->runtime != RUNTIME_MANAGED;
		layout->frame_start[id] = (uint32_t)next;
		next += frame_functions(frame, &first);
		if (next > INT32_MAX)
			return -EFBIG;
	}
	layout->n_frames = (uint32_t)next;
	return 0;
}

/* Numbers `id` and those of its callers that have no number yet, outermost first. */
static int number_path(struct firefox *firefox, uint32_t id, uint64_t *next)
{
	const struct tree *tree = &firefox->world->tree;
	struct layout *layout = &firefox->layout;
	uint32_t path[STACK_NODES_MAX + 1], depth = 0, first;

	for (; id && !layout->node_leaf[id]; id = tree_node(tree, id)->parent)
		path[depth++] = id;
	while (depth) {
		const struct stack *node = tree_node(tree, path[--depth]);

		*next += frame_functions(tree_frame(tree, node->frame), &first);
		if (*next > INT32_MAX)
			return -EFBIG;
		layout->node_leaf[path[depth]] = (uint32_t)*next - 1;
		layout->node_order[layout->n_nodes++] = path[depth];
	}
	return 0;
}

/* [order] A stack may have a smaller id than its parent. */
static int number_stacks(struct firefox *firefox)
{
	const struct tree *tree = &firefox->world->tree;
	struct layout *layout = &firefox->layout;
	uint64_t next = STACKS_FIXED;
	int error = 0;

	layout->node_leaf = calloc(tree->nodes.limit + 1, sizeof(*layout->node_leaf));
	layout->node_order = calloc(tree->nodes.limit + 1, sizeof(*layout->node_order));
	if (!layout->node_leaf || !layout->node_order)
		return -ENOMEM;
	for (uint64_t id = 1; id < tree->nodes.limit && !error; id++)
		if (tree_node(tree, id))
			error = number_path(firefox, (uint32_t)id, &next);
	layout->combo_start = (uint32_t)next;
	next += firefox->n_combos * COMBO_STACKS;
	layout->wait_start = (uint32_t)next;
	next += firefox->n_wait_items;
	layout->n_stacks = (uint32_t)next;
	return next > INT32_MAX ? -EFBIG : error;
}

int firefox_layout(struct firefox *firefox)
{
	int error = number_types(firefox);

	if (!error)
		error = number_files(firefox);
	if (!error)
		error = number_frames(firefox);
	return error ? error : number_stacks(firefox);
}

void firefox_layout_free(struct layout *layout)
{
	free(layout->types);
	free(layout->type_names);
	free(layout->source_of);
	free(layout->module_of);
	free(layout->sources);
	free(layout->modules);
	free(layout->frame_start);
	free(layout->node_leaf);
	free(layout->node_order);
}

uint32_t firefox_stack(const struct firefox *firefox, uint64_t stack)
{
	uint32_t shown = tree_shown(&firefox->world->tree, stack);

	return shown ? firefox->layout.node_leaf[shown] : STACK_NONE;
}

uint32_t firefox_combo_stack(const struct firefox *firefox, uint32_t combo)
{
	return firefox->layout.combo_start + combo * COMBO_STACKS;
}

uint32_t firefox_survival_stack(const struct firefox *firefox, uint32_t combo,
				enum survival survival)
{
	return firefox_combo_stack(firefox, combo) + 1 + survival;
}

uint32_t firefox_wait_stack(const struct firefox *firefox, uint32_t wait)
{
	return firefox->layout.wait_start + wait;
}
