/* SPDX-License-Identifier: BSD-2-Clause */
/* calls.c: call trees of selected profiles of a fleet, summed by the ClickHouse server. */
/*
 * The server sums samples by stack, and these sums by the beginnings of stacks. A node is such a
 * beginning. Its number is the sum of one hash for each function at its place, so that the numbers
 * of all nodes of a stack take one pass. As costs of callers are never less than those of their
 * callees, the costliest nodes form a tree.
 */
#include "calls.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../util/map.h"
#include "sums.h"

/* The columns of struct call_cost. */
static const struct {
	const char *name;
	size_t offset;
} columns[] = {
	[CALLS_CPU] = {"cpu_ns", offsetof(struct call_cost, cpu_ns)},
	[CALLS_ALLOC] = {"alloc_bytes", offsetof(struct call_cost, alloc_bytes)},
	[CALLS_GC] = {"gc_ns", offsetof(struct call_cost, gc_ns)},
	[CALLS_SYSCALLS] = {"syscall_ns", offsetof(struct call_cost, syscall_ns)},
	[CALLS_OFF_CPU] = {"off_cpu_ns", offsetof(struct call_cost, off_cpu_ns)},
	[CALLS_SURVIVED] = {"survived_bytes", offsetof(struct call_cost, survived_bytes)},
};

enum { N_COLUMNS = sizeof(columns) / sizeof(*columns) };

/* --- statements ------------------------------------------------------------------------------ */

static void totals_sql(const void *context, FILE *out)
{
	(void)context;
	fputs("SELECT ", out);
	sums_print(out, "s_", "");
	fputs(" FROM picked", out);
}

/* A condition on a name; see filter_matches(). */
static void print_matches(const char *pattern, FILE *out)
{
	fputs("(name LIKE '", out);
	for (; *pattern; pattern++)
		if (*pattern == '|')
			fputs("' OR name LIKE '", out);
		else if (*pattern == '*')
			putc('%', out);
		else if (*pattern == '%' || *pattern == '_')
			fprintf(out, "\\\\%c", *pattern);
		else if (*pattern == '\\')
			fputs("\\\\\\\\", out);
		else
			fprintf(out, "%s%c", *pattern == '\'' ? "\\" : "", *pattern);
	fputs("')", out);
}

static void print_columns(const char *format, FILE *out)
{
	for (size_t i = 0; i < N_COLUMNS; i++)
		fprintf(out, format, columns[i].name, columns[i].name);
}

/* The part of each stack that goes into the tree, from the root's child on, as `path`. */
static void print_paths(const struct fleet_calls *calls, FILE *out)
{
	fprintf(out,
		"(SELECT *, arraySlice(list, from_place, %d) AS path, length(list) - from_place + 1"
		" AS whole FROM (SELECT *, ",
		CALLS_DEPTH_MAX);
	fputs(calls->kind == CALLS_CALLERS ? "functions" : "arrayReverse(functions)", out);
	fputs(" AS list, ", out);
	if (calls->kind == CALLS_TREE) {
		fputs("1", out);
	} else {
		fputs("arrayFirstIndex(f -> f IN (SELECT function FROM functions" SUMS_SERVICES
		      " AND ",
		      out);
		print_matches(calls->pattern, out);
		fputs("), list)", out);
	}
	fputs(" AS from_place FROM (SELECT stack, ", out);
	sums_print(out, "s_", "s_");
	fputs(" FROM picked GROUP BY stack) AS sums ANY LEFT JOIN " SUMS_STACKS
	      " USING stack) WHERE from_place > 0)",
	      out);
}

static void tree_sql(const void *context, FILE *out)
{
	const struct fleet_calls *calls = context;

	fputs("SELECT toString(node) AS node, toString(parent) AS parent, depth, name, module, "
	      "runtime",
	      out);
	print_columns(", total_%s, self_%s", out);
	fputs(" FROM (SELECT node, any(of_parent) AS parent, any(place) AS depth, any(of_function)"
	      " AS function",
	      out);
	print_columns(", sum(s_%s) AS total_%s", out);
	print_columns(", sum(if(place = whole, s_%s, 0)) AS self_%s", out);
	fputs(" FROM (SELECT *, arrayCumSum(arrayMap((f, i) -> cityHash64(f, i), path, "
	      "arrayEnumerate(path))) AS nodes FROM ",
	      out);
	print_paths(calls, out);
	fputs(") ARRAY JOIN arrayConcat([toUInt64(0)], nodes) AS node, arrayConcat([toUInt64(0), "
	      "toUInt64(0)], arrayPopBack(nodes)) AS of_parent, arrayConcat([toUInt64(0)], path) "
	      "AS of_function, arrayConcat([toUInt64(0)], arrayEnumerate(path)) AS place GROUP BY "
	      "node",
	      out);
	fprintf(out, " ORDER BY total_%s DESC, depth LIMIT %d) AS tree ",
		columns[calls->measure].name, FLEET_CALLS_MAX + 1);
	fputs("ANY LEFT JOIN (SELECT function, name, module, runtime FROM functions" SUMS_SERVICES
	      ") AS names USING function ORDER BY depth",
	      out);
}

