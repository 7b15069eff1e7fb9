/* SPDX-License-Identifier: BSD-2-Clause */
/* tree.c: strings, modules, frames and the tree of stacks, as a profile defines them. */
#include "tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../util/map.h"
#include "../../util/path_base.h"
#include "text.h"

/*
 * In tree->marks: the depth, whether the result of tree_begins_properly() is known, and the
 * result.
 */
enum { MARK_DEPTH = 0x3fff, MARK_KNOWN = 0x8000, MARK_PROPER = 0x4000 };

_Static_assert(STACK_NODES_MAX <= MARK_DEPTH, "depths have room");

struct code_key {
	uint64_t process, code;
};

int tree_init(struct tree *tree, struct arena *arena)
{
	memset(tree, 0, sizeof(*tree));
	tree->arena = arena;
	tree->strings.item_size = sizeof(const char *);
	tree->modules.item_size = sizeof(struct module);
	tree->frames.item_size = sizeof(struct frame);
	tree->nodes.item_size = sizeof(struct stack);
	tree->n_symbols = tree->n_costs = tree->n_codes = 1;
	tree->code_index = map_create(sizeof(struct code_key));
	tree->n_rests = 1;
	if (!tree->code_index ||
	    big_reserve(&tree->costs, &tree->costs_capacity, 0, sizeof(*tree->costs)) < 0 ||
	    array_reserve(&tree->rests, &tree->rests_capacity, 0, sizeof(*tree->rests)) < 0 ||
	    stack_lives_init(&tree->lives) < 0)
		return -ENOMEM;
	/* The rest of cost 0 always exists, so adding to it cannot fail. */
	return tree_rest(tree, 0) ? 0 : -ENOMEM;
}

void tree_free(struct tree *tree)
{
	dense_free(&tree->strings);
	dense_free(&tree->modules);
	dense_free(&tree->frames);
	dense_free(&tree->nodes);
	free(tree->symbols);
	big_free(tree->costs, tree->costs_capacity, sizeof(*tree->costs));
	stack_lives_free(&tree->lives);
	free(tree->rests);
	big_free(tree->marks, tree->marks_capacity, sizeof(*tree->marks));
	free(tree->shown);
	free(tree->shortened);
	free(tree->codes);
	map_free(tree->code_index);
}

const char *tree_text(const struct tree *tree, uint64_t string)
{
	const char **text = dense_get(&tree->strings, string);

	return text ? *text : NULL;
}

int tree_string(struct tree *tree, const struct record_string *record)
{
	const char **text = dense_define(&tree->strings, record->id);

	if (!text)
		return -errno;
	if (*text)
		return -EBADMSG;
	*text = name_clean(tree->arena, record->text);
	return *text ? 0 : -ENOMEM;
}

int tree_module(struct tree *tree, const struct record_module *record)
{
	struct module *module = dense_define(&tree->modules, record->id);
	unsigned char *build_id;

	if (!module)
		return -errno;
	if (module->defined || record->build_id.size > NAME_SIZE_MAX)
		return -EBADMSG;
	module->path = tree_text(tree, record->path);
	if (record->build_id.size) {
		build_id = arena_alloc(tree->arena, record->build_id.size);
		if (!build_id)
			return -ENOMEM;
		memcpy(build_id, record->build_id.data, record->build_id.size);
		module->build_id = build_id;
		module->build_id_size = record->build_id.size;
	}
	if (module->path) {
		module->base = path_base(module->path);
		module->starts_threads = strncmp(module->base, "libc.so", 7) == 0 ||
					 strncmp(module->base, "libc-", 5) == 0 ||
					 strncmp(module->base, "ld-linux", 8) == 0;
	}
	module->stamp =
		(struct file_stamp){record->device, record->inode, record->size, record->changed};
	module->user = record->user;
	module->own = record->own;
	module->own_size = record->own_size;
	module->generated_by = record->process;
	module->defined = true;
	return 0;
}

/* A new frame; NULL with the error in *error. */
static struct frame *new_frame(struct tree *tree, uint64_t id, enum runtime runtime, int *error)
{
	struct frame *frame = dense_define(&tree->frames, id);

	*error = frame ? 0 : -errno;
	if (!frame)
		return NULL;
	if (frame->runtime) {
		*error = -EBADMSG;
		return NULL;
	}
	frame->runtime = runtime;
	return frame;
}

