// SPDX-License-Identifier: BSD-2-Clause
/* fuzz_code.c: what programs write about the code that they make: jitdump files and perf maps. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/jitdump.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A copy that ends where it ends, so that reading on is noticed. */
static void read_dump(struct code_table *table, const uint8_t *data, size_t size)
{
	struct jitdump *dump = jitdump_create(table);
	size_t at = 0, used = 1, wanted = 1;

	while (dump && at < size && used) {
		uint8_t *copy = malloc(size - at);

		if (!copy)
			abort();
		memcpy(copy, data + at, size - at);
		if (jitdump_parse(dump, copy, size - at, &used, &wanted))
			used = 0;
		if (used > size - at || !wanted)
			abort();
		free(copy);
		at += used;
	}
	jitdump_free(dump);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct code_table *table = code_table_create();
	struct symbol symbol;
	size_t used;

	if (!table)
		abort();
	if (size > 4 && data[0] == 'D')
		read_dump(table, data, size);
	else if (!perf_map_parse(table, (const char *)data, size, &used) && used > size)
		abort();
	for (uint64_t address = 0; address < 0x10000; address += 0x101) {
		if (code_table_find(table, address, size, &symbol) && !*symbol.name)
			abort();
	}
	code_table_free(table);
	return 0;
}
