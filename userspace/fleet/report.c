/* SPDX-License-Identifier: BSD-2-Clause */
/* report.c: reports on selected profiles of a fleet, summed by the ClickHouse server. */
/*
 * The server first sums samples by stack and type into a temporary table, without resolving stacks.
 * Then it divides these sums among the functions of the stacks, and sends only rows that are shown.
 * This module computes intervals from the sums of variances, as for one profile.
 */
#include "report.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../model/world/estimate.h"
#include "tables.h"

enum { IDS_AT_ONCE = 4000 }; /* function IDs per statement, whose limit is 256 KiB */

struct report {
	struct http *http;
	const struct where *where;
	uint64_t top;
	struct http_problem *problem;
	json_t *totals;
	struct buffer answer;
};

/* The figures of a function and the sums of stacks that they come from. */
static const struct {
	const char *sum, *self, *total;
} figures[] = {
	{"cpu_samples", NULL, "cpu_samples"},
	{"cpu_ns", "cpu_self_ns", "cpu_total_ns"},
	{"alloc_bytes", "alloc_self_bytes", "alloc_total_bytes"},
	{"alloc_variance", "alloc_self_variance", "alloc_total_variance"},
	{"alloc_observed", "alloc_self_observed", "alloc_total_observed"},
	{"known_bytes", "fate_known_bytes", "fate_known_total_bytes"},
	{"known_variance", "known_self_variance", "known_total_variance"},
	{"survived_bytes", "survived_bytes", "survived_total_bytes"},
	{"gc_ns", "gc_self_ns", "gc_ns"},
	{"syscall_ns", "syscall_self_ns", "syscall_ns"},
	{"off_cpu_ns", "off_cpu_self_ns", "off_cpu_ns"},
};

enum { N_FIGURES = sizeof(figures) / sizeof(*figures) };

/* --- statements ------------------------------------------------------------------------------ */

/* Prints sum(x) AS NAMEx, ... for all figures; as floats, because ns of a fleet exceed 64 bits. */
static void print_sums(FILE *out, const char *of, const char *name)
{
	const char *comma = "";

	for (const struct fleet_column *c = fleet_tables[FLEET_samples].columns; c->name; c++)
		if (fleet_is_sum(c)) {
			fprintf(out, "%ssum(toFloat64(%s%s)) AS %s%s", comma, of, c->name, name,
				c->name);
			comma = ", ";
		}
}

/* Temporary tables are created from tables of the session's database, whatever the URL says. */
static void use_sql(const struct report *report, FILE *out)
{
	fprintf(out, "USE %s", http_database(report->http));
}

/* Sums the selected samples once, for all statements that follow. */
static void picked_sql(const struct report *report, FILE *out)
{
	bool hourly = report->where->hourly;

	fputs("CREATE TEMPORARY TABLE picked AS SELECT service, stack, type, ", out);
	print_sums(out, "", "s_");
	fprintf(out, " FROM %s WHERE ", hourly ? "hourly" : "samples");
	where_print(report->where, hourly ? "hour" : "time", out);
	fputs(" GROUP BY service, stack, type", out);
}

static void print_stack_sums(const char *keys, FILE *out)
{
	fprintf(out, "(SELECT %s, ", keys);
	print_sums(out, "s_", "s_");
	fprintf(out, " FROM picked GROUP BY %s)", keys);
}

#define OF_SERVICES " WHERE service IN (SELECT service FROM picked)"

/* The functions of the selected stacks, from the selected services only. */
#define STACKS                                             \
	"(SELECT stack, functions FROM stacks" OF_SERVICES \
	" AND stack IN (SELECT stack FROM picked))"

static double total(const struct report *report, const char *key)
{
	double value = json_number_value(json_object_get(report->totals, key));

	return value > 1 ? value : 1;
}

/* Costliest rows first, nearly as in ../model/functions.c. */
static void print_order(const struct report *report, const char *self, FILE *out)
{
	double time = total(report, "cpu_ns") + total(report, "gc_ns");

	fprintf(out,
		" ORDER BY (cpu%s_ns + gc%s_ns) / %.17g + alloc%s_bytes / %.17g + syscall%s_ns / "
		"%.17g"
		" + off_cpu%s_ns / %.17g DESC LIMIT %" PRIu64,
		self, self, time, self, 4 * total(report, "alloc_bytes"), self,
		8 * fmax(total(report, "syscall_ns"), time), self,
		8 * fmax(total(report, "off_cpu_ns"), time), report->top);
}

