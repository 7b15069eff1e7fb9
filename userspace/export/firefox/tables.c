/* SPDX-License-Identifier: BSD-2-Clause */
/* tables.c: the tables of stacks and frames, numbered by firefox_layout.c. */
#include <inttypes.h>

#include "../../model/world/allocating.h"
#include "firefox.h"

void firefox_put_same(struct firefox *firefox, const char *name, const char *cell, uint64_t rows)
{
	struct column column = {firefox->job.output, false};

	output_format(column.output, "\"%s\":[", name);
	for (uint64_t row = 0; row < rows; row++)
		output_text(column_cell(&column), cell);
	output_text(column.output, "],\n");
}

struct stack_row {
	uint32_t frame, offset; /* offset: number of rows back to the parent; 0: a root */
};

typedef void visit_stack(struct column *column, const struct stack_row *row);

static void each_node(struct firefox *firefox, struct column *column, visit_stack *visit)
{
	const struct layout *layout = &firefox->layout;
	const struct tree *tree = &firefox->world->tree;
	uint32_t row = STACKS_FIXED, first;

	for (uint32_t i = 0; i < layout->n_nodes; i++) {
		const struct stack *node = tree_node(tree, layout->node_order[i]);
		uint32_t count = frame_functions(tree_frame(tree, node->frame), &first);
		uint32_t offset = node->parent ? row - layout->node_leaf[node->parent] : 0;

		for (uint32_t j = 0; j < count; j++, row++, offset = 1)
			visit(column,
			      &(struct stack_row){layout->frame_start[node->frame] + j, offset});
	}
}

static void each_combo(struct firefox *firefox, struct column *column, visit_stack *visit)
{
	const struct layout *layout = &firefox->layout;

	for (uint32_t i = 0; i < firefox->n_combos; i++) {
		const struct combo *combo = &firefox->combo_items[i];
		uint32_t site = allocating_stack(&firefox->world->tree, combo->stack);
		uint32_t parent = firefox_stack(firefox, site);
		uint32_t row = firefox_combo_stack(firefox, i);

		visit(column,
		      &(struct stack_row){PSEUDOS + layout->types[combo->type], row - parent});
		for (uint32_t j = 0; j < SURVIVALS; j++)
			visit(column, &(struct stack_row){PSEUDO_UNKNOWN + j, j + 1});
	}
}

static void each_wait(struct firefox *firefox, struct column *column, visit_stack *visit)
{
	for (uint32_t i = 0; i < firefox->n_wait_items; i++) {
		const struct wait *wait = &firefox->wait_items[i];
		uint32_t parent = firefox_stack(firefox, wait->stack);

		visit(column, &(struct stack_row){PSEUDO_WAIT + wait->reason,
						  firefox_wait_stack(firefox, i) - parent});
	}
}

/* All rows of the table in order. */
static void each_stack(struct firefox *firefox, const char *name, visit_stack *visit)
{
	static const uint32_t fixed[STACKS_FIXED] = {
		[STACK_NONE] = PSEUDO_NO_STACK,   [STACK_MINOR] = PSEUDO_MINOR,
		[STACK_MAJOR] = PSEUDO_MAJOR,     [STACK_FREED] = PSEUDO_FREED,
		[STACK_UNKNOWN] = PSEUDO_UNKNOWN, [STACK_IDLE] = PSEUDO_IDLE,
	};
	struct column column = {firefox->job.output, false};

	output_format(column.output, "\"%s\":[", name);
	for (uint32_t i = 0; i < STACKS_FIXED; i++)
		visit(&column, &(struct stack_row){fixed[i], 0});
	each_node(firefox, &column, visit);
	each_combo(firefox, &column, visit);
	each_wait(firefox, &column, visit);
	output_text(column.output, "],\n");
}

static void put_stack_frame(struct column *column, const struct stack_row *row)
{
	output_number(column_cell(column), row->frame);
}

static void put_stack_offset(struct column *column, const struct stack_row *row)
{
	output_number(column_cell(column), row->offset);
}

