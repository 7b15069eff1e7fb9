/* SPDX-License-Identifier: BSD-2-Clause */
/* where.h: what part of a fleet is asked for: a closed grammar, and the SQL that it becomes. */
/*
 * TERM [AND TERM]..., a TERM is NAME OPERATOR VALUE: service, version, host, container, process,
 * time or the name of another label; = != and for time > (from then on) < (before); a word, or any
 * text in quotes. Nothing of it reaches the server but as a literal.
 */
#ifndef GCPROF_FLEET_WHERE_H
#define GCPROF_FLEET_WHERE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { WHERE_TERMS = 16, WHERE_VALUE = 1024, WHERE_NAME = 64 };

struct where_term {
	char name[WHERE_NAME], value[WHERE_VALUE];
	bool differs;  /* != */
	bool from, to; /* of time: >= or < */
	uint64_t time; /* s since 1970 */
};

struct where {
	struct where_term terms[WHERE_TERMS];
	size_t count;
	bool process; /* one is about processes */
	bool hourly;  /* hourly sums have what all of them are about */
};

/* `now`: s since 1970, for times that begin with "-". -EINVAL, and `fault` says what is wrong. */
int where_parse(const char *text, uint64_t now, struct where *out, char *fault, size_t size);

/* As a condition for rows of a table, whose times are in the column `time`. */
void where_print(const struct where *where, const char *time, FILE *out);

#endif
