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
	const char *header = symbol->file ? path_base(symbol->file) : "";

	return (strcmp(header, "gc_inline.h") == 0 && strncmp(symbol->name, "gc_", 3) == 0) ||
	       (strcmp(header, "provider.h") == 0 && strncmp(symbol->name, "gcprof_", 7) == 0);
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
	uint32_t site = skip_library(tree, allocating_caller(tree, stack));

	return site < tree->n_shortened && tree->shortened[site] ? tree->shortened[site] : site;
}

int allocating_prepare(struct tree *tree)
{
	size_t nodes = tree->nodes.limit;

	for (size_t i = 1; i < tree->n_costs; i++) {
		const struct cost *cost = &tree->costs[i];
		uint32_t site = cost->life && cost->stack ? allocating_stack(tree, cost->stack) : 0;
		const struct frame *frame = site ? tree_frame(tree, tree_node(tree, site)->frame)
						 : NULL;

		if (!frame || !frame->n_own || frame->n_own == frame->n_functions || site >= nodes)
			continue;
		if (!tree->shortened) {
			tree->shortened = calloc(nodes, sizeof(*tree->shortened));
			tree->n_shortened = tree->shortened ? nodes : 0;
		}
		if (!tree->shortened)
			return -ENOMEM;
		tree->shortened[site] = tree_shorten(tree, site, frame->n_own);
		if (!tree->shortened[site])
			return -ENOMEM;
	}
	return 0;
}
