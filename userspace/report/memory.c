/* SPDX-License-Identifier: BSD-2-Clause */
/* memory.c: the tables on objects: sites, types, live objects. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../util/path_base.h"
#include "advice.h"
#include "sections.h"
#include "units.h"

#define N_COLUMNS(columns) (sizeof(columns) / sizeof(*(columns)))

enum { SITE_TEXT = SITE_FUNCTIONS * 256 };

/* Where no sample has a type, the column of types is left out. */
static void site_cells(struct table *table, const struct model *model, const struct model_site *row)
{
	char text[SITE_TEXT];

	site_text(row, text, sizeof(text));
	table_cell(table, !model->alloc.typed ? NULL : row->type ? row->type : "(several)");
	table_cell(table, text);
}

enum { SITE_SURVIVED = 4, SITE_PREMATURE, SITE_AGE };

static const struct column site_columns[] = {
	{NULL, "GC caused", false, 0, 0},
	{NULL, "%", false, 3, 0},
	{NULL, "allocated", false, 0, 0},
	{NULL, "", false, 4, 0},
	[SITE_SURVIVED] = {NULL, "survived", false, 0, 0},
	[SITE_PREMATURE] = {"promoted,", "then died", false, 1, 0},
	[SITE_AGE] = {"median age", "at death", false, 5, 0},
	{NULL, "type", true, 2, 10},
	{NULL, "allocated in < called by", true, 0, 44},
};

/* Explains the visible columns. */
static int print_sites(const struct section *section, struct table *table)
{
	bool premature = table_shows(table, section->page, SITE_PREMATURE);
	bool age = table_shows(table, section->page, SITE_AGE);

	bool survived = table_shows(table, section->page, SITE_SURVIVED);

	if (section_table(section, table) < 0)
		return -ENOMEM;
	if (!survived)
		return 0;
	page_paragraph(section->page, STYLE_DIM, 2,
		       "survived: share of the bytes that outlived their first collection.%s%s",
		       premature ? " promoted, then died: dead by the next major collection." : "",
		       age ? " Ages are counted in bytes allocated since." : "");
	return 0;
}

int section_sites(const struct section *section)
{
	const struct model *model = section->model;
	double pauses = model_gc_ns(&model->gc);
	struct table *table;

	if (!section_recorded(section, "alloc", "Allocation sites") ||
	    (!model->n_sites && !section->parts))
		return 0;
	section_title(section, TABLE_SITES, "Allocation sites", model->n_sites_found,
		      model->n_sites && model->sites[0].gc_ns > 0
			      ? "most collection time caused first"
			      : "most bytes first");
	if (!model->n_sites) {
		page_paragraph(section->page, STYLE_PLAIN, 2, "No samples.");
		return 0;
	}
	table = table_create(site_columns, N_COLUMNS(site_columns));
	if (!table)
		return -ENOMEM;
	for (size_t i = 0; i < section_rows(section, model->n_sites); i++) {
		const struct model_site *row = &model->sites[i];

		cell_time(table, row->gc_ns);
		cell_share(table, row->gc_ns, pauses);
		cell_bytes(table, row->bytes.value);
		cell_margin(table, &row->bytes);
		cell_survived(table, &row->survived);
		cell_bytes(table, row->life.premature_bytes);
		cell_age(table, &row->life);
		site_cells(table, model, row);
	}
	return print_sites(section, table);
}

static void type_row(struct table *table, const struct model_type *row)
{
	const struct estimate *survived = &row->survived;

	cell_bytes(table, row->bytes.value);
	cell_margin(table, &row->bytes);
	table_cell(table, unit_rough(row->objects.value).text);
	cell_margin(table, &row->objects);
	cell_survived(table, survived);
	table_cell(table, survived->value >= 0 ? unit_points(fmax(survived->high - survived->value,
								  survived->value - survived->low))
							 .text
					       : NULL);
	cell_bytes(table, row->life.premature_bytes);
	cell_age(table, &row->life);
	cell_bytes(table, row->live_bytes);
	cell_time(table, row->gc_ns);
	cell_count(table, row->samples);
	table_cell(table, row->name);
}

enum { TYPE_SURVIVED = 4, TYPE_LIVE = 8 };

int section_types(const struct section *section)
{
	static const struct column columns[] = {
		{NULL, "allocated", false, 0, 0},
		{NULL, "", false, 2, 0},
		{NULL, "objects", false, 1, 0},
		{NULL, "", false, 6, 0},
		{NULL, "survived", false, 0, 0},
		{NULL, "", false, 4, 0},
		{"promoted,", "then died", false, 5, 0},
		{"median age", "at death", false, 7, 0},
		{NULL, "live", false, 3, 0},
		{NULL, "GC caused", false, 0, 0},
		{NULL, "samples", false, 8, 0},
		{NULL, "type", true, 0, 16},
	};
	const struct model *model = section->model;
	bool survived, live;
	struct table *table;

	if (!section_recorded(section, "alloc", "Types"))
		return 0;
	section_title(section, TABLE_TYPES, "Types", model->n_types, "most bytes first");
	if (!model->n_types) {
		page_paragraph(section->page, STYLE_PLAIN, 2, "No samples.");
		return 0;
	}
	table = table_create(columns, N_COLUMNS(columns));
	if (!table)
		return -ENOMEM;
	for (size_t i = 0; i < section_rows(section, model->n_types); i++)
		type_row(table, &model->types[i]);
	survived = table_shows(table, section->page, TYPE_SURVIVED);
	live = table_shows(table, section->page, TYPE_LIVE);
	if (section_table(section, table) < 0)
		return -ENOMEM;
	page_paragraph(
		section->page, STYLE_DIM, 2,
		"estimated from samples; \u00b1 with 95 %% confidence.%s%s",
		survived ? " survived: share of the objects, \u00b1 in percentage points." : "",
		!live                         ? ""
		: model->alloc.live_collected ? " live: old, and not known to be dead at the end."
					      : " live: not freed at the end.");
	return 0;
}

