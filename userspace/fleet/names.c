/* SPDX-License-Identifier: BSD-2-Clause */
/* names.c: IDs of functions and stacks that are the same on all machines. */
/*
 * A function is identified as in reports: by runtime, module (for managed functions the source) and
 * name. A stack is identified by its functions, not by lines or addresses, so different builds
 * share it. The hashes are not cryptographic: a program that chooses its names can make two of its
 * own stacks collide. It cannot affect those of another service.
 */
#include "names.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "../model/rows/sites.h"
#include "../model/world/allocating.h"
#include "../model/world/text.h"
#include "../model/world/world.h"
#include "hash.h"

enum { STACK_MAX = 4096 }; /* functions per stack */

struct fleet_names {
	const struct world *world;
	uint64_t *functions; /* hashes by row of world->functions */
	uint64_t *stacks;    /* hashes by node; 0: no stack */
	uint64_t path[STACK_MAX];
};

static uint64_t function_hash(const char *runtime, const char *module, const char *file,
			      const char *name)
{
	uint64_t hash = hash_bytes(HASH_START, runtime, strlen(runtime) + 1);

	if (file && !strcmp(runtime, "managed"))
		module = file;
	hash = hash_bytes(hash, module ? module : "", module ? strlen(module) + 1 : 1);
	return hash_end(hash_bytes(hash, name, strlen(name)));
}

/* Hash of a stack with one more callee; HASH_START: of an empty stack. */
static uint64_t stack_hash(uint64_t stack, uint64_t function)
{
	return hash_end(hash_bytes(stack, &function, sizeof(function)));
}

static uint64_t rest_function(const char *name)
{
	return function_hash(runtime_name(RUNTIME_NATIVE), NULL, NULL, name);
}

uint64_t fleet_rest_stack(const char *name)
{
	return stack_hash(HASH_START, rest_function(name));
}

static void hash_all(struct fleet_names *names)
{
	const struct functions *functions = &names->world->functions;
	const struct tree *tree = &names->world->tree;

	for (size_t i = 0; i < functions->n_rows; i++) {
		const struct model_function *row = &functions->rows[i];

		names->functions[i] = function_hash(runtime_name(row->runtime), row->module,
						    row->file, row->name);
	}
	/* Callers precede their callees. */
	for (uint64_t id = 1; id < tree->nodes.limit; id++) {
		const struct stack *node = tree_node(tree, id);
		const struct frame *frame = node ? tree_frame(tree, node->frame) : NULL;
		uint64_t hash = HASH_START;

		if (!frame)
			continue;
		if (node->parent)
			hash = names->stacks[node->parent];
		for (uint32_t i = 0; i < frame->n_functions; i++)
			hash = stack_hash(
				hash,
				names->functions[functions->of_frames[frame->first_function + i]]);
		names->stacks[id] = hash;
	}
}

static struct fleet_names *names_of(sqlite3_context *context)
{
	return sqlite3_user_data(context);
}

/* The node with the id in an SQL argument; 0: none. */
static uint32_t node_of(const struct fleet_names *names, sqlite3_value *value)
{
	int64_t id = sqlite3_value_int64(value);

	return id > 0 && tree_node(&names->world->tree, (uint64_t)id) ? (uint32_t)id : 0;
}

static const char *text_of(sqlite3_value *value)
{
	return (const char *)sqlite3_value_text(value);
}

static void stack_id(sqlite3_context *context, int count, sqlite3_value **values)
{
	const struct fleet_names *names = names_of(context);
	uint32_t node = node_of(names, values[0]);

	(void)count;
	if (node)
		sqlite3_result_int64(context, (int64_t)names->stacks[node]);
}

static void rest_id(sqlite3_context *context, int count, sqlite3_value **values)
{
	const char *name = text_of(values[0]);

	(void)count;
	sqlite3_result_int64(context, (int64_t)fleet_rest_stack(name ? name : ""));
}

