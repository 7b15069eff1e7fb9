// SPDX-License-Identifier: BSD-2-Clause
/* fuzz_cpython.c: names of Python functions from any report: they end within bounds. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "runtimes/cpython/names.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct cpython_function function;
	struct symbol found;

	if (size > sizeof(function.in))
		return 0;
	memset(&function, 0, sizeof(function));
	memcpy(&function.in, data, size);
	function.size = size;
	for (uint64_t instruction = 0; instruction < 4096; instruction = 2 * instruction + 1)
		if (cpython_name(&function, instruction, &found) &&
		    (!found.name[0] || strlen(found.name) >= sizeof(function.name) ||
		     (found.file && strlen(found.file) >= sizeof(function.file))))
			abort();
	return 0;
}
