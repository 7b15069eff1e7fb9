/* SPDX-License-Identifier: BSD-2-Clause */
/* otel.c: copies pushed profiles into the table of OpenTelemetry's ClickHouse exporter. */
/*
 * The server makes the rows from those of gcprof's own tables. One statement adds all rows of a
 * profile; their number shows whether an earlier one was interrupted.
 */
#include "push.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "sums.h"
#include "tables.h"

struct copy {
	const char *table;
	char number[24]; /* the profile's identity, decimal */
	char id[40];     /* the same as OpenTelemetry has it: 16 bytes */
};

bool otel_is_table(const char *text)
{
	const char *dot = strchr(text, '.');
	char database[128];

	if (!dot)
		return fleet_is_name(text);
	return (size_t)snprintf(database, sizeof(database), "%.*s", (int)(dot - text), text) <
		       sizeof(database) &&
	       fleet_is_name(database) && fleet_is_name(dot + 1);
}

void otel_print_schema(const char *table, FILE *out)
{
	const char *comma = "";

	fprintf(out,
		"-- The table of profiles of OpenTelemetry's ClickHouse exporter, which usually\n"
		"-- creates it itself, with codecs and indexes (needs ClickHouse 26.2)\n"
		"CREATE TABLE IF NOT EXISTS %s (",
		table);
#define OTEL(column, type, expression)                     \
	fprintf(out, "%s\n\t%s %s", comma, #column, type); \
	comma = ",";
#include "otel.def"
	fputs("\n) ENGINE = MergeTree PARTITION BY toDate(Timestamp)\n"
	      "ORDER BY (ServiceName, SampleType, toDateTime(Timestamp));\n",
	      out);
}

/* Replaces @ by the profile's number and # by its ID. */
static void print_part(const struct copy *copy, const char *text, FILE *out)
{
	for (; *text; text++)
		if (*text == '@')
			fputs(copy->number, out);
		else if (*text == '#')
			fputs(copy->id, out);
		else
			putc(*text, out);
}

/* One row per sample and measure, with the functions of its stack in `path`, innermost first. */
static void print_rows(const struct copy *copy, FILE *out)
{
	print_part(copy,
		   " FROM (SELECT time, stack, process, type, m.1 AS measure, m.2 AS unit, m.3 AS "
		   "value"
		   " FROM samples ARRAY JOIN [('cpu', 'nanoseconds', toInt64(cpu_ns)),"
		   " ('alloc_space', 'bytes', toInt64(round(alloc_bytes))),"
		   " ('gc_time', 'nanoseconds', toInt64(round(gc_ns))),"
		   " ('syscall', 'nanoseconds', toInt64(syscall_ns)),"
		   " ('off_cpu', 'nanoseconds', toInt64(off_cpu_ns))] AS m"
		   " WHERE profile = @ AND time > toDateTime(0) AND m.3 > 0) AS sums"
		   " ANY LEFT JOIN (SELECT stack, arraySort(groupArray((place, name, file, line,"
		   " module))) AS path FROM (SELECT stack, function, place FROM stacks"
		   " ARRAY JOIN functions AS function, arrayEnumerate(functions) AS place"
		   " WHERE service GLOBAL IN (SELECT service FROM profiles WHERE profile = @)"
		   " AND stack GLOBAL IN (SELECT stack FROM samples WHERE profile = @)) AS rows"
		   " ANY LEFT JOIN (SELECT function, name, file, line, module FROM functions WHERE"
		   " service GLOBAL IN (SELECT service FROM profiles WHERE profile = @)) AS names"
		   " USING function GROUP BY stack) AS of_stack USING stack",
		   out);
}

static void print_insert(const void *context, FILE *out)
{
	const struct copy *copy = context;
	const char *comma = "";

	fprintf(out, "INSERT INTO %s (", copy->table);
#define OTEL(column, type, expression)        \
	fprintf(out, "%s%s", comma, #column); \
	comma = ", ";
#include "otel.def"
	fputs(") SELECT ", out);
	comma = "";
#define OTEL(column, type, expression)     \
	fputs(comma, out);                 \
	print_part(copy, expression, out); \
	comma = ", ";
#include "otel.def"
	print_rows(copy, out);
}

/* Both numbers of rows: those that there should be, and those that there are. */
static void print_counts(const void *context, FILE *out)
{
	const struct copy *copy = context;

	fputs("SELECT (SELECT count()", out);
	print_rows(copy, out);
	fprintf(out, "), (SELECT count() FROM %s WHERE ProfileId = '%s')", copy->table, copy->id);
}

int otel_copy(struct http *http, const char *table, uint64_t profile, uint64_t *rows,
	      struct http_problem *problem)
{
	struct copy copy = {.table = table};
	struct sums sums = {.http = http, .problem = problem};
	uint64_t wanted = 0, present = 0;
	int err;

	snprintf(copy.number, sizeof(copy.number), "%" PRIu64, profile);
	snprintf(copy.id, sizeof(copy.id), "%032" PRIx64, profile);
	*rows = 0;
	err = sums_run(&sums, print_counts, &copy, "");
	if (!err && sscanf(sums.answer.data, "%" SCNu64 "%" SCNu64, &wanted, &present) != 2)
		err = -EBADMSG;
	if (!err && present && present != wanted) {
		snprintf(problem->text, sizeof(problem->text),
			 "%s has %" PRIu64 " of its %" PRIu64
			 " rows, since a copy was interrupted; "
			 "delete them with ALTER TABLE %s DELETE WHERE ProfileId = '%s'",
			 table, present, wanted, table, copy.id);
		err = -EEXIST;
	}
	if (!err && wanted && !present) {
		err = sums_run(&sums, print_insert, &copy, "");
		*rows = err ? 0 : wanted;
	}
	sums_end(&sums);
	return err;
}
