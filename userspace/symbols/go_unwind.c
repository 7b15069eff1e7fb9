/* SPDX-License-Identifier: BSD-2-Clause */
/* go_unwind.c: unwind rows of Go's functions, from the table that stripped programs keep. */
/*
 * .gopclntab says for each instruction how deep the stack is. A function with a frame saves rbp
 * right below its return address. A stack ends with goexit, mstart and the like, and where the
 * runtime has gone to a stack of its own: systemstack, mcall.
 */
#include "go_unwind.h"

#include "go_table.h"

#define WORD 8

struct go_function_rows {
	struct unwind_builder *builder;
	uint64_t begin;
	int err;
};

static int add_row(void *context, uint64_t offset, int32_t depth)
{
	struct go_function_rows *rows = context;
	struct unwind_rule rule = {
		.cfa = UNWIND_CFA_SP,
		.ra = UNWIND_AT_CFA,
		.cfa_offset = depth + WORD,
		.ra_offset = -WORD,
	};

	if (depth >= WORD) {
		rule.bp = UNWIND_AT_CFA;
		rule.bp_offset = -2 * WORD;
	}
	if (depth < 0 || depth % WORD)
		rule = (struct unwind_rule){0};
	rows->err = unwind_builder_row(rows->builder, rows->begin + offset, &rule);
	return rows->err;
}

static int add_top(struct go_function_rows *rows)
{
	static const struct unwind_rule stop = {
		.cfa = UNWIND_CFA_SP, .ra = UNWIND_STOP, .cfa_offset = WORD};

	return unwind_builder_row(rows->builder, rows->begin, &stop);
}

static int add_function(const struct go_table *table, size_t index,
			const struct go_function *function, struct unwind_builder *builder)
{
	struct go_function_rows rows = {builder, function->address, 0};
	int err = unwind_builder_function(builder, function->address,
					  function->address + function->size);

	if (!err && go_table_stack(table, index, add_row, &rows) == GO_FRAME_TOP)
		err = add_top(&rows);
	return err ? err : rows.err;
}

int go_unwind_add(Elf *elf, struct unwind_builder *builder)
{
	struct problem problem = {""};
	struct go_function function;
	struct go_table *table;
	int err = 0;

	if (go_table_open(elf, &table, &problem))
		return 0;
	for (size_t i = 0; !err && go_table_function(table, i, &function); i++)
		if (function.size)
			err = add_function(table, i, &function, builder);
	go_table_free(table);
	return err;
}
