/* SPDX-License-Identifier: BSD-2-Clause */
/* plural.c: words that depend on a count. */
#include "plural.h"

#include <stddef.h>

struct plural_text plural(uint64_t count, const char *text)
{
	enum { BOTH, ONE, MANY } part = BOTH, wanted = count == 1 ? ONE : MANY;
	struct plural_text out;
	size_t used = 0;

	for (; *text && used < sizeof(out.text) - 1; text++) {
		if (*text == '[')
			part = ONE;
		else if (part && *text == '|')
			part = MANY;
		else if (part && *text == ']')
			part = BOTH;
		else if (!part || part == wanted)
			out.text[used++] = *text;
	}
	out.text[used] = '\0';
	return out;
}
