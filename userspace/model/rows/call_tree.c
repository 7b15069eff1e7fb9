/* SPDX-License-Identifier: BSD-2-Clause */
/* call_tree.c: who calls whom: stacks merged by function, from either end. */
#include "call_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../util/map.h"
#include "../select/filter.h"
#include "../world/allocating.h"
#include "../world/arena.h"
#include "../world/world.h"

enum { PATH_MAX_ROWS = 4 * STACK_NODES_MAX };

struct edge {
	uint32_t parent, row;
};

struct work {
	const struct world *world;
	const struct call_builder *builder;
	struct map *index;     /* struct edge -> node */
	unsigned char *wanted; /* by row: is it selected? NULL for a tree */
	uint32_t *path;        /* rows of a stack, innermost first */
	size_t length;
	struct call_ends *ends; /* by cost; NULL: not needed */
};

double call_value(const struct call_cost *cost, enum call_measure measure)
{
	switch (measure) {
	case CALLS_CPU:
		return cost->cpu_ns;
	case CALLS_ALLOC:
		return cost->alloc_bytes;
	case CALLS_GC:
		return cost->gc_ns;
	case CALLS_SYSCALLS:
		return cost->syscall_ns;
	case CALLS_SURVIVED:
		return cost->survived_bytes;
	case CALLS_LIVE:
		return cost->live_bytes;
	default:
		return cost->off_cpu_ns;
	}
}

static void add_cost(struct call_cost *into, const struct call_cost *cost)
{
	into->cpu_ns += cost->cpu_ns;
	into->alloc_bytes += cost->alloc_bytes;
	into->survived_bytes += cost->survived_bytes;
	into->live_bytes += cost->live_bytes;
	into->gc_ns += cost->gc_ns;
	into->syscall_ns += cost->syscall_ns;
	into->off_cpu_ns += cost->off_cpu_ns;
}

static void read_path(struct work *work, uint32_t stack)
{
	const struct functions *functions = &work->world->functions;
	const struct tree *tree = &work->world->tree;

	work->length = 0;
	for (uint32_t id = stack; id; id = tree_node(tree, id)->parent) {
		const struct frame *frame = tree_frame(tree, tree_node(tree, id)->frame);

		for (uint32_t i = frame->n_functions; i-- && work->length < PATH_MAX_ROWS;)
			work->path[work->length++] =
				functions->of_frames[frame->first_function + i];
	}
}

/* The child of a node, created if needed; -ENOMEM. */
static int64_t find_child(struct work *work, uint32_t parent, uint32_t row)
{
	struct call_tree *tree = work->builder->tree;
	const struct model_function *function = &work->world->functions.rows[row];
	struct edge edge = {parent, row};
	uint64_t *number = map_put(work->index, &edge, NULL);
	struct call_node *node;

	if (!number || tree->count >= UINT32_MAX ||
	    array_reserve(&tree->nodes, &tree->capacity, tree->count, sizeof(*tree->nodes)) < 0)
		return -ENOMEM;
	if (!*number) {
		*number = tree->count++;
		node = &tree->nodes[*number];
		node->name = function->name;
		node->module = function->module;
		node->runtime = (uint8_t)function->runtime;
		node->work = (uint8_t)function->work;
		node->next = tree->nodes[parent].first_child;
		tree->nodes[parent].first_child = (uint32_t)*number;
	}
	return (int64_t)*number;
}

/*
 * Index of the selected function on the path, -1: none. With recursion, the one that gives the
 * longest part.
 */
static int64_t find_wanted(const struct work *work)
{
	bool outermost = work->builder->kind == CALLS_CALLEES;
	int64_t found = -1;

	for (size_t i = 0; i < work->length; i++) {
		if (!work->wanted[work->path[i]])
			continue;
		found = (int64_t)i;
		if (!outermost)
			break;
	}
	return found;
}

/* Adds the path from `start` to its end, in steps of 1 or -1. Returns the last node, or -ENOMEM. */
static int64_t add_steps(struct work *work, int64_t start, int step, const struct call_cost *cost)
{
	struct call_tree *tree = work->builder->tree;
	int64_t node = 0, at = start;

	add_cost(&tree->nodes[0].total, cost);
	for (int depth = 0; depth < CALLS_DEPTH_MAX && at >= 0 && at < (int64_t)work->length;
	     depth++, at += step) {
		node = find_child(work, (uint32_t)node, work->path[at]);
		if (node < 0)
			return -ENOMEM;
		add_cost(&tree->nodes[node].total, cost);
	}
	if (at < 0 || at >= (int64_t)work->length)
		add_cost(&tree->nodes[node].self, cost);
	return node;
}

static int64_t add_path(struct work *work, uint32_t stack, const struct call_cost *cost)
{
	int64_t start;

	read_path(work, stack);
	if (!work->length)
		return 0;
	if (work->builder->kind == CALLS_TREE)
		return add_steps(work, (int64_t)work->length - 1, -1, cost);
	start = find_wanted(work);
	if (start < 0)
		return 0;
	return add_steps(work, start, work->builder->kind == CALLS_CALLERS ? 1 : -1, cost);
}

