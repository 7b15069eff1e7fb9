/* SPDX-License-Identifier: BSD-2-Clause */
/* time_groups.c: the rows of alike threads: where their wall time went. */
#include "thread_rows.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../util/map.h"
#include "../world/world.h"

enum { NAME_SIZE = 256 };

/* "worker-12" becomes "worker-#". NULL: no memory. */
static const char *plain_name(struct arena *arena, const char *name)
{
	char *plain = arena_alloc(arena, NAME_SIZE), *to = plain;

	while (plain && *name && to < plain + NAME_SIZE - 1) {
		*to++ = isdigit((unsigned char)*name) ? '#' : *name;
		name += isdigit((unsigned char)*name) ? strspn(name, "0123456789") : 1;
	}
	if (plain)
		*to = '\0';
	return plain;
}

/* The group of these names, perhaps new; NULL: no memory. */
static struct model_time_group *group_of(struct model *model, struct map *index,
					 const char *program, const char *thread)
{
	const char *name = plain_name(model->arena, thread);
	const char *key[2] = {program, name};
	char text[2 * NAME_SIZE];
	size_t size = 0;
	uint64_t *number;

	for (int i = 0; name && i < 2; i++)
		size += (size_t)snprintf(text + size, NAME_SIZE, "%s", key[i]) + 1;
	number = name ? map_put_string(index, text, size, NULL) : NULL;
	if (!number)
		return NULL;
	if (!*number) {
		model->time_groups[model->n_time_groups++] =
			(struct model_time_group){.name = name, .program = program};
		*number = model->n_time_groups;
	}
	return &model->time_groups[*number - 1];
}

static void add(struct model_time_group *group, const struct model_thread *thread)
{
	group->threads++;
	group->serving += thread->serves;
	group->wall_ns += thread->wall_ns;
	for (int i = 0; i < TIME_PARTS; i++)
		group->time[i] += thread->time[i];
}

static uint64_t lost(const struct model_time_group *group)
{
	return group->wall_ns - group->time[TIME_IDLE] - group->time[TIME_UNRECORDED];
}

static int by_time(const void *a, const void *b)
{
	const struct model_time_group *x = a, *y = b;

	if (!x->serving != !y->serving)
		return x->serving ? -1 : 1;
	if (lost(x) != lost(y))
		return lost(x) < lost(y) ? 1 : -1;
	return strcmp(x->name, y->name);
}

int time_groups_finish(struct world *world)
{
	struct model *model = world->model;
	struct map *index = map_create(MAP_STRING_KEYS);
	int err = index ? 0 : -ENOMEM;

	model->time_groups = calloc(model->n_threads + 1, sizeof(*model->time_groups));
	if (!model->time_groups)
		err = -ENOMEM;
	for (size_t i = 0; i < model->n_threads && !err; i++) {
		const struct model_thread *thread = &model->threads[i];
		const char *program = tasks_find_process(&world->tasks, thread->process)->name;
		struct model_time_group *group;

		if (!thread->ended)
			continue;
		group = group_of(model, index, program ? program : "?",
				 thread->name ? thread->name : "?");
		if (group)
			add(group, thread);
		err = group ? 0 : -ENOMEM;
	}
	map_free(index);
	if (!err)
		qsort(model->time_groups, model->n_time_groups, sizeof(*model->time_groups),
		      by_time);
	return err;
}
