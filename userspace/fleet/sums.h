/* SPDX-License-Identifier: BSD-2-Clause */
/* sums.h: has the ClickHouse server sum selected samples, and asks for rows of these sums. */
/*
 * The sums are in the temporary table `picked`, by side (position in the list of conditions),
 * service, stack and type. Their names are those of the columns of samples with "s_" in front.
 */
#ifndef GCPROF_FLEET_SUMS_H
#define GCPROF_FLEET_SUMS_H

#include <jansson.h>
#include <stdio.h>

#include "http.h"
#include "where.h"

struct sums {
	struct http *http;
	struct http_problem *problem;
	struct buffer answer;
};

/* Prints a statement. */
typedef void sums_printer(const void *context, FILE *out);

/*
 * Begins a session and sums what each of `count` conditions selects. Errors of http_query().
 * Afterwards, call sums_end() in any case.
 */
int sums_begin(struct sums *sums, const struct where *const *wheres, size_t count);
void sums_end(struct sums *sums);

/* Runs what `print` prints, followed by `format`. The response is in sums->answer. */
int sums_run(struct sums *sums, sums_printer *print, const void *context, const char *format);

struct sums_statement {
	sums_printer *print;
	const void *context;
};

/* Runs a statement and passes each row of the response, an object. Also -EBADMSG: it is invalid.
 * All numbers are reals, because the server prints large ones, also floats, as integers of more
 * than 64 bits. */
typedef int sums_visitor(void *context, json_t *row);
int sums_each(struct sums *sums, const struct sums_statement *statement, sums_visitor *visit,
	      void *context);

/* The same for few rows: returns an object with the array "data", and "totals" if there are any;
 * NULL, with *err set. */
json_t *sums_ask(struct sums *sums, sums_printer *print, const void *context, int *err);

/* Prints sum(PREFIXx) AS NAMEx, ... for all figures. */
void sums_print(FILE *out, const char *prefix, const char *name);

/* The number of profiles with rows that `where` selects. Errors of sums_ask(). */
int sums_profiles(struct sums *sums, const struct where *where, uint64_t *out);

/*
 * Adds an object with the interval of an estimate of bytes under `key`; `bytes` names the sum,
 * which is rounded later, and the other two are removed.
 */
void sums_put_bytes(json_t *row, const char *key, const char *bytes, const char *variance,
		    const char *observed);

/* Rounds all figures except shares. */
void sums_round(json_t *row);

/* Only from services with selected samples. */
#define SUMS_SERVICES " WHERE service GLOBAL IN (SELECT service FROM picked)"

/* The functions of the selected stacks. */
#define SUMS_STACKS                                                \
	"(SELECT stack, functions, site FROM stacks" SUMS_SERVICES \
	" AND stack GLOBAL IN (SELECT stack FROM picked)) AS of_stack"

/*
 * Names the functions in the array `path` of a subquery's rows, which become those of
 * SUMS_NAMES: SELECT ..., SUMS_NAMES FROM SUMS_NAME_BEGIN (subquery) SUMS_NAME_END GROUP BY path,
 * ...
 */
#define SUMS_NAMES \
	"arrayMap(x -> x.2, arraySort(groupArray((place, if(name = '', '(unknown)', name)))))"
#define SUMS_NAME_BEGIN "(SELECT *, function, place FROM "
#define SUMS_NAME_END                                                                              \
	" LEFT ARRAY JOIN path AS function, arrayEnumerate(path) AS place) AS rows ANY LEFT JOIN " \
	"(SELECT function, name FROM functions" SUMS_SERVICES ") AS names USING function"

#endif
