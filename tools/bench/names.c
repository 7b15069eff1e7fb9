// SPDX-License-Identifier: BSD-2-Clause
/* names.c: how long it takes to name addresses: FILE... OFFSETS per file, spread over its code. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "symbols/symbols.h"

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

/* names COUNT FIRST LAST FILE...: COUNT offsets from FIRST to LAST in each file. */
int main(int argc, char **argv)
{
	size_t asked = 0, named = 0, lines = 0, inlined = 0;
	struct symbol found[SYMBOLS_MAX];
	struct symbols *symbols;
	uint64_t count, first, last;
	double began = now();

	if (argc < 5 || symbols_create(NULL, &symbols))
		return 2;
	count = strtoull(argv[1], NULL, 0);
	first = strtoull(argv[2], NULL, 0);
	last = strtoull(argv[3], NULL, 0);
	for (uint64_t i = 0; i < count; i++) {
		for (int file = 4; file < argc; file++) {
			uint64_t offset = first + (last - first) * i / count;
			size_t n = symbols_native(symbols, argv[file], NULL, 0, offset, found);

			asked++;
			named += n > 0;
			inlined += n > 1;
			lines += n > 0 && found[n - 1].line;
		}
	}
	printf("%zu addresses in %d files: %.0f ms of CPU time; %zu with names, %zu with lines, "
	       "%zu in inlined "
	       "functions\n",
	       asked, argc - 4, now() - began, named, lines, inlined);
	symbols_free(symbols);
	return 0;
}