/* --- rows ------------------------------------------------------------------------------------ */

static const char *text(const json_t *row, const char *key)
{
	const char *value = json_string_value(json_object_get(row, key));

	return value && *value ? value : NULL;
}

static double number(const json_t *row, const char *prefix, const char *key)
{
	char name[64];

	snprintf(name, sizeof(name), "%s%s", prefix, key);
	return json_number_value(json_object_get(row, name));
}

static void fill_cost(struct call_cost *cost, const json_t *row, const char *prefix)
{
	for (size_t i = 0; i < N_COLUMNS; i++) {
		double value = number(row, prefix, columns[i].name);

		memcpy((char *)cost + columns[i].offset, &value, sizeof(value));
	}
}

static void fill(struct call_node *node, const json_t *row)
{
	*node = (struct call_node){.name = text(row, "name") ? text(row, "name") : "(unknown)",
				   .module = text(row, "module")};
	fill_cost(&node->total, row, "total_");
	fill_cost(&node->self, row, "self_");
}

/* The server's number of a node or of its caller. */
static uint64_t node_number(const json_t *row, const char *key)
{
	const char *digits = text(row, key);

	return digits ? strtoull(digits, NULL, 10) : 0;
}

/* A node's place in the tree, and its distance from the root. */
struct place {
	uint32_t number, depth;
};

/* Adds a node below its caller, which precedes it unless the limit has cut it off. */
static int add_node(struct call_tree *tree, struct map *places, const json_t *row)
{
	uint64_t node = node_number(row, "node"), caller = node_number(row, "parent"), *known;
	struct place parent = {0, 0}, place = {(uint32_t)tree->count, 0};
	bool added;

	if (tree->count) {
		known = map_get(places, &caller);
		if (!known)
			return 0;
		memcpy(&parent, known, sizeof(parent));
		place.depth = parent.depth + 1;
	}
	if (tree->count ? place.depth > CALLS_DEPTH_MAX : node != 0)
		return 0;
	known = map_put(places, &node, &added);
	if (!known || !added)
		return known ? 0 : -ENOMEM;
	memcpy(known, &place, sizeof(place));
	fill(&tree->nodes[place.number], row);
	if (place.number) {
		tree->nodes[place.number].next = tree->nodes[parent.number].first_child;
		tree->nodes[parent.number].first_child = place.number;
	}
	tree->count++;
	return 0;
}

int fleet_calls_tree(const json_t *answer, struct call_tree *tree)
{
	const json_t *rows = json_object_get(answer, "data"), *row;
	struct map *places = map_create(sizeof(uint64_t));
	size_t i;
	int err = places ? 0 : -ENOMEM;

	tree->capacity = json_array_size(rows) + 1;
	tree->nodes = calloc(tree->capacity, sizeof(*tree->nodes));
	if (!tree->nodes)
		err = -ENOMEM;
	json_array_foreach(rows, i, row) err = err ? err : add_node(tree, places, row);
	if (!tree->count)
		tree->count = 1;
	map_free(places);
	return err;
}

/* Chooses the first measure with a cost if the caller has chosen none. */
static int choose(struct sums *sums, enum call_measure *measure)
{
	int err;
	json_t *answer = sums_ask(sums, totals_sql, NULL, &err);
	const json_t *row = json_array_get(json_object_get(answer, "data"), 0);

	for (size_t i = 0; i < N_COLUMNS && *measure == CALLS_MEASURES; i++)
		if (number(row, "", columns[i].name) > 0)
			*measure = (enum call_measure)i;
	if (*measure == CALLS_MEASURES)
		*measure = CALLS_CPU;
	json_decref(answer);
	return err;
}

int fleet_calls(struct http *http, const struct where *where, struct fleet_calls *calls,
		struct http_problem *problem)
{
	struct sums sums = {http, problem, {0}};
	int err = sums_begin(&sums, &where, 1);

	if (!err)
		err = sums_profiles(&sums, where, &calls->profiles);
	if (!err)
		err = choose(&sums, &calls->measure);
	if (!err)
		calls->answer = sums_ask(&sums, tree_sql, calls, &err);
	sums_end(&sums);
	return err;
}