static int by_life(const void *a, const void *b)
{
	const struct model_site *const *x = a, *const *y = b;
	double left = life_live_bytes(&(*x)->life), right = life_live_bytes(&(*y)->life);

	return left < right ? 1 : -(left > right);
}

/* The sites ordered by live bytes, independently of the model's order; NULL: no memory. */
static const struct model_site **sites_by_life(const struct model *model)
{
	const struct model_site **rows =
		calloc(model->n_sites + 1, sizeof(const struct model_site *));

	for (size_t i = 0; rows && i < model->n_sites; i++)
		rows[i] = &model->sites[i];
	if (rows && model->n_sites)
		qsort(rows, model->n_sites, sizeof(*rows), by_life);
	return rows;
}

static int print_live(const struct section *section, const struct model_site **rows)
{
	static const struct column columns[] = {
		{NULL, "live", false, 0, 0},
		{NULL, "%", false, 2, 0},
		{NULL, "allocated", false, 1, 0},
		{NULL, "type", true, 0, 10},
		{NULL, "allocated in < called by", true, 0, 44},
	};
	const struct model *model = section->model;
	struct table *table = table_create(columns, N_COLUMNS(columns));

	if (!table)
		return -ENOMEM;
	for (size_t i = 0; i < section_rows(section, model->n_sites); i++) {
		double live = life_live_bytes(&rows[i]->life);

		if (live <= 0)
			break;
		cell_bytes(table, live);
		cell_share(table, live, model->alloc.live_bytes);
		cell_bytes(table, rows[i]->bytes.value);
		site_cells(table, model, rows[i]);
	}
	return section_table(section, table);
}

int section_live(const struct section *section)
{
	const struct model *model = section->model;
	const struct model_site **rows;
	int error;

	if (!section_recorded(section, "alloc", "Alive at the end"))
		return 0;
	page_heading(section->page, "Alive at the end");
	if (model->alloc.live_bytes < 1) {
		page_paragraph(section->page, STYLE_PLAIN, 2,
			       "No sampled object is known to be alive.");
		return 0;
	}
	rows = sites_by_life(model);
	error = rows ? print_live(section, rows) : -ENOMEM;
	free(rows);
	page_paragraph(
		section->page, STYLE_DIM, 2,
		"about %s in all, \u00b1%s: objects that became old, or that the program must "
		"free, and are not known to have died before the recording or their program "
		"ended.%s",
		unit_bytes(model->alloc.live_bytes).text,
		unit_bytes((model->alloc.live.high - model->alloc.live.low) / 2).text,
		model->alloc.live_collected
			? " Objects that the last collections did not examine may be dead; those "
			  "allocated since are not among them."
			: "");
	return error;
}

int section_live_heap(const struct section *section)
{
	static const struct column columns[] = {
		{NULL, "alive", false, 0, 0},
		{NULL, "", false, 1, 0},
		{"", "%", false, 3, 0},
		{NULL, "at first", false, 1, 0},
		{NULL, "objects", false, 2, 0},
		{NULL, "allocated by", true, 0, 22},
		{NULL, "module or source", true, 4, 16},
	};
	const struct model_heap *heap = &section->model->heap;
	size_t rows = section_rows(section, heap->n_rows);
	struct estimate live;
	struct table *table;
	int error;

	if (!rows)
		return 0;
	page_heading(section->page, "Alive according to the runtime's own heap profile");
	table = table_create(columns, sizeof(columns) / sizeof(*columns));
	if (!table)
		return -ENOMEM;
	for (size_t i = 0; i < rows; i++) {
		live = tally_estimate(&heap->rows[i].live);
		cell_bytes(table, heap->rows[i].bytes);
		cell_margin(table, &live);
		cell_share(table, heap->rows[i].bytes, heap->bytes);
		cell_bytes(table, heap->rows[i].before);
		cell_count(table, (uint64_t)heap->rows[i].objects);
		table_cell(table, heap->rows[i].name);
		table_cell(table, heap->rows[i].module ? path_base(heap->rows[i].module) : "");
	}
	error = section_table(section, table);
	live = tally_estimate(&heap->live);
	page_paragraph(
		section->page, STYLE_DIM, 2,
		"about %s in all (95 %% confidence: %s to %s), whenever allocated, as of the last "
		"collection but one. at first: when the recorder attached to a running program.",
		unit_bytes(heap->bytes).text, unit_bytes(live.low).text,
		unit_bytes(live.high).text);
	return error;
}
