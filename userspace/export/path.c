/* SPDX-License-Identifier: BSD-2-Clause */
/* path.c: the functions of a stack, bounded. */
#include "path.h"

size_t path_functions(const struct pass *pass, uint32_t stack, uint32_t rows[PATH_FUNCTIONS_MAX])
{
	const struct tree *tree = &pass->tree;
	size_t used = 0;

	for (const struct stack *node = tree_node(tree, stack); node;
	     node = tree_node(tree, node->parent)) {
		uint32_t first, count = frame_functions(tree_frame(tree, node->frame), &first);

		for (uint32_t i = count; i-- && used < PATH_FUNCTIONS_MAX;)
			rows[used++] = pass->functions.of_frames[first + i];
	}
	return used;
}
