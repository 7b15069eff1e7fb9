/* SPDX-License-Identifier: BSD-2-Clause */
/* tables.h: the tables of fleet.def as data, and as statements that make them. */
#ifndef GCPROF_FLEET_TABLES_H
#define GCPROF_FLEET_TABLES_H

#include <stdbool.h>
#include <stdio.h>

#include "rows.h"

#define FLEET_VERSION 1 /* of the tables; also of what rows they get */

enum fleet_type {
	FLEET_U32,
	FLEET_U64,
	FLEET_F64,
	FLEET_TIME,
	FLEET_DATE,
	FLEET_TEXT,
	FLEET_TEXTS,
	FLEET_U64S,
};

struct fleet_column {
	const char *name; /* NULL: there is none */
	enum fleet_type type;
	bool given; /* the same for all rows of a push */
	const char *doc;
};

enum { FLEET_COLUMNS_MAX = 24 };

struct fleet_description {
	const char *name, *partition, *order, *doc;
	bool once; /* rows of a block come once; else one row of each key */
	struct fleet_column columns[FLEET_COLUMNS_MAX];
};

extern const struct fleet_description fleet_tables[FLEET_TABLES];

/* ClickHouse's name of a type. */
const char *fleet_type_name(enum fleet_type type);

/* Is it a figure of samples that sums add up? */
bool fleet_is_sum(const struct fleet_column *column);

/* What the hourly sums are made of: a list of columns, with their expressions, of samples. */
void fleet_hourly_select(FILE *out);

/* Prints all statements that make the tables in a database. */
void fleet_print_schema(const char *database, FILE *out);

/* May a database have this name? Letters, digits and "_". */
bool fleet_is_name(const char *name);

#endif
