/* SPDX-License-Identifier: BSD-2-Clause */
/* sites.c: where objects are allocated: one row for a function and its nearest callers. */
#include "sites.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../util/map.h"
#include "arena.h"
#include "pass.h"

/* Rows of the table of functions plus 1, the allocating one first; 0: no more. */
struct site_key {
	uint32_t functions[SITE_FUNCTIONS + 1]; /* the last one is 0: no padding */
};

struct site {
	struct site_key key;
	double gc_ns;
	struct life life;
};

struct site_list {
	struct site *items;
	size_t count, capacity;
	struct map *index;
};

/* The innermost functions of the stack that allocated, without direct recursion. */
static struct site_key key_of(const struct pass *pass, uint32_t stack)
{
	const struct tree *tree = &pass->tree;
	struct site_key key = {{0}};
	size_t used = 0;

	for (uint32_t id = functions_allocating(pass, stack); id;
	     id = tree_node(tree, id)->parent) {
		const struct frame *frame = tree_frame(tree, tree_node(tree, id)->frame);

		for (uint32_t i = frame->n_functions; i--;) {
			uint32_t row = pass->functions.of_frames[frame->first_function + i] + 1;

			if (used && key.functions[used - 1] == row)
				continue;
			if (used == SITE_FUNCTIONS)
				return key;
			key.functions[used++] = row;
		}
	}
	return key;
}

static int add_cost(const struct pass *pass, const struct cost *cost, struct site_list *list)
{
	struct site_key key = key_of(pass, cost->stack);
	struct site *site;
	uint64_t *number;
	bool added;

	number = map_put(list->index, &key, &added);
	if (!number ||
	    array_reserve(&list->items, &list->capacity, list->count, sizeof(*list->items)) < 0)
		return -ENOMEM;
	if (added)
		*number = list->count++;
	site = &list->items[*number];
	site->key = key;
	site->gc_ns += cost->gc_ns;
	life_merge(&site->life, &pass->tree.lives[cost->life]);
	return 0;
}

static void add_row(const struct pass *pass, const struct site *site)
{
	const struct functions *functions = &pass->functions;
	const struct type *type = &pass->types.items[site->life.type];
	struct model_site *row = &pass->model->sites[pass->model->n_sites++];

	for (int i = 0; i < SITE_FUNCTIONS && site->key.functions[i]; i++)
		row->functions[i] = functions->rows[site->key.functions[i] - 1].name;
	if (row->functions[0]) {
		row->file = functions->rows[site->key.functions[0] - 1].file;
		row->line = functions->rows[site->key.functions[0] - 1].line;
	} else {
		row->functions[0] = "(no stack)";
	}
	row->type = site->life.mixed ? NULL : type->name;
	row->gc_ns = site->gc_ns;
	row->bytes = tally_estimate(&site->life.bytes);
	row->survived = share_estimate(&site->life.survived);
	row->life = site->life;
}

static int by_cost(const void *a, const void *b)
{
	const struct model_site *x = a, *y = b;

	if (x->gc_ns != y->gc_ns)
		return x->gc_ns < y->gc_ns ? 1 : -1;
	if (x->bytes.value != y->bytes.value)
		return x->bytes.value < y->bytes.value ? 1 : -1;
	return strcmp(x->functions[0], y->functions[0]);
}

int sites_finish(struct pass *pass)
{
	struct site_list list = {.index = map_create(sizeof(struct site_key))};
	struct model *model = pass->model;
	int error = list.index ? 0 : -ENOMEM;

	for (size_t i = 0; i < pass->tree.n_costs && !error; i++)
		if (pass->tree.costs[i].life && (!i || i != pass->tree.trash))
			error = add_cost(pass, &pass->tree.costs[i], &list);
	if (!error) {
		model->sites = calloc(list.count + 1, sizeof(*model->sites));
		error = model->sites ? 0 : -ENOMEM;
	}
	for (size_t i = 0; i < list.count && !error; i++)
		add_row(pass, &list.items[i]);
	if (!error && model->n_sites)
		qsort(model->sites, model->n_sites, sizeof(*model->sites), by_cost);
	free(list.items);
	map_free(list.index);
	return error;
}