int tree_native(struct tree *tree, const struct record_native_frame *record)
{
	int error;
	struct frame *frame = new_frame(tree, record->id, RUNTIME_NATIVE, &error);

	if (!frame)
		return error;
	if (record->module && record->module < tree->modules.limit)
		frame->module = (uint32_t)record->module;
	frame->address = record->offset;
	return 0;
}

int tree_kernel(struct tree *tree, const struct record_kernel_frame *record)
{
	int error;

	return new_frame(tree, record->id, RUNTIME_KERNEL, &error) ? 0 : error;
}

int tree_managed(struct tree *tree, const struct record_managed_frame *record)
{
	int error;
	struct frame *frame = new_frame(tree, record->id, RUNTIME_MANAGED, &error);

	if (!frame)
		return error;
	frame->address = record->code;
	frame->process = record->process < UINT32_MAX ? (uint32_t)record->process : 0;
	frame->line = record->line < UINT32_MAX ? (uint32_t)record->line : 0;
	return 0;
}

unsigned tree_depth(const struct tree *tree, uint64_t stack)
{
	unsigned depth = 0;

	for (; stack; stack = tree_node(tree, stack)->parent)
		depth++;
	return depth;
}

/* 0: no such node. */
static unsigned marked_depth(const struct tree *tree, uint64_t stack)
{
	return stack && stack < tree->nodes.limit ? tree->marks[stack] & MARK_DEPTH : 0;
}

int tree_stack(struct tree *tree, const struct record_stack *record)
{
	struct stack *node = dense_define(&tree->nodes, record->id);
	unsigned depth;

	if (!node)
		return -errno;
	/* Every allocated id has a mark, refused or not. */
	if (big_reserve(&tree->marks, &tree->marks_capacity, record->id, sizeof(*tree->marks)) < 0)
		return -ENOMEM;
	depth = marked_depth(tree, record->parent);
	/* Ids are assigned in order: tree_order() relies on it. */
	if (node->frame || !tree_frame(tree, record->frame) || (record->parent && !depth) ||
	    record->parent >= record->id || depth >= STACK_NODES_MAX)
		return -EBADMSG;
	node->parent = (uint32_t)record->parent;
	node->frame = (uint32_t)record->frame;
	tree->marks[record->id] = (uint16_t)(depth + 1);
	return 0;
}

static int chain_symbol(struct tree *tree, struct frame *frame, const struct symbol_name *name)
{
	size_t number = tree->n_symbols;

	if (number >= UINT32_MAX ||
	    array_reserve(&tree->symbols, &tree->symbols_capacity, number, sizeof(*name)) < 0)
		return -ENOMEM;
	tree->symbols[number] = *name;
	if (frame->last_symbol)
		tree->symbols[frame->last_symbol].next = (uint32_t)number;
	else
		frame->first_symbol = (uint32_t)number;
	frame->last_symbol = (uint32_t)number;
	tree->n_symbols++;
	return 0;
}

int tree_symbol(struct tree *tree, const struct record_symbol *record)
{
	struct frame *frame = tree_frame(tree, record->frame);
	struct symbol_name name = {.line = record->line, .begin = record->begin};

	name.name = tree_text(tree, record->name);
	name.file = tree_text(tree, record->file);
	if (!frame || !name.name || !*name.name || frame->runtime == RUNTIME_MANAGED)
		return -EBADMSG;
	return chain_symbol(tree, frame, &name);
}

int tree_add_symbol(struct tree *tree, struct frame *frame, const struct symbol_name *symbol)
{
	struct symbol_name name = *symbol;

	name.next = 0;
	name.name = name_clean(tree->arena, (struct bytes){name.name, strlen(name.name)});
	if (name.file)
		name.file = name_clean(tree->arena, (struct bytes){name.file, strlen(name.file)});
	if (!name.name || (symbol->file && !name.file))
		return -ENOMEM;
	return chain_symbol(tree, frame, &name);
}

int tree_code(struct tree *tree, const struct record_code *record)
{
	struct code_key key = {record->process, record->code};
	struct code_name *code;
	uint64_t *number = map_put(tree->code_index, &key, NULL);

	if (!number ||
	    array_reserve(&tree->codes, &tree->codes_capacity, tree->n_codes, sizeof(*code)) < 0)
		return -ENOMEM;
	if (!*number)
		*number = tree->n_codes++;
	code = &tree->codes[*number];
	code->name = tree_text(tree, record->name);
	code->file = tree_text(tree, record->file);
	code->line = record->line;
	return 0;
}

