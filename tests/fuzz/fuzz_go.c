// SPDX-License-Identifier: BSD-2-Clause
/* fuzz_go.c: tables of functions of Go programs (.gopclntab): what is read lies within them. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/go_lines.h"

#define TEXT          UINT64_C(0x401000)
#define FUNCTIONS_MAX 64
#define PLACES_MAX    64 /* in a function */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The table, and what was read of it, so that reading is not optimised away. */
struct reading {
	const char *begin, *end;
	uint64_t visits, offset;
};

static void check_text(const struct reading *reading, const char *text)
{
	if (text &&
	    (text < reading->begin || text >= reading->end || text + strlen(text) >= reading->end))
		abort();
}

static int check_depth(void *context, uint64_t offset, int32_t depth)
{
	struct reading *reading = context;

	(void)depth;
	if (reading->visits++ && offset <= reading->offset)
		abort();
	reading->offset = offset;
	return reading->visits > (uint64_t)(reading->end - reading->begin);
}

static void find_all(const struct reading *reading, const struct go_lines *lines,
		     const struct go_function *function)
{
	uint64_t step = function->size / PLACES_MAX + 1;

	for (uint64_t at = 0; at < function->size; at += step) {
		struct symbol found[SYMBOLS_MAX];
		size_t n = go_lines_find(lines, function->address + at, found);

		if (n > SYMBOLS_MAX)
			abort();
		for (size_t i = 0; i < n; i++) {
			if (!found[i].name)
				abort();
			check_text(reading, found[i].name);
			check_text(reading, found[i].file);
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reading reading = {.begin = (const char *)data, .end = (const char *)data + size};
	struct go_function function;
	struct go_lines lines;

	if (go_lines_open(&lines, data, size))
		return 0;
	lines.text = TEXT;
	/* The trees of inlined calls are elsewhere in a program: here, they are the table, too. */
	lines.inlined = cursor_make(data, size);
	for (size_t i = 0; i < FUNCTIONS_MAX && go_lines_function(&lines, i, &function); i++) {
		check_text(&reading, function.name);
		(void)go_lines_is_top(&lines, i);
		reading.visits = 0;
		go_lines_stack(&lines, i, check_depth, &reading);
		find_all(&reading, &lines, &function);
	}
	return 0;
}
