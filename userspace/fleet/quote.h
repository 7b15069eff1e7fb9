/* SPDX-License-Identifier: BSD-2-Clause */
/* quote.h: prints text as a string literal of ClickHouse SQL. */
#ifndef GCPROF_FLEET_QUOTE_H
#define GCPROF_FLEET_QUOTE_H

#include <stdio.h>

/* Escapes only quotes and backslashes, which could end the literal. */
static inline void quote_print(FILE *out, const char *text)
{
	putc('\'', out);
	for (; *text; text++) {
		if (*text == '\'' || *text == '\\')
			putc('\\', out);
		putc(*text, out);
	}
	putc('\'', out);
}

#endif
