/* SPDX-License-Identifier: BSD-2-Clause */
/* report.c: reports on selected profiles of a fleet, summed by the ClickHouse server. */
/*
 * The server first sums samples by stack and type, without resolving stacks (sums.h). Then it
 * divides these sums among the functions of the stacks, and sends only rows that are shown. This
 * module computes intervals from the sums of variances, as for one profile.
 */
#include "report.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "../model/world/estimate.h"
#include "sums.h"
#include "tables.h"

struct report {
	struct sums sums;
	const struct where *where;
	uint64_t top;
	json_t *totals;
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

static void print_stack_sums(const char *keys, const char *name, FILE *out)
{
	fprintf(out, "(SELECT %s, ", keys);
	sums_print(out, "s_", name);
	fprintf(out, " FROM picked GROUP BY %s) AS sums", keys);
}

static void print_columns(FILE *out)
{
	for (const struct fleet_column *c = fleet_tables[FLEET_samples].columns; c->name; c++)
		if (fleet_is_sum(c))
			fprintf(out, "%s, ", c->name);
}

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

static void totals_sql(const void *context, FILE *out)
{
	(void)context;
	fputs("SELECT ", out);
	sums_print(out, "s_", "");
	fputs(" FROM picked", out);
}

static void functions_sql(const void *context, FILE *out)
{
	const struct report *report = context;

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
	print_stack_sums("stack", "s_", out);
	fputs(" ANY LEFT JOIN " SUMS_STACKS
	      " USING stack) ARRAY JOIN arrayDistinct(functions) AS f GROUP BY f",
	      out);
	print_order(report, "_self", out);
	fputs(") AS rows ANY LEFT JOIN (SELECT function, name, module, runtime, file, line FROM "
	      "functions" SUMS_SERVICES ") AS names USING function",
	      out);
	print_order(report, "_self", out);
}

static void sites_sql(const void *context, FILE *out)
{
	static const char order[] = " ORDER BY gc_ns DESC, alloc_bytes DESC";
	const struct report *report = context;

	fputs("SELECT ", out);
	print_columns(out);
	fputs("of_type, " SUMS_NAMES " AS functions FROM " SUMS_NAME_BEGIN "(SELECT "
	      "site AS path, if(uniqExact(type) = 1, any(type), '') AS of_type, ",
	      out);
	sums_print(out, "s_", "");
	fputs(" FROM ", out);
	print_stack_sums("stack, type", "s_", out);
	fprintf(out,
		" ANY LEFT JOIN " SUMS_STACKS " USING stack WHERE s_alloc_samples > 0 GROUP BY path"
		"%s LIMIT %" PRIu64 ")" SUMS_NAME_END " GROUP BY ",
		order, report->top);
	print_columns(out);
	fprintf(out, "of_type, path%s", order);
}

static void types_sql(const void *context, FILE *out)
{
	const struct report *report = context;

	fputs("SELECT type AS name, ", out);
	sums_print(out, "s_", "");
	fprintf(out,
		" FROM picked WHERE s_alloc_samples > 0 GROUP BY type ORDER BY alloc_bytes DESC"
		" LIMIT %" PRIu64,
		report->top);
}

static void stacks_sql(const void *context, FILE *out)
{
	const struct report *report = context;

	fputs("SELECT ", out);
	print_columns(out);
	fputs(SUMS_NAMES " AS functions FROM " SUMS_NAME_BEGIN
			 "(SELECT *, functions AS path FROM (SELECT * FROM ",
	      out);
	print_stack_sums("stack", "", out);
	print_order(report, "", out);
	fputs(") AS costliest ANY LEFT JOIN " SUMS_STACKS " USING stack)" SUMS_NAME_END
	      " GROUP BY ",
	      out);
	print_columns(out);
	fputs("stack, path", out);
	print_order(report, "", out);
}

static void calls_sql(const void *context, FILE *out)
{
	const struct report *report = context;

	fputs("SELECT name, sum(count) AS count, sum(errors) AS errors, sum(toFloat64(total_ns))"
	      " AS total_ns, max(max_ns) AS max_ns, sum(toFloat64(in_gc_ns)) AS in_gc_ns FROM"
	      " calls WHERE ",
	      out);
	where_print(report->where, "time", out);
	fprintf(out, " GROUP BY name ORDER BY total_ns DESC LIMIT %" PRIu64, report->top);
}

static void threads_sql(const void *context, FILE *out)
{
	const struct report *report = context;

	fputs("SELECT process, name, sum(count) AS threads, sum(cpu_samples) AS cpu_samples,"
	      " sum(toFloat64(cpu_ns)) AS cpu_ns, sum(alloc_samples) AS alloc_samples,"
	      " sum(alloc_bytes) AS alloc_bytes, if(sum(queued_known) > 0,"
	      " sum(toFloat64(queued_ns)), NULL) AS queued_ns FROM threads WHERE ",
	      out);
	where_print(report->where, "time", out);
	fprintf(out, " GROUP BY process, name ORDER BY cpu_ns DESC, process, name LIMIT %" PRIu64,
		report->top);
}

static void pauses_sql(const void *context, FILE *out)
{
	const struct report *report = context;

	fputs("SELECT kind, n AS count, ns AS total_ns, p50 AS p50_ns, p99 AS p99_ns, longest AS "
	      "max_ns"
	      " FROM (SELECT kind, sum(count) AS n, sum(toFloat64(pause_ns)) AS ns, max(max_ns) AS "
	      "longest,"
	      " quantileExactWeighted(0.5)(intDiv(pause_ns, count), count) AS p50,"
	      " quantileExactWeighted(0.99)(intDiv(pause_ns, count), count) AS p99 FROM pauses "
	      "WHERE ",
	      out);
	where_print(report->where, "time", out);
	fputs(" GROUP BY kind ORDER BY ns DESC)", out);
}

/* --- rows ------------------------------------------------------------------------------------ */

static double number(const json_t *row, const char *key)
{
	return json_number_value(json_object_get(row, key));
}

/* Adds the share that survived, with its interval. */
static void put_survived(json_t *row, const char *known, const char *survived, const char *variance)
{
	const struct share share = {number(row, known), number(row, survived),
				    number(row, variance)};
	struct estimate estimate = share_estimate(&share);
	bool is_known = estimate.value >= 0;

	json_object_set_new(row, "survived", is_known ? json_real(estimate.value) : json_null());
	json_object_set_new(row, "survived_low", is_known ? json_real(estimate.low) : json_null());
	json_object_set_new(row, "survived_high",
			    is_known ? json_real(estimate.high) : json_null());
}

static void finish_function(json_t *row)
{
	bool self = number(row, "alloc_self_bytes") > 0;

	put_survived(row, self ? "fate_known_bytes" : "fate_known_total_bytes",
		     self ? "survived_bytes" : "survived_total_bytes",
		     self ? "known_self_variance" : "known_total_variance");
	json_object_del(row, "known_self_variance");
	json_object_del(row, "known_total_variance");
	sums_put_bytes(row, "alloc_self", "alloc_self_bytes", "alloc_self_variance",
		       "alloc_self_observed");
	sums_put_bytes(row, "alloc_total", "alloc_total_bytes", "alloc_total_variance",
		       "alloc_total_observed");
	sums_round(row);
}

/* Adds "bytes" with its interval and the survived share, to sites, stacks and totals. */
static void finish_sums(json_t *row)
{
	put_survived(row, "known_bytes", "survived_bytes", "known_variance");
	sums_put_bytes(row, "bytes", "alloc_bytes", "alloc_variance", "alloc_observed");
	json_object_del(row, "known_variance");
	sums_round(row);
}

/* Reduces a type or site to allocation figures, with the keys of a report of one profile. */
static void finish_type(json_t *row)
{
	static const char *const others[] = {"cpu_samples", "cpu_ns", "syscall_ns", "off_cpu_ns"};

	finish_sums(row);
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		json_object_del(row, others[i]);
	json_object_set(row, "samples", json_object_get(row, "alloc_samples"));
	json_object_del(row, "alloc_samples");
	json_object_del(row, "alloc_bytes");
}

static void finish_site(json_t *row)
{
	finish_type(row);
	json_object_set(row, "type", json_object_get(row, "of_type"));
	json_object_del(row, "of_type");
}

/* --- the report ------------------------------------------------------------------------------ */

typedef void row_finisher(json_t *row);

static int add(struct report *report, json_t *object, const char *key, sums_printer *print,
	       row_finisher *finish)
{
	int err;
	json_t *answer = sums_ask(&report->sums, print, report, &err);
	json_t *rows = json_object_get(answer, "data"), *row;
	size_t i;

	json_array_foreach(rows, i, row) if (finish) finish(row);
	if (!err && json_object_set(object, key, rows))
		err = -ENOMEM;
	json_decref(answer);
	return err;
}

/* Takes over the answer; returns the first row, NULL if there is none. */
static json_t *first(json_t *answer)
{
	json_t *row = json_incref(json_array_get(json_object_get(answer, "data"), 0));

	json_decref(answer);
	return row;
}

static int add_totals(struct report *report, json_t *object)
{
	uint64_t profiles;
	int err;

	report->totals = first(sums_ask(&report->sums, totals_sql, NULL, &err));
	err = err ? err : sums_profiles(&report->sums, report->where, &profiles);
	if (!err)
		json_object_set_new(object, "profiles", json_integer((json_int_t)profiles));
	return err;
}

int fleet_report(struct http *http, const struct where *where, uint64_t top, json_t **out,
		 struct http_problem *problem)
{
	struct report report = {{http, problem, {0}}, where, top, NULL};
	json_t *object = json_object();
	int err = object ? sums_begin(&report.sums, &where, 1) : -ENOMEM;

	if (!err)
		err = add_totals(&report, object);
	if (!err)
		err = add(&report, object, "functions", functions_sql, finish_function);
	if (!err)
		err = add(&report, object, "sites", sites_sql, finish_site);
	if (!err)
		err = add(&report, object, "types", types_sql, finish_type);
	if (!err)
		err = add(&report, object, "stacks", stacks_sql, finish_sums);
	if (!err && !where->process)
		err = add(&report, object, "syscalls", calls_sql, sums_round);
	if (!err)
		err = add(&report, object, "pauses", pauses_sql, sums_round);
	if (!err)
		err = add(&report, object, "threads", threads_sql, sums_round);
	if (!err) {
		finish_sums(report.totals);
		json_object_set(object, "totals", report.totals);
	}
	json_decref(report.totals);
	sums_end(&report.sums);
	if (err)
		json_decref(object);
	else
		*out = object;
	return err;
}
