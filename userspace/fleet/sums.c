/* SPDX-License-Identifier: BSD-2-Clause */
/* sums.c: has the ClickHouse server sum selected samples, and asks for rows of these sums. */
#include "sums.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../model/world/estimate.h"
#include "tables.h"

/* As floats, because ns of a fleet exceed 64 bits. */
void sums_print(FILE *out, const char *prefix, const char *name)
{
	const char *comma = "";

	for (const struct fleet_column *c = fleet_tables[FLEET_samples].columns; c->name; c++)
		if (fleet_is_sum(c)) {
			fprintf(out, "%ssum(toFloat64(%s%s)) AS %s%s", comma, prefix, c->name, name,
				c->name);
			comma = ", ";
		}
}

/* Runs what `print` prints, followed by `format`. */
static int run(struct sums *sums, sums_printer *print, const void *context, const char *format)
{
	char *sql = NULL;
	size_t size;
	FILE *out = open_memstream(&sql, &size);
	int err;

	if (!out)
		return -ENOMEM;
	print(context, out);
	fputs(format, out);
	err = fclose(out) ? -ENOMEM : 0;
	if (!err)
		err = http_query(sums->http, sql, NULL, &sums->answer, sums->problem);
	free(sql);
	return err;
}

json_t *sums_ask(struct sums *sums, sums_printer *print, const void *context, int *err)
{
	json_t *answer;

	*err = run(sums, print, context, " FORMAT JSON");
	if (*err)
		return NULL;
	answer = json_loadb(sums->answer.data, sums->answer.size - 1,
			    JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, NULL);
	if (json_is_array(json_object_get(answer, "data")))
		return answer;
	json_decref(answer);
	*err = -EBADMSG;
	return NULL;
}

static void print_profiles(const void *context, FILE *out)
{
	const struct where *where = context;

	fprintf(out, "SELECT uniqExact(profile) AS profiles FROM %s WHERE ",
		where->process ? "samples" : "calls");
	where_print(where, "time", out);
}

int sums_profiles(struct sums *sums, const struct where *where, uint64_t *out)
{
	int err;
	json_t *answer = sums_ask(sums, print_profiles, where, &err);
	const json_t *row = json_array_get(json_object_get(answer, "data"), 0);

	*out = (uint64_t)json_number_value(json_object_get(row, "profiles"));
	json_decref(answer);
	return err;
}

/* Temporary tables are created from tables of the session's database, whatever the URL says. */
static void print_use(const void *context, FILE *out)
{
	fprintf(out, "USE %s", (const char *)context);
}

struct pick {
	const struct where *where;
	size_t side;
};

/* Sums the samples of a side once, for all statements that follow. */
static void print_pick(const void *context, FILE *out)
{
	const struct pick *pick = context;
	bool hourly = pick->where->hourly;

	fprintf(out, "%s SELECT toUInt8(%zu) AS side, service, stack, type, ",
		pick->side ? "INSERT INTO picked" : "CREATE TEMPORARY TABLE picked AS", pick->side);
	sums_print(out, "", "s_");
	fprintf(out, " FROM %s WHERE ", hourly ? "hourly" : "samples");
	where_print(pick->where, hourly ? "hour" : "time", out);
	fputs(" GROUP BY service, stack, type", out);
}

int sums_begin(struct sums *sums, const struct where *const *wheres, size_t count)
{
	int err;

	http_begin_session(sums->http);
	err = run(sums, print_use, http_database(sums->http), "");
	for (size_t i = 0; i < count && !err; i++)
		err = run(sums, print_pick, &(struct pick){wheres[i], i}, "");
	return err;
}

void sums_end(struct sums *sums)
{
	buffer_free(&sums->answer);
}

static double number(const json_t *row, const char *key)
{
	return json_number_value(json_object_get(row, key));
}

/* As an integer, if it fits into 63 bits. */
static void put(json_t *row, const char *key, double value)
{
	json_object_set_new(row, key,
			    value > 9e18 ? json_real(value)
			    : value > 0  ? json_integer(llround(value))
					 : json_integer(0));
}

void sums_put_bytes(json_t *row, const char *key, const char *bytes, const char *variance,
		    const char *observed)
{
	const struct tally tally = {number(row, bytes), number(row, variance),
				    number(row, observed)};
	struct estimate estimate = tally_estimate(&tally);
	json_t *object = json_object();

	put(object, "estimate", estimate.value);
	put(object, "low", floor(estimate.low));
	put(object, "high", ceil(estimate.high));
	json_object_del(row, variance);
	json_object_del(row, observed);
	json_object_set_new(row, key, object);
}

void sums_round(json_t *row)
{
	const char *key;
	json_t *value;
	void *next;

	json_object_foreach_safe(row, next, key, value) if (json_is_real(value) &&
							    strncmp(key, "survived_l", 10) != 0 &&
							    strncmp(key, "survived_h", 10) != 0 &&
							    strcmp(key, "survived") != 0)
		put(row, key, json_real_value(value));
}
