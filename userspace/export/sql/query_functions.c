/* SPDX-License-Identifier: BSD-2-Clause */
/* query_functions.c: SQL aggregate functions for queries on a profile. */
#include <errno.h>
#include <math.h>
#include <sqlite3.h>
#include <stdlib.h>

#include "../../model/world/arena.h"
#include "../../model/world/estimate.h"
#include "query.h"

/* --- percentile: nearest rank, as in reports --------------------------------------------- */

struct ranks {
	double *values;
	size_t count, capacity;
	double percent;
};

static void percentile_step(sqlite3_context *context, int count, sqlite3_value **values)
{
	struct ranks *ranks = sqlite3_aggregate_context(context, sizeof(*ranks));

	(void)count;
	if (sqlite3_value_type(values[0]) == SQLITE_NULL)
		return;
	if (!ranks || array_reserve(&ranks->values, &ranks->capacity, ranks->count,
				    sizeof(*ranks->values)) < 0) {
		sqlite3_result_error_nomem(context);
		return;
	}
	ranks->values[ranks->count++] = sqlite3_value_double(values[0]);
	ranks->percent = sqlite3_value_double(values[1]);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void percentile_end(sqlite3_context *context)
{
	struct ranks *ranks = sqlite3_aggregate_context(context, 0);
	double rank;

	if (!ranks || !ranks->count)
		return;
	if (!(ranks->percent >= 0 && ranks->percent <= 100)) {
		sqlite3_result_error(context, "percentile: the second argument is 0 to 100", -1);
	} else {
		qsort(ranks->values, ranks->count, sizeof(*ranks->values), by_value);
		rank = ceil((double)ranks->count * ranks->percent / 100);
		sqlite3_result_double(context, ranks->values[rank >= 1 ? (size_t)rank - 1 : 0]);
	}
	free(ranks->values);
	ranks->values = NULL;
}

/* --- bounds of the 95 % interval of a sum of samples ----------------------------------------- */

static void interval_step(sqlite3_context *context, int count, sqlite3_value **values)
{
	struct tally *tally = sqlite3_aggregate_context(context, sizeof(*tally));
	double p = sqlite3_value_double(values[1]);

	(void)count;
	if (!tally)
		sqlite3_result_error_nomem(context);
	else if (p > 0 && p <= 1)
		tally_add(tally, sqlite3_value_double(values[0]), p);
}

static void low_end(sqlite3_context *context)
{
	const struct tally *tally = sqlite3_aggregate_context(context, 0);

	if (tally)
		sqlite3_result_double(context, tally_estimate(tally).low);
}

static void high_end(sqlite3_context *context)
{
	const struct tally *tally = sqlite3_aggregate_context(context, 0);

	if (tally)
		sqlite3_result_double(context, tally_estimate(tally).high);
}

/* --- bounds of the interval of the number of objects that samples stand for ------------------ */

static void objects_step(sqlite3_context *context, int count, sqlite3_value **values)
{
	struct object_tally *objects = sqlite3_aggregate_context(context, sizeof(*objects));
	int64_t size = sqlite3_value_int64(values[0]), period = sqlite3_value_int64(values[1]);

	(void)count;
	if (!objects)
		sqlite3_result_error_nomem(context);
	else if (size > 0 && period >= 0)
		object_tally_add(objects, (uint64_t)size, (uint64_t)period,
				 sample_probability((uint64_t)size, (uint64_t)period));
}

static void objects_low_end(sqlite3_context *context)
{
	const struct object_tally *objects = sqlite3_aggregate_context(context, 0);

	if (objects)
		sqlite3_result_double(context, object_tally_estimate(objects).low);
}

static void objects_high_end(sqlite3_context *context)
{
	const struct object_tally *objects = sqlite3_aggregate_context(context, 0);

	if (objects)
		sqlite3_result_double(context, object_tally_estimate(objects).high);
}

int query_functions(sqlite3 *connection)
{
	static const struct {
		const char *name;
		void (*step)(sqlite3_context *, int, sqlite3_value **);
		void (*end)(sqlite3_context *);
	} functions[] = {
		{"percentile", percentile_step, percentile_end},
		{"bytes_low", interval_step, low_end},
		{"bytes_high", interval_step, high_end},
		{"objects_low", objects_step, objects_low_end},
		{"objects_high", objects_step, objects_high_end},
	};

	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++)
		if (sqlite3_create_function(connection, functions[i].name, 2,
					    SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL, NULL,
					    functions[i].step, functions[i].end) != SQLITE_OK)
			return -ENOMEM;
	return 0;
}
