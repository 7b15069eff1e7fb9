/* SPDX-License-Identifier: BSD-2-Clause */
/* symbolize.c: names frames that a killed recorder left unnamed. */
/*
 * Both the profile and the files that it refers to are untrusted. So a reader process
 * (userspace/reader) parses the files, one at a time, with all of the frames in it.
 */
#include "functions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../reader/client.h"
#include "../world/world.h"

/* A frame without a name. */
struct unnamed_frame {
	uint32_t module, frame;
};

/* The frames of one request to the reader process. */
struct module_frames {
	struct tree *tree;
	const struct unnamed_frame *frames;
};

static bool is_unnamed(const struct frame *frame)
{
	return frame && !frame->first_symbol && frame->runtime == RUNTIME_NATIVE;
}

static int compare(const void *left, const void *right)
{
	const struct unnamed_frame *a = left, *b = right;

	if (a->module != b->module)
		return a->module < b->module ? -1 : 1;
	return a->frame < b->frame ? -1 : a->frame > b->frame;
}

/* All unnamed frames, sorted by module. The caller frees it; NULL: none, or no memory. */
static struct unnamed_frame *collect(const struct tree *tree, size_t *count)
{
	struct unnamed_frame *all;
	size_t n = 0;

	for (uint64_t id = 1; id < tree->frames.limit; id++)
		n += is_unnamed(tree_frame(tree, id));
	*count = n;
	all = n ? calloc(n, sizeof(*all)) : NULL;
	if (!all)
		return NULL;
	n = 0;
	for (uint64_t id = 1; id < tree->frames.limit; id++) {
		const struct frame *frame = tree_frame(tree, id);

		if (is_unnamed(frame))
			all[n++] = (struct unnamed_frame){frame->module, (uint32_t)id};
	}
	qsort(all, n, sizeof(*all), compare);
	return all;
}

static int add_names(void *context, size_t place, const struct symbol *symbols, size_t n)
{
	const struct module_frames *request = context;
	struct frame *frame = tree_frame(request->tree, request->frames[place].frame);
	int error = 0;

	for (size_t i = 0; i < n && !error; i++) {
		struct symbol_name name = {.name = symbols[i].name,
					   .file = symbols[i].file,
					   .line = symbols[i].line,
					   .begin = symbols[i].begin};

		error = tree_add_symbol(request->tree, frame, &name);
	}
	return error;
}

static int name_module(struct world *world, struct names_client *client,
		       const struct unnamed_frame *frames, size_t n)
{
	struct tree *tree = &world->tree;
	const struct module *module = dense_get(&tree->modules, frames[0].module);
	struct module_frames request = {tree, frames};
	struct names_file file;
	struct name_place *places;
	int error;

	if (!module || !module->path || *module->path != '/' ||
	    module->build_id_size > BUILD_ID_MAX)
		return 0;
	if (!module->build_id_size && !module->stamp.changed) {
		names_explain(module->path, -ENODATA);
		return 0;
	}
	file = (struct names_file){0,
				   module->path,
				   module->build_id,
				   module->build_id_size,
				   module->stamp.changed ? &module->stamp : NULL,
				   model_user(world->model)};
	places = calloc(n, sizeof(*places));
	if (!places)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		places[i].place = tree_frame(tree, frames[i].frame)->address;
	error = names_client_ask(client, &file, places, n, add_names, &request);
	free(places);
	return error;
}

int symbolize_missing(struct world *world)
{
	struct tree *tree = &world->tree;
	struct names_client *client = NULL;
	struct unnamed_frame *all;
	size_t count, end;
	int error;

	/* A recorder that ended normally has named everything that it could. */
	if (world->model->state == PROFILE_COMPLETE || world->model->state == PROFILE_LARGE ||
	    !model_is_of_this_host(&world->model->run))
		return 0;
	all = collect(tree, &count);
	if (!all)
		return count ? -ENOMEM : 0;
	error = names_client_create(&client);
	for (size_t at = 0; at < count && !error; at = end) {
		for (end = at; end < count && all[end].module == all[at].module;)
			end++;
		error = name_module(world, client, &all[at], end - at);
	}
	names_client_free(client);
	free(all);
	return error;
}
