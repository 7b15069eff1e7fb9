/* SPDX-License-Identifier: BSD-2-Clause */
/* where.h: parses conditions on a fleet's profiles and prints them as SQL. */
/*
 * A condition is TERM [AND TERM]..., and a TERM is NAME OPERATOR VALUE. NAME: service, version,
 * host, container, process, time, or another label. OPERATOR: = or !=; for time > (at or after) or
 * < (before). VALUE: a word, or any text in quotes. Text from a condition reaches the server only
 * as column names, label names and literals.
 */
#ifndef GCPROF_FLEET_WHERE_H
#define GCPROF_FLEET_WHERE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Prints text as a string literal of ClickHouse SQL. */

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

enum { WHERE_TERMS = 16, WHERE_VALUE = 1024, WHERE_NAME = 64 };

struct where_term {
	char name[WHERE_NAME], value[WHERE_VALUE];
	bool differs;  /* != */
	bool from, to; /* for time: >= or < */
	uint64_t time; /* seconds since 1970 */
};

struct where {
	struct where_term terms[WHERE_TERMS];
	size_t count;
	bool process; /* a term is about processes */
	bool hourly;  /* hourly sums suffice for all terms */
};

/* `now`: seconds since 1970, for ages. -EINVAL, with a message in `fault`. */
int where_parse(const char *text, uint64_t now, struct where *out, char *fault, size_t size);

/* Prints the SQL condition for a table with times in the column `time`. */
void where_print(const struct where *where, const char *time, FILE *out);

#endif
