/* SPDX-License-Identifier: BSD-2-Clause */
/* folded.c: stacks of selected profiles of a fleet, as for flame graphs. */
#include "folded.h"

#include <string.h>

const char *fleet_folded_column(const char *measure)
{
	static const struct {
		const char *measure, *column;
	} columns[] = {{"cpu", "cpu_ns"},
		       {"bytes", "alloc_bytes"},
		       {"gc", "gc_ns"},
		       {"syscall", "syscall_ns"},
		       {"off-cpu", "off_cpu_ns"}};

	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		if (!strcmp(columns[i].measure, measure))
			return columns[i].column;
	return NULL;
}

/* Functions of the kernel get the suffix that flame graph tools know. */
static void print_stacks(const void *context, FILE *out)
{
	fprintf(out,
		"SELECT " SUMS_NAMES " AS functions, value FROM (SELECT *, function, place FROM "
		"(SELECT stack, functions AS path, value FROM (SELECT stack, sum(s_%s) AS value "
		"FROM "
		"picked GROUP BY stack HAVING value > 0) AS sums ANY LEFT JOIN " SUMS_STACKS
		" USING stack) LEFT ARRAY JOIN path AS function, arrayEnumerate(path) AS place) AS "
		"rows "
		"ANY LEFT JOIN (SELECT function, if(runtime = 'kernel', concat(name, '_[k]'), "
		"name) "
		"AS name FROM functions" SUMS_SERVICES
		") AS names USING function GROUP BY stack, value ORDER BY value DESC",
		(const char *)context);
}

int fleet_folded(struct http *http, const struct fleet_folded *request,
		 struct http_problem *problem)
{
	const struct sums_statement statement = {print_stacks, request->column};
	struct sums sums = {http, problem, {0}};
	int err = sums_begin(&sums, &request->where, 1);

	if (!err)
		err = sums_each(&sums, &statement, request->visit, request->context);
	sums_end(&sums);
	return err;
}
