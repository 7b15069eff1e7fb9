/* SPDX-License-Identifier: BSD-2-Clause */
/* quote.h: any text as a literal of ClickHouse's SQL. */
#ifndef GCPROF_FLEET_QUOTE_H
#define GCPROF_FLEET_QUOTE_H

#include <stdio.h>

/* In quotes; what could end the literal is escaped, all else is as it is. */
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
