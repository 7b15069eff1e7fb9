// SPDX-License-Identifier: BSD-2-Clause
/* fuzz_layout.c: the offsets that an interpreter lists for debuggers (_Py_DebugOffsets): what is
 * accepted keeps the walker within what it has copied. */
/*
 * An input is a version, as Py_Version has it, and the words of the table.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "runtimes/cpython/layout.h"

#define WORD sizeof(uint64_t)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_within(const struct cpython_layout *layout, enum cpython_item from,
			 enum cpython_item to, size_t words)
{
	for (int i = from; i <= (int)to; i++) {
		size_t width = i == CPYTHON_FRAME_ENTRY || i == CPYTHON_FRAME_OWNER ? 1
			       : i == CPYTHON_CODE_LINE ? sizeof(uint32_t)
							: WORD;

		if (layout->at[i] != CPYTHON_NONE &&
		    (layout->at[i] % width || layout->at[i] + width > words * WORD))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t table[CPYTHON_TABLE] = {0};
	struct cpython_layout layout = {0};
	uint32_t version = 0;

	if (size < sizeof(version) || size > sizeof(version) + sizeof(table))
		return 0;
	memcpy(&version, data, sizeof(version));
	memcpy(table, data + sizeof(version), size - sizeof(version));
	if (!cpython_offsets(version, table, &layout))
		return 0;
	check_within(&layout, CPYTHON_FRAME_CODE, CPYTHON_FRAME_OWNER, CPYTHON_FRAME_WORDS);
	check_within(&layout, CPYTHON_CODE_LINE, CPYTHON_CODE_TABLE, CPYTHON_CODE_WORDS);
	return 0;
}
