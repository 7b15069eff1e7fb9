/* SPDX-License-Identifier: BSD-2-Clause */
/* go_lines.h: the parts of .gopclntab, the table of a Go program's functions and lines. */
/* Used through go_table.h, which finds the required parts in a file. */
#ifndef GCPROF_GO_LINES_H
#define GCPROF_GO_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol.h"
#include "../profile/cursor.h"

struct go_function {
	uint64_t address, size;
	const char *name; /* in the section; NULL: damaged */
};

struct go_lines {
	bool is_118;   /* written by 1.18 or 1.19 */
	uint64_t text; /* base address of the functions */
	uint64_t n_functions;
	uint64_t names_at; /* offset of `names` in the section */
	/* Parts; each extends to the end of the section, regardless of the next one's offset. */
	struct cursor names, units, files, values, functions;
	struct cursor inlined; /* trees of inlined calls, elsewhere in the file */
};

/* Finds the parts of a section, which is borrowed. Returns what is not understood, or NULL. */
const char *go_lines_open(struct go_lines *lines, const void *data, size_t size);

/* The last function that begins at or before the address; n_functions: none. */
size_t go_lines_index(const struct go_lines *lines, uint64_t address);

bool go_lines_function(const struct go_lines *lines, size_t index, struct go_function *out);
size_t go_lines_find(const struct go_lines *lines, uint64_t address,
		     struct symbol out[SYMBOLS_MAX]);

/* Does the function have no caller, or one on another stack (systemstack, mcall)? */
bool go_lines_is_top(const struct go_lines *lines, size_t index);

/* From `offset` in the function on, the stack pointer is `depth` bytes below its value on entry. A
 * non-zero result ends the visits. */
typedef int go_stack_visit(void *context, uint64_t offset, int32_t depth);

/* Visits the stack depths of a function in code order, at most once per instruction. */
void go_lines_stack(const struct go_lines *lines, size_t index, go_stack_visit *visit,
		    void *context);

#endif
