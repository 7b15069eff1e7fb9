/* SPDX-License-Identifier: BSD-2-Clause */
/* otel.h: copies pushed profiles into the table of OpenTelemetry's ClickHouse exporter. */
#ifndef GCPROF_FLEET_OTEL_H
#define GCPROF_FLEET_OTEL_H

#include <stdbool.h>
#include <stdio.h>

#include "http.h"

/* Is this TABLE or DATABASE.TABLE? */
bool otel_is_table(const char *text);

/* Prints the statement that creates the table: the exporter's columns, without its codecs, indexes
 * and materialized columns. */
void otel_print_schema(const char *table, FILE *out);

/*
 * Adds the rows of the profile `profile`, which the server already has, to `table`, unless they are
 * there; *rows is their number if they were added, else 0. Errors: as http_query(), also -EEXIST:
 * the table has a part of them.
 */
int otel_copy(struct http *http, const char *table, uint64_t profile, uint64_t *rows,
	      struct http_problem *problem);

#endif
