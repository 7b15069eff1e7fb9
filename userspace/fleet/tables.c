/* SPDX-License-Identifier: BSD-2-Clause */
/* tables.c: the tables of fleet.def as data, and the statements that create them. */
#include "tables.h"

#include <ctype.h>
#include <string.h>

#define ONCE   true
#define LATEST false

const struct fleet_description fleet_tables[FLEET_TABLES] = {
#define FLEET_TABLE(name, kind, partition, order, doc) \
	{                                              \
#name, partition, order, doc, kind,    \
		{
#define GIVEN(table, column, type, doc)  {#column, FLEET_##type, true, doc},
#define COLUMN(table, column, type, doc) {#column, FLEET_##type, false, doc},
#define END_FLEET_TABLE(name) \
	}                     \
	}                     \
	,
#include "fleet.def"
};

const char *fleet_type_name(enum fleet_type type)
{
	static const char *const names[] = {
		[FLEET_U32] = "UInt32",          [FLEET_U64] = "UInt64",
		[FLEET_F64] = "Float64",         [FLEET_TIME] = "DateTime",
		[FLEET_DATE] = "Date",           [FLEET_TEXT] = "String",
		[FLEET_TEXTS] = "Array(String)", [FLEET_U64S] = "Array(UInt64)",
	};

	return names[type];
}

bool fleet_is_name(const char *name)
{
	if (!isalpha((unsigned char)*name) && *name != '_')
		return false;
	while (isalnum((unsigned char)*name) || *name == '_')
		name++;
	return !*name;
}

bool fleet_is_sum(const struct fleet_column *column)
{
	return !column->given && strcmp(column->name, "stack") != 0 &&
	       (column->type == FLEET_U32 || column->type == FLEET_U64 ||
		column->type == FLEET_F64);
}

static const char *sum_type(const struct fleet_column *column)
{
	return fleet_type_name(column->type == FLEET_F64 ? FLEET_F64 : FLEET_U64);
}

void fleet_hourly_select(FILE *out)
{
	fputs("day, service, version, toDateTime(intDiv(toUInt32(time), 3600) * 3600) AS hour,"
	      " type, stack, count() AS rows",
	      out);
	for (const struct fleet_column *c = fleet_tables[FLEET_samples].columns; c->name; c++)
		if (fleet_is_sum(c))
			fprintf(out, ", sum(%s) AS %s", c->name, c->name);
}

/* Where the tables are. */
struct place {
	const char *database, *cluster; /* cluster NULL: one server */
};

/* The suffix of tables that hold rows of one server only. */
static const char *local(const struct place *place)
{
	return place->cluster ? FLEET_LOCAL : "";
}

/* Prints the engine's name and opens its arguments. */
static void print_engine(const struct place *place, const char *kind, const char *table, FILE *out)
{
	if (place->cluster)
		fprintf(out,
			") ENGINE = Replicated%sMergeTree('/clickhouse/tables/{shard}/%s/%s',"
			" '{replica}'%s",
			kind, place->database, table, *kind ? ", " : "");
	else
		fprintf(out, ") ENGINE = %sMergeTree(", kind);
}

/* The table for all servers of a cluster. A block has one profile and one service, so all its rows
 * go to the same server. */
static void print_distributed(const struct place *place, const char *table, bool by_profile,
			      FILE *out)
{
	const char *database = place->database;

	if (place->cluster)
		fprintf(out,
			"CREATE TABLE IF NOT EXISTS %s.%s AS %s.%s" FLEET_LOCAL
			" ENGINE = Distributed(%s, %s, %s" FLEET_LOCAL ", %s);\n\n",
			database, table, database, table, place->cluster, database, table,
			by_profile ? "profile" : "cityHash64(service)");
}

static void print_table(const struct place *place, const struct fleet_description *table, FILE *out)
{
	fprintf(out, "-- %s\nCREATE TABLE IF NOT EXISTS %s.%s%s (\n", table->doc, place->database,
		table->name, local(place));
	for (const struct fleet_column *c = table->columns; c->name; c++)
		fprintf(out, "\t%s %s%s%s%s\n", c->name, fleet_type_name(c->type),
			c[1].name ? "," : "", *c->doc ? " -- " : "", c->doc);
	print_engine(place, table->once ? "" : "Replacing", table->name, out);
	fprintf(out, "%s) PARTITION BY %s ORDER BY (%s);\n\n", table->once ? "" : "day",
		table->partition, table->order);
	print_distributed(place, table->name, !strcmp(table->columns->name, "profile"), out);
}

/* A view adds each block of samples to hourly; markers have the hour 0 there. */
static void print_hourly(const struct place *place, FILE *out)
{
	const struct fleet_column *first = fleet_tables[FLEET_samples].columns;
	const char *database = place->database;

	fprintf(out,
		"-- sums of samples, by hour and stack\nCREATE TABLE IF NOT EXISTS %s.hourly%s (\n"
		"\tday Date,\n\tservice String,\n\tversion String,\n\thour DateTime,\n"
		"\ttype String,\n\tstack UInt64,\n\trows UInt64",
		database, local(place));
	for (const struct fleet_column *c = first; c->name; c++)
		if (fleet_is_sum(c))
			fprintf(out, ",\n\t%s %s", c->name, sum_type(c));
	putc('\n', out);
	print_engine(place, "Summing", "hourly", out);
	fputs("(rows", out);
	for (const struct fleet_column *c = first; c->name; c++)
		if (fleet_is_sum(c))
			fprintf(out, ", %s", c->name);
	fputs(")) PARTITION BY toYYYYMM(day) ORDER BY (service, version, hour, type, stack);\n\n",
	      out);
	print_distributed(place, "hourly", false, out);
	fprintf(out,
		"CREATE MATERIALIZED VIEW IF NOT EXISTS %s.hourly_of_samples TO %s.hourly%s AS "
		"SELECT ",
		database, database, local(place));
	fleet_hourly_select(out);
	fprintf(out, "\nFROM %s.samples%s GROUP BY day, service, version, hour, type, stack;\n\n",
		database, local(place));
}

void fleet_print_schema(const char *database, const char *cluster, FILE *out)
{
	const struct place place = {database, cluster};

	fprintf(out,
		"-- The tables that gcprof push fills%s:"
		" gcprof push --schema%s%s | clickhouse-client --multiquery\n"
		"CREATE DATABASE IF NOT EXISTS %s;\n\n",
		cluster ? ", on each server of the cluster" : "", cluster ? " --cluster " : "",
		cluster ? cluster : "", database);
	for (size_t i = 0; i < FLEET_TABLES; i++)
		print_table(&place, &fleet_tables[i], out);
	print_hourly(&place, out);
	fprintf(out,
		"-- which gcprof they are for\nCREATE VIEW IF NOT EXISTS %s.gcprof_schema AS"
		" SELECT toUInt32(%d) AS version;\n",
		database, FLEET_VERSION);
}
