/* SPDX-License-Identifier: BSD-2-Clause */
/* diff.c: compares two selections of a fleet's profiles, summed by the ClickHouse server. */
#include "diff.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>

#include "sums.h"

/* Rows with a label and the side that they belong to. Timer samples are a Poisson count. Collection
 * time is as uncertain as the bytes by which it is charged. */
static const struct {
	const char *select;
	const char *table; /* NULL: picked */
} parts[FLEET_DIFF_TABLES] = {
	[FLEET_DIFF_FUNCTIONS] =
		{"SELECT name AS label, side, value, value * value / samples AS variance,"
		 " 0 AS observed FROM (SELECT side, functions[1] AS function, s_cpu_ns AS value,"
		 " greatest(s_cpu_samples, 1) AS samples FROM picked ANY LEFT JOIN " SUMS_STACKS
		 " USING stack WHERE s_cpu_ns > 0) AS rows ANY LEFT JOIN (SELECT function, name"
		 " FROM functions" SUMS_SERVICES ") AS names USING function",
		 NULL},
	[FLEET_DIFF_TYPES] = {"SELECT type AS label, side, s_alloc_bytes AS value,"
			      " s_alloc_variance AS variance, s_alloc_observed AS observed"
			      " FROM picked WHERE s_alloc_samples > 0",
			      NULL},
	[FLEET_DIFF_SITES] = {"SELECT arrayStringConcat(" SUMS_NAMES
			      ", ' < ') AS label, side, value, variance,"
			      " 0 AS observed FROM " SUMS_NAME_BEGIN "(SELECT side, "
			      "site AS path,"
			      " sum(s_gc_ns) AS value,"
			      " sum(s_alloc_variance) * pow(value / greatest(sum(s_alloc_bytes), "
			      "1), 2) AS variance"
			      " FROM picked ANY LEFT JOIN " SUMS_STACKS
			      " USING stack WHERE s_gc_ns > 0 GROUP BY side, path)" SUMS_NAME_END
			      " GROUP BY side, path, value, variance",
			      NULL},
	/* At most: the server has no squares of events that were added up. */
	[FLEET_DIFF_PAUSES] = {"SELECT kind AS label, side, toFloat64(pause_ns) AS value,"
			       " value * max_ns AS variance, 0 AS observed FROM ",
			       "pauses"},
	[FLEET_DIFF_CALLS] = {"SELECT name AS label, side, toFloat64(total_ns) AS value,"
			      " value * max_ns AS variance, 0 AS observed FROM ",
			      "calls"},
};

struct request {
	const struct where *const *wheres;
	const struct fleet_diff *diff;
	enum fleet_diff_table table;
	uint64_t top;
};

static void print_rows(const struct request *request, FILE *out)
{
	const char *table = parts[request->table].table;

	fputs(parts[request->table].select, out);
	for (int side = 0; side < 2 && table; side++) {
		fprintf(out, "%s SELECT *, %d AS side FROM %s WHERE ", side ? " UNION ALL" : "(",
			side, table);
		where_print(request->wheres[side], "time", out);
	}
	fputs(table ? ")" : "", out);
}

static void print_table(const void *context, FILE *out)
{
	static const char *const sides[] = {"before", "after"};
	const struct request *request = context;

	fputs("SELECT label", out);
	for (int side = 0; side < 2; side++)
		fprintf(out,
			", sum(if(side = %d, value, 0)) AS %s, sum(if(side = %d, variance, 0)) AS"
			" %s_variance, sum(if(side = %d, observed, 0)) AS %s_observed",
			side, sides[side], side, sides[side], side, sides[side]);
	fputs(" FROM (", out);
	print_rows(request, out);
	fprintf(out,
		") GROUP BY label WITH TOTALS ORDER BY abs(after / %.17g - before / %.17g) DESC"
		" LIMIT %" PRIu64,
		request->diff->cpu_ns[1], request->diff->cpu_ns[0], request->top);
}

static void print_cpu(const void *context, FILE *out)
{
	(void)context;
	fputs("SELECT sum(if(side = 0, s_cpu_ns, 0)) AS before, sum(if(side = 1, s_cpu_ns, 0)) AS"
	      " after FROM picked",
	      out);
}

/* A number in the first row of the answer, which it takes over. */
static double take_number(json_t *answer, const char *key)
{
	const json_t *row = json_array_get(json_object_get(answer, "data"), 0);
	double value = json_number_value(json_object_get(row, key));

	json_decref(answer);
	return value;
}

static int find_sizes(struct sums *sums, const struct where *const wheres[2],
		      struct fleet_diff *out)
{
	int err;
	json_t *cpu = sums_ask(sums, print_cpu, NULL, &err);

	out->cpu_ns[0] = take_number(json_incref(cpu), "before");
	out->cpu_ns[1] = take_number(cpu, "after");
	for (int side = 0; side < 2 && !err; side++)
		err = sums_profiles(sums, wheres[side], &out->profiles[side]);
	return err;
}

int fleet_diff(struct http *http, const struct where *const wheres[2], uint64_t top,
	       struct fleet_diff *out, struct http_problem *problem)
{
	struct sums sums = {http, problem, {0}};
	bool compared, processes = wheres[0]->process || wheres[1]->process;
	int err;

	*out = (struct fleet_diff){.tables = {NULL}};
	err = sums_begin(&sums, wheres, 2);
	if (!err)
		err = find_sizes(&sums, wheres, out);
	compared = out->cpu_ns[0] > 0 && out->cpu_ns[1] > 0;
	for (enum fleet_diff_table i = 0; i < FLEET_DIFF_TABLES && compared && !err; i++)
		if (i != FLEET_DIFF_CALLS || !processes)
			out->tables[i] = sums_ask(&sums, print_table,
						  &(struct request){wheres, out, i, top}, &err);
	sums_end(&sums);
	return err;
}

void fleet_diff_free(struct fleet_diff *diff)
{
	for (size_t i = 0; i < FLEET_DIFF_TABLES; i++)
		json_decref(diff->tables[i]);
}