const struct code_name *tree_find_code(const struct tree *tree, uint64_t process, uint64_t code)
{
	struct code_key key = {process, code};
	const uint64_t *number = map_get(tree->code_index, &key);

	return number && *number ? &tree->codes[*number] : NULL;
}

int64_t tree_cost(struct tree *tree, uint64_t stack)
{
	struct stack *node = tree_node(tree, stack);

	if (!node || node->cost)
		return node ? node->cost : 0;
	if (big_reserve(&tree->costs, &tree->costs_capacity, tree->n_costs, sizeof(*tree->costs)) <
	    0)
		return -ENOMEM;
	node->cost = (uint32_t)tree->n_costs++;
	tree->costs[node->cost].stack = (uint32_t)stack;
	return node->cost;
}

int64_t tree_unselected(struct tree *tree)
{
	if (tree->unselected)
		return tree->unselected;
	if (big_reserve(&tree->costs, &tree->costs_capacity, tree->n_costs, sizeof(*tree->costs)) <
	    0)
		return -ENOMEM;
	tree->unselected = (uint32_t)tree->n_costs++;
	return tree->unselected;
}

void tree_forget_unselected(struct tree *tree)
{
	if (tree->unselected)
		tree->costs[tree->unselected].life = 0;
}

uint32_t tree_life(struct tree *tree, uint32_t cost)
{
	uint32_t *number = &tree->costs[cost].life;

	if (!*number)
		*number = stack_lives_add(&tree->lives);
	return *number;
}

struct cost_rest *tree_rest(struct tree *tree, uint32_t cost)
{
	uint32_t *number = &tree->costs[cost].rest;

	if (!*number) {
		if (tree->n_rests >= UINT32_MAX ||
		    array_reserve(&tree->rests, &tree->rests_capacity, tree->n_rests,
				  sizeof(*tree->rests)) < 0)
			return NULL;
		*number = (uint32_t)tree->n_rests++;
	}
	return &tree->rests[*number];
}

/* At least two native frames, the outermost where threads begin. */
static bool begins_properly(const struct tree *tree, uint64_t stack)
{
	const struct frame *frame = NULL;
	const struct module *module;
	unsigned natives = 0;

	for (; stack; stack = tree_node(tree, stack)->parent) {
		frame = tree_frame(tree, tree_node(tree, stack)->frame);
		natives += frame->runtime == RUNTIME_NATIVE;
	}
	if (natives < 2 || frame->runtime != RUNTIME_NATIVE)
		return false;
	module = dense_get(&tree->modules, frame->module);
	return module && module->starts_threads;
}

bool tree_begins_properly(struct tree *tree, uint64_t stack)
{
	uint16_t *mark;

	if (!tree_node(tree, stack))
		return false;
	mark = &tree->marks[stack];
	if (!(*mark & MARK_KNOWN))
		*mark |= MARK_KNOWN | (begins_properly(tree, stack) ? MARK_PROPER : 0);
	return *mark & MARK_PROPER;
}

bool tree_has_generated(const struct tree *tree, uint64_t stack)
{
	for (; stack && tree_node(tree, stack); stack = tree_node(tree, stack)->parent) {
		const struct frame *frame = tree_frame(tree, tree_node(tree, stack)->frame);
		const struct module *module = dense_get(&tree->modules, frame->module);

		if (module && module->generated_by)
			return true;
	}
	return false;
}

/*
 * First, the costs at and below each node are counted, children before parents: the number of
 * entries that a node needs. Then parents assign entries to their children and keep the rest for
 * their own costs. This takes two passes over all nodes in memory order, without recursion.
 */

/* The first free entry of each node; NULL: no memory. */
static uint32_t *give_places(const struct tree *tree)
{
	const struct stack *nodes = (const struct stack *)tree->nodes.items;
	uint64_t limit = tree->nodes.limit;
	uint32_t *places = calloc(limit + 1, sizeof(*places));

	if (!places)
		return NULL;
	for (size_t i = 1; i < tree->n_costs; i++)
		places[tree->costs[i].stack]++;
	places[0] = 0;
	for (uint64_t id = limit; id-- > 1;)
		if (nodes[id].parent)
			places[nodes[id].parent] += places[id];
	for (uint64_t id = 1; id < limit; id++) {
		uint32_t count = places[id], parent = nodes[id].parent;

		places[id] = places[parent];
		places[parent] += count;
	}
	return places;
}

