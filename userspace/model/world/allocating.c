/* SPDX-License-Identifier: BSD-2-Clause */
/* allocating.c: finds the function that allocated, outside of the allocator's own functions. */
#include "allocating.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../util/path_base.h"

enum {
	ALLOCATOR_FRAMES_MAX = 16, /* limit for an allocator's slow path */
	ALLOCATOR_GAP_MAX = 3,     /* other frames between two of the allocator's */
};

bool is_own_frame(const struct tree *tree, const struct frame *frame)
{
	const struct module *module =
		frame->runtime == RUNTIME_NATIVE ? dense_get(&tree->modules, frame->module) : NULL;

	return module && frame->address - module->own < module->own_size;
}

bool is_own_inline(const struct symbol_name *symbol)
{
	const char *name = symbol->file ? path_base(symbol->file) : "";

	return strcmp(name, "gc_inline.h") == 0 || strcmp(name, "provider.h") == 0;
}

enum allocators allocators_of(const struct tree *tree, const struct frame *frame, const char *name)
{
	if (!is_own_frame(tree, frame))
		return ALLOCATORS_NONE;
	return strncmp(name, "gcprof_runtime_", 15) == 0 ? ALLOCATORS_RUNTIME : ALLOCATORS_OWN;
}

/*
 * For an allocator called by a runtime: finds the caller of the runtime, in the program or a
 * library. Skips frames of the runtime's own file if there is another frame outside of them.
 */
static uint32_t skip_runtime(const struct tree *tree, uint32_t stack)
{
	uint32_t number = tree_frame(tree, tree_node(tree, stack)->frame)->module;
	const struct module *module = dense_get(&tree->modules, number);

	if (!module || module->generated_by)
		return stack;
	for (uint32_t id = stack; id; id = tree_node(tree, id)->parent) {
		const struct frame *frame = tree_frame(tree, tree_node(tree, id)->frame);

		if (frame->runtime != RUNTIME_NATIVE || frame->module != number)
			return id;
	}
	return stack;
}

uint32_t allocating_caller(const struct tree *tree, uint32_t stack)
{
	enum allocators outermost = ALLOCATORS_NONE;
	uint32_t result = stack;
	int gap = 0;

	for (uint32_t id = stack, i = 0; id && i < ALLOCATOR_FRAMES_MAX; i++) {
		const struct stack *node = tree_node(tree, id);
		const struct frame *frame = tree_frame(tree, node->frame);

		if (frame->runtime == RUNTIME_MANAGED)
			break;
		if (frame->allocators) {
			gap = 0;
			outermost = frame->allocators;
			result = node->parent ? node->parent : id;
		} else if (++gap > ALLOCATOR_GAP_MAX) {
			break;
		}
		id = node->parent;
	}
	return outermost == ALLOCATORS_RUNTIME ? skip_runtime(tree, result) : result;
}

/* The nearest caller with functions of the program; if there is none, the stack itself. */
static uint32_t skip_library(const struct tree *tree, uint32_t stack)
{
	for (uint32_t id = stack; id; id = tree_node(tree, id)->parent)
		if (tree_frame(tree, tree_node(tree, id)->frame)->n_own)
			return id;
	return stack;
}

uint32_t allocating_stack(const struct tree *tree, uint32_t stack)
{
	const struct stack *node = tree_node(tree, stack);
	uint32_t site = node && node->cost ? tree_life_of(tree, &tree->costs[node->cost])->site : 0;

	return site ? site : skip_library(tree, allocating_caller(tree, stack));
}

int allocating_prepare(struct tree *tree)
{
	uint32_t *shortened = calloc(tree->nodes.limit + 1, sizeof(*shortened));
	int error = shortened ? 0 : -ENOMEM;

	for (size_t i = 1; i < tree->n_costs && !error; i++) {
		struct cost *cost = &tree->costs[i];
		const struct frame *frame;
		uint32_t site;

		if (!cost->life || !cost->stack)
			continue;
		site = allocating_stack(tree, cost->stack);
		frame = tree_frame(tree, tree_node(tree, site)->frame);
		if (frame->n_own && frame->n_own < frame->n_functions) {
			if (!shortened[site])
				shortened[site] = tree_shorten(tree, site, frame->n_own);
			site = shortened[site];
		}
		error = site ? 0 : -ENOMEM;
		tree->lives.items[cost->life].site = site;
	}
	free(shortened);
	return error;
}
