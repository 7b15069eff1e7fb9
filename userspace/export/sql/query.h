/* SPDX-License-Identifier: BSD-2-Clause */
/* query.h: runs an SQL statement on a profile. */
#ifndef GCPROF_QUERY_H
#define GCPROF_QUERY_H

#include "../../profile/reader.h"
#include "../output.h"

/* Private to query*.c: printing of results, and additional SQL functions. */

struct sqlite3;
struct sqlite3_stmt;

enum query_format { QUERY_TABLE, QUERY_CSV, QUERY_JSON };

/* Runs a statement and prints its rows. Returns SQLITE_DONE or the status of the error. */
int query_print(struct sqlite3_stmt *statement, enum query_format format, struct output *output);

/*
 * query_functions.c: aggregates that SQLite lacks: percentile(value, percent),
 * bytes_low(size, probability), bytes_high(size, probability), objects_low(size, period)
 * and objects_high(size, period). 0 or -ENOMEM.
 */
int query_functions(struct sqlite3 *connection);

struct sink;

struct query_request {
	const char *sql;  /* one statement that only reads */
	const char *file; /* the profile's name */
	enum query_format format;
};

/* The result of a query. */
struct query_result {
	char message[512]; /* the error in the statement; empty: none */
	int offset;        /* its position in bytes; negative: none */
	enum profile_state state;
	struct profile_status status;
	bool unwritten; /* the error is that of the sink */
};

/*
 * Compiles the statement first and fills only the tables that it reads. Takes over the
 * source and the sink, also on failure. Errors: -EINVAL: invalid statement (with its
 * message); -EPERM: it does not only read; -EDOM: it fails at run time (with its message);
 * those of model_load() and of the sink.
 */
int query_run(const struct query_request *request, struct source *source, struct sink *sink,
	      struct query_result *result);

/* Writes the schema with its comments; takes over the sink. */
int query_schema(struct sink *sink);

#endif
