/* SPDX-License-Identifier: BSD-2-Clause */
/* sums.c: has the ClickHouse server sum selected samples, and asks for rows of these sums. */
#include "sums.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../model/world/estimate.h"
#include "tables.h"

enum { VALUE_MAX = 1 << 20 }; /* bytes of a row in a response */

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

int sums_run(struct sums *sums, sums_printer *print, const void *context, const char *format)
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

/* --- answers --------------------------------------------------------------------------------- */

/* A response in the format JSON: an object, of whose values only one is parsed at a time. */
struct answer {
	const char *at, *end;
};

static bool take(struct answer *answer, char c)
{
	while (answer->at < answer->end && strchr(" \t\r\n", *answer->at) && *answer->at)
		answer->at++;
	if (answer->at == answer->end || *answer->at != c)
		return false;
	answer->at++;
	return true;
}

/* A value of limited size; NULL, with *err set, if there is none, it is too large, or no memory. */
static json_t *take_value(struct answer *answer, size_t flags, int *err)
{
	size_t left = (size_t)(answer->end - answer->at);
	json_error_t error;
	json_t *value = json_loadb(
		answer->at, left < VALUE_MAX ? left : VALUE_MAX,
		JSON_DISABLE_EOF_CHECK | JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL | flags, &error);

	if (value)
		answer->at += error.position;
	else
		*err = json_error_code(&error) == json_error_out_of_memory ? -ENOMEM : -EBADMSG;
	return value;
}

/* The array "data", after its bracket. */
static int take_rows(struct answer *answer, sums_visitor *visit, void *context)
{
	int err = 0;

	if (take(answer, ']'))
		return 0;
	do {
		json_t *row = take_value(answer, 0, &err);

		err = err ? err : json_is_object(row) ? visit(context, row) : -EBADMSG;
		json_decref(row);
	} while (!err && take(answer, ','));
	return err ? err : take(answer, ']') ? 0 : -EBADMSG;
}

static int take_answer(struct answer *answer, sums_visitor *visit, void *context, json_t **totals)
{
	int err = take(answer, '{') ? 0 : -EBADMSG;
	bool has_rows = false;

	do {
		json_t *key = err ? NULL : take_value(answer, JSON_DECODE_ANY, &err);
		bool rows = json_is_string(key) && !strcmp(json_string_value(key), "data");
		bool of_totals = json_is_string(key) && !strcmp(json_string_value(key), "totals");
		json_t *value = NULL;

		if (!err &&
		    (!json_is_string(key) || !take(answer, ':') || (rows && !take(answer, '['))))
			err = -EBADMSG;
		if (!err && rows)
			err = take_rows(answer, visit, context);
		else if (!err)
			value = take_value(answer, JSON_DECODE_ANY, &err);
		has_rows |= rows;
		if (!err && of_totals && totals && !*totals)
			*totals = json_incref(value);
		json_decref(value);
		json_decref(key);
	} while (!err && take(answer, ','));
	return err ? err : has_rows && take(answer, '}') ? 0 : -EBADMSG;
}

static int ask(struct sums *sums, const struct sums_statement *statement, sums_visitor *visit,
	       void *visitor, json_t **totals)
{
	struct answer answer;
	int err = sums_run(sums, statement->print, statement->context, " FORMAT JSON");

	if (err)
		return err;
	answer = (struct answer){sums->answer.data, sums->answer.data + sums->answer.size - 1};
	err = take_answer(&answer, visit, visitor, totals);
	buffer_free(&sums->answer);
	if (err == -ENOMEM)
		snprintf(sums->problem->text, sizeof(sums->problem->text),
			 "not enough memory for the answer; select less");
	return err;
}

int sums_each(struct sums *sums, const struct sums_statement *statement, sums_visitor *visit,
	      void *context)
{
	return ask(sums, statement, visit, context, NULL);
}

static int keep_row(void *context, json_t *row)
{
	return json_array_append(context, row) ? -ENOMEM : 0;
}

json_t *sums_ask(struct sums *sums, sums_printer *print, const void *context, int *err)
{
	const struct sums_statement statement = {print, context};
	json_t *rows = json_array(), *totals = NULL, *answer = NULL;

	*err = rows ? ask(sums, &statement, keep_row, rows, &totals) : -ENOMEM;
	if (!*err)
		answer = json_pack("{s:O, s:O?}", "data", rows, "totals", totals);
	if (!*err && !answer)
		*err = -ENOMEM;
	json_decref(rows);
	json_decref(totals);
	return answer;
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
	err = sums_run(sums, print_use, http_database(sums->http), "");
	for (size_t i = 0; i < count && !err; i++)
		err = sums_run(sums, print_pick, &(struct pick){wheres[i], i}, "");
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
