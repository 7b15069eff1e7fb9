// SPDX-License-Identifier: BSD-2-Clause
/* fuzz_gc.c: any string of actions leaves the collector's heap as its shadow says. */
#include "../model/gc_actions.h"

#include <stdarg.h>

/* The largest are still two nurseries, which is what a string can do in a millisecond. */
static const struct actions_limits limits = {{1, 4, 8, 16}, .may_fork = false};

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!actions_agree(data, size, &limits))
		abort();
	return 0;
}