/* Time and allocation may end in different functions, because the allocator's own are left out. */
static int add_stack(struct work *work, const struct cost *cost)
{
	const struct cost_rest *rest = tree_rest_of(&work->world->tree, cost);
	struct call_cost time = {.cpu_ns = (double)cost->cpu_ns,
				 .syscall_ns = (double)rest->syscall_ns,
				 .off_cpu_ns = (double)rest->off_cpu_ns};
	const struct stack_life *life = tree_life_of(&work->world->tree, cost);
	struct call_cost memory = {.alloc_bytes = life->bytes.value,
				   .survived_bytes = life->survived.some,
				   .live_bytes =
					   stack_life_live(&work->world->tree.lives, cost->life),
				   .gc_ns = life->gc_ns};
	int64_t in = 0, by = 0;

	if (cost->cpu_samples || rest->syscall_ns || rest->off_cpu_ns)
		in = add_path(work, cost->stack, &time);
	if (in >= 0 && (memory.alloc_bytes > 0 || memory.gc_ns > 0))
		by = add_path(work, allocating_stack(&work->world->tree, cost->stack), &memory);
	if (in < 0 || by < 0)
		return -ENOMEM;
	if (work->ends)
		work->ends[cost - work->world->tree.costs] =
			(struct call_ends){(uint32_t)in, (uint32_t)by};
	return 0;
}

static int add_all(struct work *work)
{
	const struct world *world = work->world;
	struct call_tree *tree = work->builder->tree;
	int error = 0;

	if (array_reserve(&tree->nodes, &tree->capacity, 0, sizeof(*tree->nodes)) < 0)
		return -ENOMEM;
	tree->count = 1;
	for (size_t i = 1; i < world->tree.n_costs && !error; i++)
		error = add_stack(work, &world->tree.costs[i]);
	return error;
}

static int mark_wanted(struct work *work)
{
	const struct functions *functions = &work->world->functions;

	if (work->builder->kind == CALLS_TREE)
		return 0;
	work->wanted = calloc(functions->n_rows + 1, 1);
	if (!work->wanted)
		return -ENOMEM;
	for (size_t i = 0; i < functions->n_rows; i++)
		work->wanted[i] = filter_matches(work->builder->pattern, functions->rows[i].name);
	return 0;
}

static int build(struct model_observer *observer, const struct world *world)
{
	struct call_builder *builder = (struct call_builder *)observer;
	struct work work = {.world = world,
			    .builder = builder,
			    .index = map_create(sizeof(struct edge)),
			    .path = calloc(PATH_MAX_ROWS, sizeof(*work.path))};
	struct call_moments *moments = builder->moments;
	int error = work.index && work.path ? mark_wanted(&work) : -ENOMEM;

	if (moments)
		work.ends = calloc(world->tree.n_costs + 1, sizeof(*work.ends));
	if (moments && !work.ends)
		error = -ENOMEM;
	if (!error)
		error = add_all(&work);
	if (!error && moments)
		call_moments_finish(moments, world, work.ends);
	free(work.ends);
	builder->model = world->model;
	free(work.wanted);
	free(work.path);
	map_free(work.index);
	return error;
}

static int record_event(struct model_observer *observer, const struct world *world,
			const struct event *event)
{
	struct call_moments *moments = ((struct call_builder *)observer)->moments;

	return moments ? call_moments_record(moments, world, event) : 0;
}

void call_builder_init(struct call_builder *builder, enum call_kind kind, const char *pattern,
		       struct call_tree *tree)
{
	*builder =
		(struct call_builder){{record_event, build, NULL}, kind, pattern, tree, NULL, NULL};
}

struct child {
	double value;
	uint32_t number;
};

static int by_value(const void *a, const void *b)
{
	const struct child *x = a, *y = b;

	if (x->value != y->value)
		return x->value < y->value ? 1 : -1;
	return x->number < y->number ? -1 : x->number > y->number;
}

int call_tree_sort(struct call_tree *tree, enum call_measure measure)
{
	struct child *children = calloc(tree->count + 1, sizeof(*children));

	if (!children)
		return -ENOMEM;
	for (size_t i = 0; i < tree->count; i++) {
		uint32_t *link = &tree->nodes[i].first_child;
		size_t count = 0;

		for (uint32_t at = *link; at; at = tree->nodes[at].next)
			children[count++] =
				(struct child){call_value(&tree->nodes[at].total, measure), at};
		qsort(children, count, sizeof(*children), by_value);
		for (size_t j = 0; j < count; j++) {
			*link = children[j].number;
			link = &tree->nodes[children[j].number].next;
		}
		*link = 0;
	}
	free(children);
	return 0;
}

void call_tree_free(struct call_tree *tree)
{
	free(tree->nodes);
	*tree = (struct call_tree){0};
}
