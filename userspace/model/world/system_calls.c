/* SPDX-License-Identifier: BSD-2-Clause */
/* system_calls.c: what is known of system calls by their names. */
#include "system_calls.h"

#include <stddef.h>
#include <string.h>

static const struct system_call calls[] = {
#define CALL(name, part, decides, class, deed) \
	{#name, TIME_##part, decides, CALL_##class, DEED_##deed},
#include "system_calls.def"
};

const struct system_call *system_call_find(const char *name)
{
	static const struct system_call other = {.name = "", .part = TIME_BLOCKED};

	for (size_t i = 0; name && i < sizeof(calls) / sizeof(*calls); i++)
		if (strcmp(name, calls[i].name) == 0)
			return &calls[i];
	return &other;
}
