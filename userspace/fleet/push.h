/* SPDX-License-Identifier: BSD-2-Clause */
/* push.h: stores a profile's rows in a ClickHouse server, each exactly once, and drops old ones. */
#ifndef GCPROF_FLEET_PUSH_H
#define GCPROF_FLEET_PUSH_H

#include <stdbool.h>
#include <stdio.h>

#include "../profile/reader.h"
#include "block.h"
#include "http.h"

struct push_result {
	uint64_t profile;         /* its identity */
	uint64_t rows;            /* sent */
	uint64_t rows_were;       /* not sent: the server had them */
	bool whole;               /* the server already had all rows */
	enum profile_state state; /* unless `whole`; as the reader says */
	uint64_t bytes;           /* of the file that were read */
};

/* Checks that the server responds and has the tables of this gcprof version. Errors: as
 * http_query().
 */
int push_check(struct http *http, struct http_problem *problem);

/* Drops samples, pauses, calls and threads of profiles that began more than `days` ago; hourly sums
 * are kept. `dropped` is the number of dropped days. Errors: as http_query(). */
int push_expire(struct http *http, uint64_t days, uint64_t *dropped, struct http_problem *problem);

/* Computes the identity of the profile in a file. 0 or a negative errno. */
int push_identify(int fd, uint64_t *out);

/*
 * Sends the profile's rows that the server does not have. All rows get `labels`; if host or service
 * is NULL, it comes from the profile. Borrows `fd` and locks its file. Errors: those of rows_read()
 * and http_query(); with a text in `problem`, -EBUSY: another process is pushing the profile, or it
 * is still being written; -EEXIST: the server has it with another service or version.
 */
int push_profile(struct http *http, int fd, const struct fleet_given *labels,
		 struct push_result *result, struct http_problem *problem);

/* Copies pushed profiles into the table of OpenTelemetry's ClickHouse exporter. */

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