typedef void statement_printer(const struct report *report, FILE *out);

/* Runs the statement that `print` prints, followed by `format`. */
static int run(struct report *report, statement_printer *print, const char *format)
{
	char *sql = NULL;
	size_t size;
	FILE *out = open_memstream(&sql, &size);
	int err;

	if (!out)
		return -ENOMEM;
	print(report, out);
	fputs(format, out);
	err = fclose(out) ? -ENOMEM : 0;
	if (!err)
		err = http_query(report->http, sql, NULL, &report->answer, report->problem);
	free(sql);
	return err;
}

/* Runs a statement and returns its rows, or NULL and sets *err. */
static json_t *ask(struct report *report, statement_printer *print, int *err)
{
	json_t *answer, *rows;

	*err = run(report, print, " FORMAT JSON");
	if (*err)
		return NULL;
	answer = json_loadb(report->answer.data, report->answer.size - 1, JSON_ALLOW_NUL, NULL);
	rows = json_incref(json_object_get(answer, "data"));
	*err = json_is_array(rows) ? 0 : -EBADMSG;
	json_decref(answer);
	return rows;
}

static void totals_sql(const struct report *report, FILE *out)
{
	(void)report;
	fputs("SELECT ", out);
	print_sums(out, "s_", "");
	fputs(" FROM picked", out);
}

static void functions_sql(const struct report *report, FILE *out)
{
	fputs("SELECT name, module, runtime, file, line", out);
	for (size_t i = 0; i < N_FIGURES; i++)
		fprintf(out, "%s%s, %s", figures[i].self ? ", " : "",
			figures[i].self ? figures[i].self : "", figures[i].total);
	fputs(" FROM (SELECT f AS function", out);
	for (size_t i = 0; i < N_FIGURES; i++) {
		if (figures[i].self)
			fprintf(out, ", sum(if(f = functions[1], s_%s, 0)) AS %s", figures[i].sum,
				figures[i].self);
		fprintf(out, ", sum(s_%s) AS %s", figures[i].sum, figures[i].total);
	}
	fputs(" FROM (SELECT * FROM ", out);
	print_stack_sums("stack", out);
	fputs(" ANY LEFT JOIN " STACKS
	      " USING stack) ARRAY JOIN arrayDistinct(functions) AS f GROUP BY f",
	      out);
	print_order(report, "_self", out);
	fputs(") ANY LEFT JOIN (SELECT function, name, module, runtime, file, line FROM "
	      "functions" OF_SERVICES ") USING function",
	      out);
	print_order(report, "_self", out);
}

/* A site is the first three functions of a stack; direct recursion counts once. */
static void sites_sql(const struct report *report, FILE *out)
{
	fputs("SELECT arrayMap(f -> toString(f), site) AS functions,"
	      " if(uniqExact(type) = 1, any(type), '') AS of_type, ",
	      out);
	print_sums(out, "s_", "");
	fputs(" FROM (SELECT *, arraySlice(arrayFilter((f, i) -> i = 1 OR f != functions[i - 1],"
	      " functions, arrayEnumerate(functions)), 1, 3) AS site FROM ",
	      out);
	print_stack_sums("stack, type", out);
	fprintf(out,
		" ANY LEFT JOIN " STACKS " USING stack) WHERE s_alloc_samples > 0 GROUP BY site"
		" ORDER BY gc_ns DESC, alloc_bytes DESC LIMIT %" PRIu64,
		report->top);
}

static void stacks_sql(const struct report *report, FILE *out)
{
	fputs("SELECT ", out);
	for (const struct fleet_column *c = fleet_tables[FLEET_samples].columns; c->name; c++)
		if (fleet_is_sum(c))
			fprintf(out, "s_%s AS %s, ", c->name, c->name);
	fputs("arrayMap(f -> toString(f), functions) AS functions FROM (SELECT *, s_cpu_ns AS "
	      "cpu_ns, s_gc_ns AS gc_ns, s_alloc_bytes AS "
	      "alloc_bytes,"
	      " s_syscall_ns AS syscall_ns, s_off_cpu_ns AS off_cpu_ns FROM ",
	      out);
	print_stack_sums("stack", out);
	print_order(report, "", out);
	fputs(") ANY LEFT JOIN " STACKS " USING stack", out);
}

static void calls_sql(const struct report *report, FILE *out)
{
	fputs("SELECT name, sum(count) AS count, sum(errors) AS errors, sum(total_ns) AS total_ns,"
	      " max(max_ns) AS max_ns, sum(in_gc_ns) AS in_gc_ns FROM calls WHERE ",
	      out);
	where_print(report->where, "time", out);
	fprintf(out, " GROUP BY name ORDER BY total_ns DESC LIMIT %" PRIu64, report->top);
}

