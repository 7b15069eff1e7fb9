// SPDX-License-Identifier: BSD-2-Clause
/* go_code.c: opens the code of a Go program's functions. */
#include "go_code.h"

#define FUNCTION_MAX (64u << 10) /* bytes decoded per function */

bool code_of(struct go_file *file, const struct go_function *function, struct code *out)
{
	uint64_t left = 0;
	const uint8_t *at;

	if (!function->size || function->size > FUNCTION_MAX)
		return false;
	at = go_table_code(file->table, function, &left);
	code_begin(out, function->address, at, left);
	return at && left;
}

bool code_at(struct go_file *file, uint64_t address, struct code *out)
{
	struct go_function function;

	return go_table_at(file->table, address, &function) && function.address == address &&
	       code_of(file, &function, out);
}

bool code_named(struct go_file *file, const char *name, struct code *out)
{
	struct go_function function;

	return go_table_named(file->table, name, &function) && code_of(file, &function, out);
}