static void function_id(sqlite3_context *context, int count, sqlite3_value **values)
{
	const char *runtime = text_of(values[0]), *name = text_of(values[3]);

	(void)count;
	if (runtime && name)
		sqlite3_result_int64(context, (int64_t)function_hash(runtime, text_of(values[1]),
								     text_of(values[2]), name));
}

static void stack_functions(sqlite3_context *context, int count, sqlite3_value **values)
{
	struct fleet_names *names = names_of(context);
	const struct functions *functions = &names->world->functions;
	const struct tree *tree = &names->world->tree;
	size_t n = 0;

	(void)count;
	for (uint32_t id = node_of(names, values[0]); id; id = tree_node(tree, id)->parent) {
		const struct frame *frame = tree_frame(tree, tree_node(tree, id)->frame);

		for (uint32_t i = frame->n_functions; i-- && n < STACK_MAX;)
			names->path[n++] =
				names->functions[functions->of_frames[frame->first_function + i]];
	}
	sqlite3_result_blob(context, names->path, (int)(n * sizeof(*names->path)),
			    SQLITE_TRANSIENT);
}

/* As in reports: the function that allocates, and its nearest callers. */
static void stack_site(sqlite3_context *context, int count, sqlite3_value **values)
{
	struct fleet_names *names = names_of(context);
	uint32_t functions[SITE_FUNCTIONS] = {0};
	size_t n = 0;

	(void)count;
	sites_functions(names->world, node_of(names, values[0]), functions);
	while (n < SITE_FUNCTIONS && functions[n]) {
		names->path[n] = names->functions[functions[n] - 1];
		n++;
	}
	sqlite3_result_blob(context, names->path, (int)(n * sizeof(*names->path)),
			    SQLITE_TRANSIENT);
}

static void rest_functions(sqlite3_context *context, int count, sqlite3_value **values)
{
	const char *name = text_of(values[0]);
	uint64_t function = rest_function(name ? name : "");

	(void)count;
	sqlite3_result_blob(context, &function, sizeof(function), SQLITE_TRANSIENT);
}

/* Collection time per byte that the stack allocated. */
static void gc_rate(sqlite3_context *context, int count, sqlite3_value **values)
{
	const struct fleet_names *names = names_of(context);
	const struct tree *tree = &names->world->tree;
	uint32_t node = node_of(names, values[0]);
	const struct cost *cost = &tree->costs[node ? tree_node(tree, node)->cost : 0];
	const struct stack_life *life = tree_life_of(tree, cost);

	(void)count;
	sqlite3_result_double(context, life->bytes.value > 0 ? life->gc_ns / life->bytes.value : 0);
}

int fleet_names_create(const struct world *world, struct sqlite3 *connection,
		       struct fleet_names **out)
{
	static const struct {
		const char *name;
		int arguments;
		void (*call)(sqlite3_context *, int, sqlite3_value **);
	} rows[] = {
		{"stack_id", 1, stack_id},       {"rest_id", 1, rest_id},
		{"function_id", 4, function_id}, {"stack_functions", 1, stack_functions},
		{"stack_site", 1, stack_site},   {"rest_functions", 1, rest_functions},
		{"gc_rate", 1, gc_rate},
	};
	struct fleet_names *names = calloc(1, sizeof(*names));
	int err = -ENOMEM;

	if (!names)
		return -ENOMEM;
	names->world = world;
	names->functions = calloc(world->functions.n_rows + 1, sizeof(*names->functions));
	names->stacks = calloc(world->tree.nodes.limit + 1, sizeof(*names->stacks));
	if (!names->functions || !names->stacks)
		goto out;
	hash_all(names);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (sqlite3_create_function(connection, rows[i].name, rows[i].arguments,
					    SQLITE_UTF8 | SQLITE_DETERMINISTIC, names, rows[i].call,
					    NULL, NULL) != SQLITE_OK)
			goto out;
	*out = names;
	err = 0;
out:
	if (err)
		fleet_names_free(names);
	return err;
}

void fleet_names_free(struct fleet_names *names)
{
	if (!names)
		return;
	free(names->functions);
	free(names->stacks);
	free(names);
}