static void pauses_sql(const struct report *report, FILE *out)
{
	fputs("SELECT kind, n AS count, ns AS total_ns, p50 AS p50_ns, p99 AS p99_ns, longest AS "
	      "max_ns"
	      " FROM (SELECT kind, sum(count) AS n, sum(pause_ns) AS ns, max(max_ns) AS longest,"
	      " quantileExactWeighted(0.5)(intDiv(pause_ns, count), count) AS p50,"
	      " quantileExactWeighted(0.99)(intDiv(pause_ns, count), count) AS p99 FROM pauses "
	      "WHERE ",
	      out);
	where_print(report->where, "time", out);
	fputs(" GROUP BY kind ORDER BY ns DESC)", out);
}

static void profiles_sql(const struct report *report, FILE *out)
{
	fprintf(out, "SELECT uniqExact(profile) AS profiles FROM %s WHERE ",
		report->where->process ? "samples" : "calls");
	where_print(report->where, "time", out);
}

/* --- rows ------------------------------------------------------------------------------------ */

static double number(const json_t *row, const char *key)
{
	return json_number_value(json_object_get(row, key));
}

static void put(json_t *row, const char *key, double value)
{
	json_object_set_new(row, key,
			    json_integer(value > 0 ? (json_int_t)llround(fmin(value, 9e18)) : 0));
}

