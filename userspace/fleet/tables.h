/* SPDX-License-Identifier: BSD-2-Clause */
/* tables.h: the tables of fleet.def as data, and the statements that create them. */
#ifndef GCPROF_FLEET_TABLES_H
#define GCPROF_FLEET_TABLES_H

#include <stdbool.h>
#include <stdio.h>

#include "rows.h"

#define FLEET_VERSION 2 /* of the tables and of how their rows are computed */

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
	const char *name; /* NULL: end of the columns */
	enum fleet_type type;
	bool given; /* the same value in all rows of a push */
	const char *doc;
};

enum { FLEET_COLUMNS_MAX = 24 };

struct fleet_description {
	const char *name, *partition, *order, *doc;
	bool once; /* ONCE in fleet.def, else LATEST */
	struct fleet_column columns[FLEET_COLUMNS_MAX];
};

extern const struct fleet_description fleet_tables[FLEET_TABLES];

/* ClickHouse's name for a type. */
const char *fleet_type_name(enum fleet_type type);

/* Is it a figure of samples that can be summed? */
bool fleet_is_sum(const struct fleet_column *column);

/* Prints the SELECT list that computes hourly from samples. */
void fleet_hourly_select(FILE *out);

/*
 * Prints all statements that create the database and its tables. With a cluster (else NULL) the
 * rows are in replicated tables NAME_local of its servers, and the tables NAME are distributed over
 * these.
 */
#define FLEET_LOCAL "_local"
void fleet_print_schema(const char *database, const char *cluster, FILE *out);

/* Is it a valid name of a database or cluster: letters, digits and "_", no digit first? */
bool fleet_is_name(const char *name);

#endif
