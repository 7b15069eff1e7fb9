/* SPDX-License-Identifier: BSD-2-Clause */
/* world.c: what events refer to. */
#include "world.h"

#include <errno.h>
#include <stdlib.h>

int model_world_init(struct world *world, struct model *model)
{
	*world = (struct world){.model = model};
	tasks_init(&world->tasks);
	if (tree_init(&world->tree, model->arena) < 0 || type_table_init(&world->types) < 0 ||
	    gc_names_init(&world->gc_names) < 0)
		return -ENOMEM;
	return 0;
}

void model_world_free(struct world *world)
{
	tree_free(&world->tree);
	tasks_free(&world->tasks);
	type_table_free(&world->types);
	gc_names_free(&world->gc_names);
	runtimes_free(&world->runtimes);
	free(world->functions.rows);
	free(world->functions.sums);
	free(world->functions.of_frames);
}