/* Replaces bytes, variance and observed bytes by an object with the interval. */
static void put_bytes(json_t *row, const char *key, const char *bytes, const char *variance,
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

/* Adds the share that survived, with its interval. */
static void put_survived(json_t *row, const char *known, const char *survived, const char *variance)
{
	const struct share share = {number(row, known), number(row, survived),
				    number(row, variance)};
	struct estimate estimate = share_estimate(&share);

	json_object_set_new(row, "survived",
			    estimate.value >= 0 ? json_real(estimate.value) : json_null());
	json_object_set_new(row, "survived_low", json_real(estimate.low));
	json_object_set_new(row, "survived_high", json_real(estimate.high));
}

/* Rounds all figures except shares. */
static void round_all(json_t *row)
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

static void finish_function(json_t *row)
{
	bool self = number(row, "alloc_self_bytes") > 0;

	put_survived(row, self ? "fate_known_bytes" : "fate_known_total_bytes",
		     self ? "survived_bytes" : "survived_total_bytes",
		     self ? "known_self_variance" : "known_total_variance");
	json_object_del(row, "known_self_variance");
	json_object_del(row, "known_total_variance");
	put_bytes(row, "alloc_self", "alloc_self_bytes", "alloc_self_variance",
		  "alloc_self_observed");
	put_bytes(row, "alloc_total", "alloc_total_bytes", "alloc_total_variance",
		  "alloc_total_observed");
	round_all(row);
}

/* Adds "bytes" with its interval and the survived share, to sites, stacks and totals. */
static void finish_sums(json_t *row)
{
	put_survived(row, "known_bytes", "survived_bytes", "known_variance");
	put_bytes(row, "bytes", "alloc_bytes", "alloc_variance", "alloc_observed");
	json_object_del(row, "known_variance");
	round_all(row);
}

/* Reduces a site to allocation figures, with the keys of a report of one profile. */
static void finish_site(json_t *row)
{
	static const char *const others[] = {"cpu_samples", "cpu_ns", "syscall_ns", "off_cpu_ns"};

	finish_sums(row);
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		json_object_del(row, others[i]);
	json_object_set(row, "type", json_object_get(row, "of_type"));
	json_object_del(row, "of_type");
	json_object_set(row, "samples", json_object_get(row, "alloc_samples"));
	json_object_del(row, "alloc_samples");
	json_object_del(row, "alloc_bytes");
}

/* --- names ----------------------------------------------------------------------------------- */

/* The IDs that names_sql() selects. */
static struct {
	const char *const *ids;
	size_t count;
} wanted;

static void names_sql(const struct report *report, FILE *out)
{
	(void)report;
	fputs("SELECT DISTINCT toString(function) AS id, name FROM functions" OF_SERVICES
	      " AND function IN (",
	      out);
	for (size_t i = 0; i < wanted.count; i++)
		fprintf(out, "%s%s", i ? "," : "", wanted.ids[i]);
	putc(')', out);
}

/* Collects the function IDs of all rows into `names`, each once. They are untrusted. */
static int gather(json_t *rows, json_t *names)
{
	size_t i, j;
	json_t *row, *id;

	json_array_foreach(rows, i, row)
		json_array_foreach(json_object_get(row, "functions"), j, id)
	{
		const char *text = json_string_value(id);

		if (!text || !*text || text[strspn(text, "0123456789")] || strlen(text) > 20)
			return -EBADMSG;
		if (!json_object_get(names, text))
			json_object_set_new(names, text, json_null());
	}
	return 0;
}

static int find_names(struct report *report, json_t *names)
{
	const char *ids[IDS_AT_ONCE], *key;
	void *at = json_object_iter(names);
	int err = 0;

	while (at && !err) {
		json_t *rows, *row;
		size_t i;

		for (wanted.count = 0; at && wanted.count < IDS_AT_ONCE;
		     at = json_object_iter_next(names, at))
			ids[wanted.count++] = json_object_iter_key(at);
		wanted.ids = ids;
		rows = ask(report, names_sql, &err);
		/* Changing only values keeps the iterator valid. */
		json_array_foreach(rows, i, row)
		{
			key = json_string_value(json_object_get(row, "id"));
			if (key && json_object_get(names, key))
				json_object_set(names, key, json_object_get(row, "name"));
		}
		json_decref(rows);
	}
	return err;
}

static void name_rows(json_t *rows, const json_t *names)
{
	json_t *row, *functions, *id;
	size_t i, j;

	json_array_foreach(rows, i, row)
	{
		functions = json_object_get(row, "functions");
		json_array_foreach(functions, j, id)
		{
			json_t *name = json_object_get(names, json_string_value(id));

			json_array_set_new(functions, j,
					   json_is_string(name) ? json_incref(name)
								: json_string("(unknown)"));
		}
	}
}

/* --- the report ------------------------------------------------------------------------------ */

typedef void row_finisher(json_t *row);

static int add(struct report *report, json_t *object, const char *key, statement_printer *print,
	       row_finisher *finish)
{
	int err = 0;
	json_t *rows = ask(report, print, &err), *row;
	size_t i;

	json_array_foreach(rows, i, row) if (finish) finish(row);
	if (!err && json_object_set(object, key, rows))
		err = -ENOMEM;
	json_decref(rows);
	return err;
}

/* Replaces function IDs in sites and stacks by names. */
static int add_names(struct report *report, json_t *object)
{
	json_t *sites = json_object_get(object, "sites"),
	       *stacks = json_object_get(object, "stacks");
	json_t *names = json_object();
	int err = gather(sites, names);

	if (!err)
		err = gather(stacks, names);
	if (!err)
		err = find_names(report, names);
	if (!err) {
		name_rows(sites, names);
		name_rows(stacks, names);
	}
	json_decref(names);
	return err;
}

static int add_totals(struct report *report, json_t *object)
{
	int err = 0;
	json_t *rows = ask(report, totals_sql, &err), *profiles;

	if (err)
		return err;
	report->totals = json_incref(json_array_get(rows, 0));
	json_decref(rows);
	profiles = ask(report, profiles_sql, &err);
	json_object_set(object, "profiles",
			json_object_get(json_array_get(profiles, 0), "profiles"));
	json_decref(profiles);
	return err;
}

int fleet_report(struct http *http, const struct where *where, uint64_t top, json_t **out,
		 struct http_problem *problem)
{
	struct report report = {http, where, top, problem, NULL, {0}};
	json_t *object = json_object();
	int err = object ? 0 : -ENOMEM;

	http_begin_session(http);
	if (!err)
		err = run(&report, use_sql, "");
	if (!err)
		err = run(&report, picked_sql, "");
	if (!err)
		err = add_totals(&report, object);
	if (!err)
		err = add(&report, object, "functions", functions_sql, finish_function);
	if (!err)
		err = add(&report, object, "sites", sites_sql, finish_site);
	if (!err)
		err = add(&report, object, "stacks", stacks_sql, finish_sums);
	if (!err)
		err = add_names(&report, object);
	if (!err && !where->process)
		err = add(&report, object, "syscalls", calls_sql, NULL);
	if (!err)
		err = add(&report, object, "pauses", pauses_sql, NULL);
	if (!err) {
		finish_sums(report.totals);
		json_object_set(object, "totals", report.totals);
	}
	json_decref(report.totals);
	buffer_free(&report.answer);
	if (err)
		json_decref(object);
	else
		*out = object;
	return err;
}
