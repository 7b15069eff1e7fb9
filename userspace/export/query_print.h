/* SPDX-License-Identifier: BSD-2-Clause */
/* query_print.h: private to query*.c: printing of results, and additional SQL functions. */
#ifndef GCPROF_QUERY_PRINT_H
#define GCPROF_QUERY_PRINT_H

#include "output.h"

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

#endif
