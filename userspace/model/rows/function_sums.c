/* SPDX-License-Identifier: BSD-2-Clause */
/* function_sums.c: sums over all stacks that contain a function. */
/*
 * There may be millions of stacks that share most of their callers. They are visited in an order
 * that keeps stacks with common callers together, so the path from one to the next changes only a
 * few nodes. When the walk leaves a node, the sums of the node and its callees are complete. They
 * are added to the caller's and to the function's. If a function is on the path several times
 * (recursion), only the outermost occurrence counts, which includes the others.
 */
#include "function_sums.h"

#include <errno.h>
#include <stdlib.h>

#include "../world/allocating.h"
#include "../world/world.h"
#include "library.h"

/* A node of the path, with the sums of itself and of the callees left so far. */
struct step {
	uint32_t node;
	uint32_t entry; /* row of the function that the path begins with, plus 1; 0: none */
	struct sums sums;
};

struct walk {
	const struct world *world;
	size_t depth;
	enum work_kind work;                /* kind of work on the current path, */
	size_t work_depth;                  /* set by this step */
	struct step steps[STACK_NODES_MAX]; /* outermost first */
	uint32_t path[STACK_NODES_MAX];     /* nodes of the next path, innermost first */
};

void sums_add_time(struct sums *sums, const struct tree *tree, const struct cost *cost)
{
	const struct cost_rest *rest = tree_rest_of(tree, cost);

	sums->cpu_samples += cost->cpu_samples;
	sums->cpu_ns += cost->cpu_ns;
	sums->syscall_ns += rest->syscall_ns;
	sums->off_cpu_ns += rest->off_cpu_ns;
	sums->faults += rest->faults;
	sums->gc_faults += rest->gc_faults;
}

void sums_add_life(struct sums *sums, const struct tree *tree, const struct cost *cost)
{
	const struct stack_life *life = tree_life_of(tree, cost);

	caused_add(&sums->caused, &tree->lives, cost->life);
	tally_merge(&sums->bytes, &life->bytes);
	share_merge(&sums->survived, &life->survived);
}

static void add_sums(struct sums *into, const struct sums *sums)
{
	into->cpu_samples += sums->cpu_samples;
	into->cpu_ns += sums->cpu_ns;
	into->syscall_ns += sums->syscall_ns;
	into->off_cpu_ns += sums->off_cpu_ns;
	into->faults += sums->faults;
	into->gc_faults += sums->gc_faults;
	caused_merge(&into->caused, &sums->caused);
	tally_merge(&into->bytes, &sums->bytes);
	share_merge(&into->survived, &sums->survived);
}

static const struct frame *frame_of(const struct walk *walk, uint32_t node)
{
	const struct tree *tree = &walk->world->tree;

	return tree_frame(tree, tree_node(tree, node)->frame);
}

/* The sums of the i-th function of a frame, outermost first. */
static struct function_sums *sums_of(const struct walk *walk, const struct frame *frame, uint32_t i)
{
	const struct functions *functions = &walk->world->functions;

	return &functions->sums[functions->of_frames[frame->first_function + i]];
}

static void enter(struct walk *walk, uint32_t node)
{
	const struct frame *frame = frame_of(walk, node);
	struct step *step = &walk->steps[walk->depth];

	*step = (struct step){.node = node, .entry = walk->depth ? step[-1].entry : 0};
	walk->depth++;
	for (uint32_t i = 0; i < frame->n_functions; i++) {
		struct function_sums *sums = sums_of(walk, frame, i);

		if (!step->entry && !sums->starter && frame->runtime != RUNTIME_KERNEL)
			step->entry = (uint32_t)(sums - walk->world->functions.sums) + 1;
		sums->on_path++;
		if (!walk->work && sums->work) {
			walk->work = (enum work_kind)sums->work;
			walk->work_depth = walk->depth;
		}
		sums->works |= (uint8_t)(1 << walk->work);
	}
}

static void leave(struct walk *walk)
{
	const struct step *step = &walk->steps[--walk->depth];
	const struct frame *frame = frame_of(walk, step->node);

	if (walk->depth < walk->work_depth) {
		walk->work = WORK_PROGRAM;
		walk->work_depth = 0;
	}
	for (uint32_t i = 0; i < frame->n_functions; i++) {
		struct function_sums *sums = sums_of(walk, frame, i);

		if (!--sums->on_path)
			add_sums(&sums->total, &step->sums);
	}
	if (walk->depth)
		add_sums(&walk->steps[walk->depth - 1].sums, &step->sums);
}

/* Moves to a stack; 0: leaves all nodes. */
static void go_to(struct walk *walk, uint32_t stack)
{
	const struct tree *tree = &walk->world->tree;
	size_t length = 0, common = 0;

	for (uint32_t id = stack; id; id = tree_node(tree, id)->parent)
		walk->path[length++] = id;
	while (common < length && common < walk->depth &&
	       walk->steps[common].node == walk->path[length - 1 - common])
		common++;
	while (walk->depth > common)
		leave(walk);
	while (walk->depth < length)
		enter(walk, walk->path[length - 1 - walk->depth]);
}

/* Self sums belong to the innermost function of a step. */
static struct sums *self_of(const struct walk *walk, uint32_t node)
{
	const struct frame *frame = frame_of(walk, node);

	return &sums_of(walk, frame, frame->n_functions - 1)->self;
}

/* Time and allocation may end in different functions, because the allocator's own are left out. */
static void add_cost(struct walk *walk, const struct cost *cost)
{
	const struct tree *tree = &walk->world->tree;
	struct step *step = &walk->steps[walk->depth - 1];
	const struct functions *functions = &walk->world->functions;
	struct sums *begun =
		&functions->sums[step->entry ? step->entry - 1 : functions->n_rows].begun;
	uint32_t caller;

	walk->world->model->cpu.work_ns[walk->work] +=
		cost->cpu_ns - tree_rest_of(tree, cost)->gc_cpu_ns;
	sums_add_time(&step->sums, tree, cost);
	sums_add_time(self_of(walk, step->node), tree, cost);
	sums_add_time(begun, tree, cost);
	if (!cost->life)
		return;
	sums_add_life(begun, tree, cost);
	caller = allocating_caller(tree, cost->stack);
	while (step->node != caller)
		step--;
	sums_add_life(&step->sums, tree, cost);
	sums_add_life(self_of(walk, allocating_stack(tree, cost->stack)), tree, cost);
}

int function_sums_make(struct world *world)
{
	const struct tree *tree = &world->tree;
	size_t n = 0;
	uint32_t *order = tree_order(tree, &n);
	struct walk *walk = calloc(1, sizeof(*walk));
	int error = -ENOMEM;

	world->functions.sums = calloc(world->functions.n_rows + 1, sizeof(*world->functions.sums));
	if (!order || !walk || !world->functions.sums)
		goto out;
	walk->world = world;
	for (size_t i = 0; i < world->functions.n_rows; i++) {
		const char *name = world->functions.rows[i].name;

		world->functions.sums[i].work = (uint8_t)runtimes_work(&world->runtimes, name);
		world->functions.sums[i].starter = is_starter(name);
	}
	for (size_t i = 0; i < n; i++) {
		tree_prefetch(tree, order, i, n);
		go_to(walk, tree->costs[order[i]].stack);
		add_cost(walk, &tree->costs[order[i]]);
	}
	go_to(walk, 0);
	error = 0;
out:
	free(walk);
	free(order);
	return error;
}
