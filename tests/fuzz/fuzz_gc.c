// SPDX-License-Identifier: BSD-2-Clause
/* fuzz_gc.c: any string of actions leaves the collector's heap as its shadow says. */
#include "../model/gc_actions.h"

#include <stdarg.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

void test_fail(const char *file, int line, const char *format, ...)
{
	va_list arguments;

	fprintf(stderr, "%s:%d: ", file, line);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	abort();
}

/* The schedule of collections must not depend on the sampler. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (actions_run(data, size, true, false) != actions_run(data, size, false, false))
		abort();
	return 0;
}
