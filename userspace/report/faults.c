/* SPDX-License-Identifier: BSD-2-Clause */
/* faults.c: the tables on page faults. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../util/path_base.h"
#include "../util/plural.h"
#include "sections.h"
#include "units.h"

#define N_COLUMNS(columns) (sizeof(columns) / sizeof(*(columns)))

static int by_faults(const void *a, const void *b)
{
	const struct model_function *const *x = a, *const *y = b;

	if ((*x)->faults_self != (*y)->faults_self)
		return (*x)->faults_self < (*y)->faults_self ? 1 : -1;
	if ((*x)->faults != (*y)->faults)
		return (*x)->faults < (*y)->faults ? 1 : -1;
	return strcmp((*x)->name, (*y)->name);
}

static void fault_row(const struct section *section, struct table *table,
		      const struct model_function *row)
{
	cell_count(table, row->faults_self);
	cell_share(table, (double)row->faults_self, (double)section->model->faults.recorded);
	cell_count(table, row->gc_faults_self);
	cell_count(table, row->faults);
	table_cell(table, row->name);
	table_cell(table, row->module ? path_base(row->module) : "");
}

/* Prints the first `count` functions with page faults, most faults first. */
static int print_functions(const struct section *section, const struct model_function *const *rows,
			   size_t count)
{
	static const struct column columns[] = {
		{"faults", "self", false, 0, 0},   {"", "%", false, 0, 0},
		{"of self", "in GC", false, 1, 0}, {"faults", "total", false, 0, 0},
		{NULL, "function", true, 0, 22},   {NULL, "module", true, 2, 16},
	};
	struct table *table = table_create(columns, N_COLUMNS(columns));

	if (!table)
		return -ENOMEM;
	for (size_t i = 0; i < section_rows(section, count); i++)
		fault_row(section, table, rows[i]);
	return section_table(section, table);
}

static void print_sums(const struct section *section)
{
	const struct model_faults *faults = &section->model->faults;
	uint64_t gc = faults->recorded_in_gc;

	if (faults->unknown_gcs && !gc) {
		page_paragraph(
			section->page, STYLE_PLAIN, 2, "%s page fault%s; %s of all were major.",
			unit_count(faults->recorded).text, plural(faults->recorded, "[|s]").text,
			unit_count(faults->recorded_major).text);
		return;
	}
	page_paragraph(section->page, STYLE_PLAIN, 2,
		       "%s page fault%s: %s in collections, %s elsewhere; %s of all were major.",
		       unit_count(faults->recorded).text, plural(faults->recorded, "[|s]").text,
		       unit_count(gc).text, unit_count(faults->recorded - gc).text,
		       unit_count(faults->recorded_major).text);
}

int section_faults(const struct section *section)
{
	const struct model *model = section->model;
	const struct model_stream *stream = section_stream(section, "fault");
	const struct model_function **rows;
	size_t count = 0;
	int error;

	/* Recording faults is optional: a default report does not mention missing ones. */
	if ((!stream || !stream->attached) && !section->parts)
		return 0;
	if (!section_recorded(section, "fault", "Page faults"))
		return 0;
	rows = calloc(model->n_functions + 1, sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	for (size_t i = 0; i < model->n_functions; i++)
		if (model->functions[i].faults)
			rows[count++] = &model->functions[i];
	qsort(rows, count, sizeof(*rows), by_faults);
	section_title(section, ROWS_function, "Page faults", count, "most first");
	print_sums(section);
	error = count ? print_functions(section, rows, count) : 0;
	free(rows);
	return error;
}