void firefox_put_stacks(struct firefox *firefox)
{
	output_text(firefox->job.output, "\"stackTable\":{\n");
	each_stack(firefox, "frame", put_stack_frame);
	each_stack(firefox, "prefixOffset", put_stack_offset);
	output_format(firefox->job.output, "\"length\":%u},\n", firefox->layout.n_stacks);
}

struct frame_row {
	uint32_t function, category, depth;
	uint64_t line; /* 0: unknown */
};

typedef void visit_frame(struct column *column, const struct frame_row *row);

static enum category category_of(const struct model_function *function)
{
	if (function->work != WORK_PROGRAM)
		return function->work == WORK_COMPILER ? CATEGORY_COMPILER : CATEGORY_GC;
	if (function->runtime == RUNTIME_KERNEL)
		return CATEGORY_KERNEL;
	if (function->runtime == RUNTIME_MANAGED)
		return CATEGORY_MANAGED;
	return CATEGORY_NATIVE;
}

/* The functions of one frame, outermost first, each with its line. */
static void each_function(struct firefox *firefox, const struct frame *frame, struct column *column,
			  visit_frame *visit)
{
	const struct world *world = firefox->world;
	uint32_t fixed = PSEUDOS + firefox->layout.n_types, first;
	uint32_t count = frame_functions(frame, &first), symbol = frame->first_symbol;

	for (uint32_t skip = frame->n_functions - count; skip && symbol; skip--)
		symbol = world->tree.symbols[symbol].next;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t function = world->functions.of_frames[first + i];
		struct frame_row row = {fixed + function,
					category_of(&world->functions.rows[function]), i,
					frame->line};

		if (symbol) {
			row.line = world->tree.symbols[symbol].line;
			symbol = world->tree.symbols[symbol].next;
		}
		visit(column, &row);
	}
}

static void each_frame(struct firefox *firefox, const char *name, visit_frame *visit)
{
	const struct world *world = firefox->world;
	struct column column = {firefox->job.output, false};

	output_format(column.output, "\"%s\":[", name);
	for (uint32_t i = 0; i < PSEUDOS; i++)
		visit(&column,
		      &(struct frame_row){i, firefox_pseudo_category((enum pseudo)i), 0, 0});
	for (uint32_t i = 0; i < firefox->layout.n_types; i++)
		visit(&column, &(struct frame_row){PSEUDOS + i, CATEGORY_TYPE, 0, 0});
	for (uint64_t id = 1; id < world->tree.frames.limit; id++) {
		const struct frame *frame = tree_frame(&world->tree, id);

		if (frame)
			each_function(firefox, frame, &column, visit);
	}
	output_text(column.output, "],\n");
}

static void put_frame_function(struct column *column, const struct frame_row *row)
{
	output_number(column_cell(column), row->function);
}

static void put_frame_category(struct column *column, const struct frame_row *row)
{
	output_number(column_cell(column), row->category);
}

static void put_frame_depth(struct column *column, const struct frame_row *row)
{
	output_number(column_cell(column), row->depth);
}

static void put_frame_line(struct column *column, const struct frame_row *row)
{
	struct output *output = column_cell(column);

	if (row->line)
		output_number(output, row->line);
	else
		output_text(output, "null");
}

void firefox_put_frames(struct firefox *firefox)
{
	uint64_t rows = firefox->layout.n_frames;

	output_text(firefox->job.output, "\"frameTable\":{\n");
	each_frame(firefox, "func", put_frame_function);
	each_frame(firefox, "category", put_frame_category);
	each_frame(firefox, "line", put_frame_line);
	each_frame(firefox, "inlineDepth", put_frame_depth);
	firefox_put_same(firefox, "subcategory", "0", rows);
	firefox_put_same(firefox, "column", "null", rows);
	firefox_put_same(firefox, "address", "-1", rows);
	firefox_put_same(firefox, "nativeSymbol", "null", rows);
	firefox_put_same(firefox, "innerWindowID", "0", rows);
	firefox_put_same(firefox, "originalLocation", "null", rows);
	output_format(firefox->job.output, "\"length\":%" PRIu64 "},\n", rows);
}
