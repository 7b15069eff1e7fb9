/* SPDX-License-Identifier: BSD-2-Clause */
/* server.c: gcprof diff --from: compares profiles in a ClickHouse server. */
#include "diff.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../fleet/diff.h"
#include "../../util/units.h"
#include "../../util/log.h"
#include "../../util/options.h"
#include "../../util/plural.h"

enum { ROWS_MAX = 10000 }; /* of each table, before those that may be noise are left out */

static const char *const sides[] = {"before", "after"};

/* Parses the condition of a side, which `common` (may be NULL) restricts. An exit status. */
static int parse(const char *common, const char *own, struct where *out)
{
	char *text = NULL, fault[200];
	const char *joined = common && *common && *own ? " AND " : "";
	int err;

	if (asprintf(&text, "%s%s%s", common ? common : "", joined, own) < 0)
		return EXIT_FAILURE;
	err = where_parse(text, (uint64_t)time(NULL), out, fault, sizeof(fault));
	if (err)
		log_error("%s: %s", text, fault);
	free(text);
	return err ? EXIT_USAGE : 0;
}

static double number(const json_t *row, const char *side, const char *suffix)
{
	char key[32];

	snprintf(key, sizeof(key), "%s%s", side, suffix);
	return json_number_value(json_object_get(row, key));
}

/* The figure of a side, per second of CPU time. If there is none, `sample` is what one sample
 * would have stood for. */
static struct estimate figure(const json_t *row, int side, double sample, double cpu_ns)
{
	const struct tally tally = {number(row, sides[side], ""),
				    number(row, sides[side], "_variance"),
				    number(row, sides[side], "_observed")};
	struct estimate estimate = tally.value > 0
					   ? tally_estimate(&tally)
					   : estimate_of_nothing((uint64_t)fmin(sample, 1e18));
	double factor = 1e9 / cpu_ns;

	return (struct estimate){estimate.value * factor, estimate.low * factor,
				 estimate.high * factor};
}

static int add(struct diff_table *table, const char *name, enum diff_unit unit, enum diff_rank rank,
	       const json_t *row, const double samples[2], const struct fleet_diff *from)
{
	return diff_add(table, name, unit, figure(row, 0, samples[0], from->cpu_ns[0]),
			figure(row, 1, samples[1], from->cpu_ns[1]), rank);
}

/* Adds the rows of a table and their total. `sampled`: absence of samples proves nothing. */
static int add_table(struct diff *diff, struct diff_table *table, const char *total,
		     enum diff_unit unit, bool sampled, const json_t *answer,
		     const struct fleet_diff *from)
{
	const json_t *rows = json_object_get(answer, "data"), *row,
		     *totals = json_object_get(answer, "totals");
	double samples[2] = {0, 0};
	int err = 0;
	size_t i;

	for (int side = 0; side < 2 && sampled; side++)
		samples[side] = number(totals, sides[side], "_variance") /
				fmax(number(totals, sides[side], ""), 1);
	if (total && json_array_size(rows))
		err = add(&diff->totals, total, unit, DIFF_OF_TOTAL, totals, samples, from);
	json_array_foreach(rows, i, row)
	{
		const char *label = json_string_value(json_object_get(row, "label"));

		if (!err)
			err = add(table, label && *label ? label : "(unknown)", unit, DIFF_OF_ROW,
				  row, samples, from);
	}
	diff_sort(table);
	return err;
}

static int fill(struct diff *diff, const struct fleet_diff *from)
{
	const struct {
		struct diff_table *table;
		const char *total; /* NULL: none, since it is the unit */
		enum diff_unit unit;
		bool sampled;
	} tables[FLEET_DIFF_TABLES] = {
		[FLEET_DIFF_FUNCTIONS] = {&diff->functions, NULL, DIFF_TIME, true},
		[FLEET_DIFF_TYPES] = {&diff->types, "allocated", DIFF_BYTES, true},
		[FLEET_DIFF_SITES] = {&diff->sites, "collection time caused", DIFF_TIME, true},
		[FLEET_DIFF_PAUSES] = {&diff->pauses, "pauses", DIFF_TIME, false},
		[FLEET_DIFF_CALLS] = {&diff->syscalls, "time in system calls", DIFF_TIME, false},
	};
	int err = 0;

	for (size_t i = 0; i < FLEET_DIFF_TABLES && !err; i++)
		err = add_table(diff, tables[i].table, tables[i].total, tables[i].unit,
				tables[i].sampled, from->tables[i], from);
	return err;
}

/* Prints the differences. A negative errno, as of diff_text(). */
static int print(const char *const conditions[2], const struct fleet_diff *from,
		 diff_printer *printer, const struct report_options *options)
{
	struct model models[2] = {{.file = conditions[0]}, {.file = conditions[1]}};
	char texts[2][400];
	struct diff diff = {.before = &models[0], .after = &models[1], .per_cpu = true};
	int err;

	for (int i = 0; i < 2; i++) {
		snprintf(texts[i], sizeof(texts[i]), "%s profile%s, %s of CPU time",
			 unit_count(from->profiles[i]).text, plural(from->profiles[i], "[|s]").text,
			 unit_time(from->cpu_ns[i]).text);
		models[i].run.command_line = texts[i];
		models[i].run.recordings = from->profiles[i];
		models[i].cpu.on_cpu_ns = (uint64_t)fmax(0, fmin(from->cpu_ns[i], 1.8e19));
	}
	err = fill(&diff, from);
	if (!err)
		err = printer(&diff, options, stdout);
	diff_free(&diff);
	return err;
}

int diff_from_server(const struct server_arguments *server, const char *common,
		     const char *const conditions[2], diff_printer *printer,
		     const struct report_options *options)
{
	static struct where wheres[2];
	struct http_problem problem = {0};
	struct fleet_diff from = {.tables = {NULL}};
	struct http *http = NULL;
	int err, status = parse(common, conditions[0], &wheres[0]);

	if (!status)
		status = parse(common, conditions[1], &wheres[1]);
	if (!status)
		status = server_open(server, true, &http);
	if (status)
		return status;
	err = fleet_diff(http, (const struct where *[]){&wheres[0], &wheres[1]}, ROWS_MAX, &from,
			 &problem);
	for (size_t i = 0; i < FLEET_DIFF_TABLES && !err; i++)
		err = server_clean(from.tables[i]);
	if (err)
		log_error("%s: %s", http_name(http),
			  err == -EBADMSG ? "the server's answer is invalid" : problem.text);
	for (int i = 0; i < 2 && !err; i++)
		if (from.cpu_ns[i] <= 0) {
			log_error("%s: no profile with CPU time; figures are compared per second "
				  "of CPU time",
				  *conditions[i] ? conditions[i] : sides[i]);
			err = -ENODATA;
		}
	if (!err)
		err = print(conditions, &from, printer, options);
	fleet_diff_free(&from);
	http_free(http);
	return err ? EXIT_FAILURE : 0;
}
