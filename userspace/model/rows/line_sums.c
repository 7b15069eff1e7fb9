/* SPDX-License-Identifier: BSD-2-Clause */
/* line_sums.c: the costs of the source lines of functions. */
#include "line_sums.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../util/map.h"
#include "../select/filter.h"
#include "../world/allocating.h"
#include "../world/arena.h"
#include "../world/world.h"

struct key {
	uint64_t row, line;
};

struct work {
	const struct world *world;
	struct line_sums *sums;
	struct map *index;     /* struct key -> number of a line and 1 */
	unsigned char *wanted; /* by row of a function */
	size_t stack;          /* a number for each walk */
};

/* The line of one of a frame's functions. */
static uint64_t line_of(const struct tree *tree, const struct frame *frame, uint32_t function)
{
	uint32_t symbol = frame->first_symbol;

	if (frame->runtime == RUNTIME_MANAGED)
		return frame->line;
	for (; symbol && function; function--)
		symbol = tree->symbols[symbol].next;
	return symbol ? tree->symbols[symbol].line : 0;
}

/* NULL: no memory. */
static struct line_sum *find_line(struct work *work, uint32_t row, uint64_t line)
{
	const struct model_function *function = &work->world->functions.rows[row];
	struct line_sums *sums = work->sums;
	struct key key = {row, line};
	uint64_t *number = map_put(work->index, &key, NULL);

	if (!number ||
	    array_reserve(&sums->rows, &sums->capacity, sums->count, sizeof(*sums->rows)) < 0)
		return NULL;
	if (!*number) {
		sums->rows[sums->count] = (struct line_sum){.function = row,
							    .name = function->name,
							    .file = function->file,
							    .begin = function->line,
							    .line = line};
		*number = ++sums->count;
	}
	return &sums->rows[*number - 1];
}

/* Adds a stack's costs to its lines, once to each. */
static int add_stack(struct work *work, uint32_t stack, double cpu_ns, double bytes)
{
	const struct functions *functions = &work->world->functions;
	const struct tree *tree = &work->world->tree;
	bool innermost = true;

	work->stack++;
	for (uint32_t id = stack; id; id = tree_node(tree, id)->parent) {
		const struct frame *frame = tree_frame(tree, tree_node(tree, id)->frame);

		for (uint32_t i = frame->n_functions; i--; innermost = false) {
			uint32_t row = functions->of_frames[frame->first_function + i];
			struct line_sum *sum;

			if (!work->wanted[row])
				continue;
			sum = find_line(work, row, line_of(tree, frame, i));
			if (!sum)
				return -ENOMEM;
			sum->self_ns += innermost ? cpu_ns : 0;
			if (sum->last == work->stack)
				continue;
			sum->last = work->stack;
			sum->total_ns += cpu_ns;
			sum->alloc_bytes += bytes;
		}
	}
	return 0;
}

static int add_all(struct work *work)
{
	const struct tree *tree = &work->world->tree;
	int err = 0;

	for (size_t i = 1; i < tree->n_costs && !err; i++) {
		const struct cost *cost = &tree->costs[i];
		double bytes = tree_life_of(tree, cost)->bytes.value;

		if (cost->cpu_ns)
			err = add_stack(work, cost->stack, (double)cost->cpu_ns, 0);
		if (!err && bytes > 0)
			err = add_stack(work, allocating_stack(tree, cost->stack), 0, bytes);
	}
	return err;
}

static int by_line(const void *a, const void *b)
{
	const struct line_sum *x = a, *y = b;

	if (x->function != y->function)
		return x->function < y->function ? -1 : 1;
	return x->line < y->line ? -1 : x->line > y->line;
}

static int build(struct model_observer *observer, const struct world *world)
{
	const struct line_builder *builder = (struct line_builder *)observer;
	const struct functions *functions = &world->functions;
	struct line_sums *sums = builder->sums;
	struct work work = {.world = world,
			    .sums = sums,
			    .index = map_create(sizeof(struct key)),
			    .wanted = calloc(functions->n_rows + 1, 1)};
	int err = work.index && work.wanted ? 0 : -ENOMEM;

	for (size_t i = 0; i < functions->n_rows && !err; i++)
		work.wanted[i] = filter_matches(builder->pattern, functions->rows[i].name);
	err = err ? err : add_all(&work);
	if (sums->count)
		qsort(sums->rows, sums->count, sizeof(*sums->rows), by_line);
	free(work.wanted);
	map_free(work.index);
	return err;
}

static int record_nothing(struct model_observer *observer, const struct world *world,
			  const struct event *event)
{
	(void)observer, (void)world, (void)event;
	return 0;
}

void line_builder_init(struct line_builder *builder, const char *pattern, struct line_sums *sums)
{
	*builder = (struct line_builder){{record_nothing, build, NULL}, pattern, sums};
}

void line_sums_free(struct line_sums *sums)
{
	free(sums->rows);
	*sums = (struct line_sums){0};
}
