// SPDX-License-Identifier: BSD-2-Clause
/* perf_map.c: reads the text in which JIT compilers name their functions: /tmp/perf-PID.map. */
#include <string.h>

#include "perf_map.h"

/* Takes a hexadecimal number, with or without "0x", and the following space. */
static bool take_number(const char **at, const char *end, uint64_t *out)
{
	const char *start;
	uint64_t value = 0;

	if (end - *at > 2 && (*at)[0] == '0' && ((*at)[1] | 0x20) == 'x')
		*at += 2;
	for (start = *at; *at < end; (*at)++) {
		char letter = (char)(**at | 0x20);

		if (letter >= '0' && letter <= '9')
			value = value << 4 | (uint64_t)(letter - '0');
		else if (letter >= 'a' && letter <= 'f')
			value = value << 4 | (uint64_t)(letter - 'a' + 10);
		else
			break;
	}
	if (*at == start || *at - start > 16 || *at == end || **at != ' ')
		return false;
	(*at)++;
	*out = value;
	return true;
}

static int add_line(struct code_table *table, const char *at, const char *end)
{
	uint64_t start, size;

	if (!take_number(&at, end, &start) || !take_number(&at, end, &size))
		return 0;
	return code_table_add(table, start, size, at, (size_t)(end - at), NULL, 0);
}

int perf_map_parse(struct code_table *table, const char *text, size_t size, size_t *used)
{
	const char *at = text, *end = text + size, *next;
	int err = 0;

	while (!err && at < end && (next = memchr(at, '\n', (size_t)(end - at)))) {
		err = add_line(table, at, next);
		at = next + 1;
	}
	*used = (size_t)(at - text);
	return err;
}
