/* SPDX-License-Identifier: BSD-2-Clause */
/* path.c: the functions of a stack, with a bounded number. */
#include "path.h"

size_t path_functions(const struct world *world, uint32_t stack,
		      struct path_function out[PATH_FUNCTIONS_MAX])
{
	const struct tree *tree = &world->tree;
	size_t used = 0;

	for (const struct stack *node = tree_node(tree, stack); node;
	     node = tree_node(tree, node->parent)) {
		const struct frame *frame = tree_frame(tree, node->frame);
		uint32_t first, count = frame_functions(frame, &first);

		for (uint32_t i = first + count; i-- > first && used < PATH_FUNCTIONS_MAX;)
			out[used++] = (struct path_function){world->functions.of_frames[i],
							     i > frame->first_function};
	}
	return used;
}