uint32_t *tree_order(const struct tree *tree, size_t *count)
{
	uint32_t *places = give_places(tree);
	uint32_t *order = places ? malloc(tree->n_costs * sizeof(*order)) : NULL;

	*count = places ? places[0] : 0;
	/* In reverse, so that callers come first. */
	for (size_t i = 1; order && i < tree->n_costs; i++)
		if (tree->costs[i].stack)
			order[*count - ++places[tree->costs[i].stack]] = (uint32_t)i;
	free(places);
	return order;
}

/*
 * A stack whose frame is hidden is replaced by its nearest shown caller, and its costs move
 * there. If no frame remains, they become costs without a stack.
 */

static bool is_shown(const struct tree *tree, const struct frame *frame, enum model_frames frames)
{
	const struct module *module = dense_get(&tree->modules, frame->module);
	bool managed = frame->runtime == RUNTIME_MANAGED || (module && module->generated_by);

	return frames == MODEL_FRAMES_ALL || managed == (frames == MODEL_FRAMES_MANAGED);
}

/* Decides a stack and its undecided callers, outermost first. */
static void resolve_path(struct tree *tree, uint32_t id, enum model_frames frames)
{
	uint32_t path[STACK_NODES_MAX + 1], depth = 0;

	for (; id && !tree->shown[id]; id = tree_node(tree, id)->parent)
		path[depth++] = id;
	while (depth) {
		struct stack *node = tree_node(tree, path[--depth]);
		uint32_t shown;

		node->parent = tree_shown(tree, node->parent);
		shown = is_shown(tree, tree_frame(tree, node->frame), frames) ? path[depth]
									      : node->parent;
		tree->shown[path[depth]] = shown + 1;
	}
}

/* Moves a cost to those without a stack. */
static int move_cost(struct tree *tree, struct cost *from)
{
	struct cost *to = &tree->costs[0];
	struct cost_rest *rest = tree_rest(tree, 0);
	const struct cost_rest *moved = tree_rest_of(tree, from);

	if (!rest)
		return -ENOMEM;
	cost_add_samples(to, from->cpu_samples, from->cpu_ns);
	rest->syscall_ns += moved->syscall_ns;
	rest->off_cpu_ns += moved->off_cpu_ns;
	rest->faults += moved->faults;
	rest->gc_faults += moved->gc_faults;
	if (from->life && !tree_life(tree, 0))
		return -ENOMEM;
	if (from->life)
		stack_life_join(&tree->lives, to->life, from->life);
	memset(from, 0, sizeof(*from));
	return 0;
}

int tree_show(struct tree *tree, enum model_frames frames)
{
	int error = 0;

	big_free(tree->marks, tree->marks_capacity, sizeof(*tree->marks));
	tree->marks = NULL;
	tree->marks_capacity = 0;
	if (frames == MODEL_FRAMES_ALL)
		return 0;
	tree->shown = calloc(tree->nodes.limit + 1, sizeof(*tree->shown));
	if (!tree->shown)
		return -ENOMEM;
	for (uint64_t id = 1; id < tree->nodes.limit; id++)
		if (tree_node(tree, id))
			resolve_path(tree, (uint32_t)id, frames);
	for (size_t i = 1; i < tree->n_costs && !error; i++) {
		tree->costs[i].stack = tree_shown(tree, tree->costs[i].stack);
		if (!tree->costs[i].stack && i != tree->unselected)
			error = move_cost(tree, &tree->costs[i]);
	}
	return error;
}

uint32_t tree_shorten(struct tree *tree, uint32_t stack, uint32_t n_functions)
{
	uint64_t id = tree->nodes.limit, frame_id = tree->frames.limit;
	struct stack *node = dense_define(&tree->nodes, id);
	struct frame *frame = dense_define(&tree->frames, frame_id);
	uint32_t *shown = tree->shown;

	if (shown)
		shown = realloc(shown, (id + 2) * sizeof(*shown));
	if (!node || !frame || id >= UINT32_MAX || frame_id >= UINT32_MAX ||
	    (tree->shown && !shown))
		return 0;
	if (shown)
		shown[id] = (uint32_t)id + 1;
	tree->shown = shown;
	*node = *tree_node(tree, stack);
	*frame = *tree_frame(tree, node->frame);
	frame->n_functions = frame->n_own = n_functions;
	node->frame = (uint32_t)frame_id;
	node->cost = 0;
	return (uint32_t)id;
}
